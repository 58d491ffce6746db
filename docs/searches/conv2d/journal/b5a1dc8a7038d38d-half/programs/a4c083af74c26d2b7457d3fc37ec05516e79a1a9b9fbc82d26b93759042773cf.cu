#define RING 7 // tune: 6, 7
#define STAGES 3 // tune: 2, 3
#define BATCH 6 // tune: 4, 6, 8
#define STORE_CS 0 // tune: 0, 1
#define PAIRING 0 // tune: 0, 1

#if RING < 6 || RING > 8
#error "RING must be 6 to 8"
#endif
#if (24 % BATCH) != 0
#error "BATCH must divide 24"
#endif

#define THREADS 256
#define PAIRS 132
#define TILE_PIX 96
#define TILES_IMG 33
#define TILES_PAIR 25
#define GRIDW 57
#define CHANNELS 48
#define CONV_WARPS 2
#define STORE_WARPS 2

#define STAGE_BYTES 10752
#define RINGQ (RING * GRIDW)
#define MIRROR 212
#define PLANE_Q (RINGQ + MIRROR)
#define RING_BYTES (6 * PLANE_Q * 16)
#define OSTRIDE 104
#define OUT_FLOATS (CHANNELS * OSTRIDE)
#define CHUNK 784

#define OFF_STAGE 0
#define OFF_RING (STAGES * STAGE_BYTES)
#define OFF_OUT (OFF_RING + RING_BYTES)
#define OFF_BARS (OFF_OUT + OUT_FLOATS * 4)
#define OFF_FLAGS (OFF_BARS + 256)
#define OUT_FLAG 24
#define USED_BYTES (OFF_FLAGS + 128)

#if USED_BYTES > 114688
#error "too much shared memory for two blocks"
#endif
#if 54 * CHUNK > RING_BYTES
#error "the weights do not fit into the ring"
#endif

// no swizzle, K-major: leading = distance of the two 8-column halves, stride = distance of groups of 8 rows
static __device__ __forceinline__ u64 descNoSwizzle(u32 addr, u32 leading, u32 stride) {
  return (u64)((addr >> 4) & 0x3FFFu) | ((u64)((leading >> 4) & 0x3FFFu) << 16) |
         ((u64)((stride >> 4) & 0x3FFFu) << 32);
}

#define ACC4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])

// d (64 x 96) += A (64 x 16, registers) B (16 x 96, shared memory, K-major)
static __device__ __forceinline__ void mma96(float (&d)[48], const u32 (&a)[4], u64 b, u32 keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %53, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47}, "
      "{%48, %49, %50, %51}, %52, p, 1, 1, 0;\n"
      "}\n"
      : ACC4(0), ACC4(4), ACC4(8), ACC4(12), ACC4(16), ACC4(20), ACC4(24), ACC4(28), ACC4(32),
        ACC4(36), ACC4(40), ACC4(44)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

static __device__ __forceinline__ void holdAcc(float (&d)[48]) {
#pragma unroll
  for (int i = 0; i < 48; ++i)
    asm volatile("" : "+f"(d[i]) : : "memory");
}

// bit 15 or 31 is set if a half is infinite or NaN
static __device__ __forceinline__ u32 notFinite(u32 v) {
  return (v & 0x7C007C00u) + 0x04000400u;
}

// block rows of its image that tile t reads
static __device__ __forceinline__ int firstRow(int t) { return (t * TILE_PIX) / GRIDW; }
static __device__ __forceinline__ int lastRow(int t) {
  const int r = (t * TILE_PIX + (MIRROR - 1)) / GRIDW;
  return r < 56 ? r : 56;
}

static __device__ __forceinline__ void put(float *p, float v) {
#if STORE_CS
  __stcs(p, v);
#else
  *p = v;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
conv_rs(const __grid_constant__ CUtensorMap map, const float *__restrict__ in,
        const float *__restrict__ bias, const float *__restrict__ weight,
        float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *stFull = (u64 *)(smem + OFF_BARS);
  u64 *stEmpty = stFull + STAGES;
  u64 *ringFull = stEmpty + STAGES;
  u64 *ringEmpty = ringFull + RING;
  u64 *outFull = ringEmpty + RING;
  u64 *outEmpty = outFull + 1;
  volatile u32 *flags = (volatile u32 *)(smem + OFF_FLAGS);

  const int warp = (int)warpIndex();
  const int lane = (int)(threadIdx.x & 31u);

#if PAIRING
  const int pairIdx = (int)blockIdx.x % PAIRS;
  const int chBase = ((int)blockIdx.x / PAIRS) * CHANNELS;
#else
  const int pairIdx = (int)blockIdx.x >> 1;
  const int chBase = ((int)blockIdx.x & 1) * CHANNELS;
#endif

  // this block's tiles: at most two images
  const int begin = pairIdx * TILES_PAIR;
  const int img0 = begin / TILES_IMG;
  const int r0 = firstRow(begin - img0 * TILES_IMG);
  const int rows0 = 57 - r0;  // block rows of the first image, if it is left

  if (threadIdx.x == 128) {
    tmaPrefetchMap(&map);
#pragma unroll 1
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&stFull[i], 1);
      mbarInit(&stEmpty[i], CONV_WARPS);
    }
#pragma unroll 1
    for (int i = 0; i < RING; ++i) {
      mbarInit(&ringFull[i], CONV_WARPS);
      mbarInit(&ringEmpty[i], 4);
    }
    mbarInit(outFull, 3);
    mbarInit(outEmpty, STORE_WARPS);
    mbarInitFence();
    fenceAsyncShared();
    // the first raw block rows are under way while the weights are prepared
#pragma unroll 1
    for (int n = 0; n < STAGES; ++n) {
      const bool firstImage = n < rows0;
      const int img = firstImage ? img0 : img0 + 1;
      const int row = firstImage ? n + r0 : n - rows0;
      mbarExpectTx(&stFull[n], STAGE_BYTES);
      tmaLoad3D(smem + OFF_STAGE + n * STAGE_BYTES, &map, &stFull[n], 0, 4 * row - 2, img * 3);
    }
  }
  __syncwarp();

  // weights as f16 into the unused ring: [k chunk 54][channel 48][8 halfs], chunks CHUNK bytes apart
  {
    int from[5], to[5];
    bool real[5], used[5];
#pragma unroll
    for (int i = 0; i < 5; ++i) {
      const int r = lane + 32 * i;
      const int ky = r / 12, kx = r - 12 * ky;
      used[i] = r < 144;
      real[i] = used[i] && ky < 11 && kx < 11;
      from[i] = ky * 11 + kx;
      const int by = ky >> 2, dy = ky & 3, bx = kx >> 2, dx = kx & 3;
      to[i] = ((by * 3 + bx) * 2 + (dy >> 1)) * CHUNK + ((dy & 1) * 4 + dx) * 2;
    }
#pragma unroll 1
    for (int n0 = 0; n0 < 18; n0 += 9) {
      float v[9][5];
#pragma unroll
      for (int n = 0; n < 9; ++n) {
        const float *p = weight + (chBase * 3 + warp * 18 + n0 + n) * 121;
#pragma unroll
        for (int i = 0; i < 5; ++i) {
          v[n][i] = 0.0f;
          if (real[i])
            v[n][i] = __ldg(p + from[i]);
        }
      }
#pragma unroll
      for (int n = 0; n < 9; ++n) {
        const int pr = warp * 18 + n0 + n;
        const int ch = pr / 3, c = pr - 3 * ch;
        unsigned char *q = smem + OFF_RING + c * (18 * CHUNK) + ch * 16;
#pragma unroll
        for (int i = 0; i < 5; ++i)
          if (used[i])
            *(u16 *)(q + to[i]) = (u16)(packF16(v[n][i], 0.0f) & 0xffffu);
      }
    }
  }
  __syncthreads();

  if (warp < 4) {
    // ---------------- consumers: one warpgroup, 48 channels of 64 ----------------
    registersUp<208>();
    const int tq = lane & 3;
    const bool active = warp < 3;  // rows 48 to 63 do not exist
    const int ch0 = warp * 16 + (lane >> 2);

    u32 a[27][4];
    {
      const unsigned char *wp = smem + OFF_RING + ch0 * 16 + tq * 4;
#pragma unroll
      for (int s = 0; s < 27; ++s) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          u32 lo = 0u, hi = 0u;
          if (active) {
            lo = *(const volatile u32 *)(wp + (2 * s + h) * CHUNK);
            hi = *(const volatile u32 *)(wp + (2 * s + h) * CHUNK + 128);
          }
          a[s][2 * h] = lo;
          a[s][2 * h + 1] = hi;
        }
      }
#pragma unroll
      for (int s = 0; s < 27; ++s)
        asm volatile("" : "+r"(a[s][0]), "+r"(a[s][1]), "+r"(a[s][2]), "+r"(a[s][3]));
    }
    __syncwarp();
    barSync(1, 192);  // with the converters: the ring is free now

    float b0 = 0.0f, b1 = 0.0f;
    if (active) {
      b0 = __ldg(bias + chBase + ch0);
      b1 = __ldg(bias + chBase + ch0 + 8);
    }

    const u64 ringDesc = descNoSwizzle(smemAddr(smem + OFF_RING), PLANE_Q * 16, 128);
    float *const outT = (float *)(smem + OFF_OUT) + ch0 * OSTRIDE + 2 * tq;

    float d[48];
#pragma unroll
    for (int i = 0; i < 48; ++i)
      d[i] = 0.0f;

    int passed = 0;  // ring rows given back
    int ready = 0;   // ring rows known to be filled
#pragma unroll 1
    for (int i = 0; i < TILES_PAIR; ++i) {
      const int g = begin + i;
      const int img = g / TILES_IMG;
      const int t = g - img * TILES_IMG;
      const int base = img == img0 ? -r0 : rows0;
      const int last = lastRow(t) + base;
      int nextFirst = passed;
      if (i + 1 < TILES_PAIR) {
        const int g2 = g + 1;
        const int im2 = g2 / TILES_IMG;
        nextFirst = firstRow(g2 - im2 * TILES_IMG) + (im2 == img0 ? -r0 : rows0);
      }

#pragma unroll 1
      for (; ready <= last; ++ready)
        mbarWait(&ringFull[ready % RING], (u32)((ready / RING) & 1));
      __syncwarp();

      // does a value of this tile not fit into f16? then the store warps compute it in f32
      u32 slow = 0u;
      if (warp == 0) {
        const int first = firstRow(t) + base;
        const int nflags = (last - first + 1) * CONV_WARPS;  // at most 10
        u32 bad = 0u;
        if (lane < nflags)
          bad = flags[((first + (lane >> 1)) % RING) * CONV_WARPS + (lane & 1)];
        __syncwarp();
        slow = __any_sync(0xffffffffu, bad != 0u) ? 1u : 0u;
      }

      const int pos = (t * TILE_PIX + GRIDW * base) % RINGQ;
      const u64 bTile = ringDesc + (u64)pos;
      fenceAsyncShared();
      __syncwarp();
      holdAcc(d);
      wgmmaFence();
#pragma unroll
      for (int s = 0; s < 27; ++s) {
        const int c = s / 9, by = (s / 3) % 3, bx = s % 3;
        mma96(d, a[s], bTile + (u64)(c * 2 * PLANE_Q + by * GRIDW + bx), s == 0 ? 0u : 1u);
      }
      wgmmaCommit();
      wgmmaWait<0>();
      holdAcc(d);
      fenceAsyncShared();
      __syncwarp();
      if (lane == 0) {
#pragma unroll 1
        for (int r = passed; r < nextFirst; ++r)
          mbarArrive(&ringEmpty[r % RING]);
      }
      passed = nextFirst;
      __syncwarp();

      if (active) {
        mbarWait(outEmpty, (u32)((i & 1) ^ 1));
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 12; ++j) {
          *(float2 *)(outT + 8 * j) = make_float2(d[4 * j + 0] + b0, d[4 * j + 1] + b0);
          *(float2 *)(outT + 8 * OSTRIDE + 8 * j) = make_float2(d[4 * j + 2] + b1, d[4 * j + 3] + b1);
        }
        if (warp == 0 && lane == 0)
          flags[OUT_FLAG] = slow;
        __syncwarp();
        if (lane == 0)
          mbarArrive(outFull);
      }
      __syncwarp();
    }
  } else {
    registersDown<48>();
    if (warp >= 4 + CONV_WARPS) {
      // ---------------- store warps: 24 channels each, 96 positions of a channel at once ----------------
      const int sw = warp - (4 + CONV_WARPS);
#pragma unroll 1
      for (int i = 0; i < TILES_PAIR; ++i) {
        const int g = begin + i;
        const int img = g / TILES_IMG;
        const int t = g - img * TILES_IMG;

        mbarWait(outFull, (u32)(i & 1));
        __syncwarp();
        const u32 mine = flags[OUT_FLAG];
        const int slow = __any_sync(0xffffffffu, mine != 0u);

        if (!slow) {
          float *p[3];
          bool ok[3];
#pragma unroll
          for (int k = 0; k < 3; ++k) {
            const int q = t * TILE_PIX + lane + 32 * k;
            const int y = q / GRIDW;
            const int x = q - y * GRIDW;
            ok[k] = y < 55 && x < 55;
            p[k] = out + ((img * 96 + chBase + sw * 24) * 3025 + (y * 55 + x));
          }
          const float *o = (const float *)(smem + OFF_OUT) + (sw * 24) * OSTRIDE + lane;
#pragma unroll 1
          for (int h = 0; h < 24 / BATCH; ++h) {
            float v[BATCH][3];
#pragma unroll
            for (int c = 0; c < BATCH; ++c) {
#pragma unroll
              for (int k = 0; k < 3; ++k)
                v[c][k] = o[c * OSTRIDE + 32 * k];
            }
            o += BATCH * OSTRIDE;
            if (h == 24 / BATCH - 1) {
              __syncwarp();
              if (lane == 0)
                mbarArrive(outEmpty);
              __syncwarp();
            }
#pragma unroll
            for (int c = 0; c < BATCH; ++c) {
#pragma unroll
              for (int k = 0; k < 3; ++k)
                if (ok[k])
                  put(p[k] + c * 3025, v[c][k]);
            }
#pragma unroll
            for (int k = 0; k < 3; ++k)
              p[k] += BATCH * 3025;
          }
        } else {
          // values that are not finite in f16: exact sums in f32
          __syncwarp();
          if (lane == 0)
            mbarArrive(outEmpty);
          __syncwarp();
          const float *image = in + img * (3 * 224 * 224);
#pragma unroll 1
          for (int idx = lane; idx < 24 * TILE_PIX; idx += 32) {
            const int cl = idx / TILE_PIX;
            const int ch = chBase + sw * 24 + cl;
            const int q = t * TILE_PIX + (idx - cl * TILE_PIX);
            const int oy = q / GRIDW;
            const int ox = q - oy * GRIDW;
            if (oy < 55 && ox < 55) {
              const int iy0 = oy * 4 - 2, ix0 = ox * 4 - 2;
              const float *wp = weight + ch * 363;
              float acc = __ldg(bias + ch);
#pragma unroll 1
              for (int c = 0; c < 3; ++c) {
#pragma unroll 1
                for (int ky = 0; ky < 11; ++ky) {
                  const int iy = iy0 + ky;
                  const bool rowOk = iy >= 0 && iy < 224;
                  const int at = (c * 224 + iy) * 224;
#pragma unroll 1
                  for (int kx = 0; kx < 11; ++kx) {
                    const int ix = ix0 + kx;
                    float x = 0.0f;
                    if (rowOk && ix >= 0 && ix < 224)
                      x = __ldg(image + (at + ix));
                    acc = fmaf(x, __ldg(wp + ((c * 11 + ky) * 11 + kx)), acc);
                  }
                }
              }
              out[(img * 96 + ch) * 3025 + oy * 55 + ox] = acc;
            }
          }
        }
        __syncwarp();
      }
    } else {
      // ---------------- converters: warp h takes rows 2h and 2h + 1 of the three channels ----------------
      int total;  // block rows of this block
      {
        const int gl = begin + TILES_PAIR - 1;
        const int im = gl / TILES_IMG;
        total = lastRow(gl - im * TILES_IMG) + (im == img0 ? -r0 : rows0) + 1;
      }
      const int half = warp - 4;
      const int prev = (lane + 31) & 31;
      const bool second = lane < 24;
      const unsigned char *stageSrc = smem + OFF_STAGE + half * (2 * 896) + lane * 16;
      unsigned char *ringDst = smem + OFF_RING + half * (PLANE_Q * 16);

      barSync(1, 192);  // the consumers have read the weights out of the ring

#pragma unroll 1
      for (int n = 0; n < total; ++n) {
        const int s = n % STAGES;
        const int slot = n % RING;
        mbarWait(&stFull[s], (u32)((n / STAGES) & 1));
        mbarWait(&ringEmpty[slot], (u32)(((n / RING) & 1) ^ 1));
        __syncwarp();
        const unsigned char *p = stageSrc + s * STAGE_BYTES;
        const int pos = slot * GRIDW + lane;
        u32 bad = 0u;
#pragma unroll
        for (int c = 0; c < 3; ++c) {
          u32 left[4], right[4];
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            const float4 f0 = *(const float4 *)(p + (c * 4 + r) * 896);
            float4 f1 = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (second)
              f1 = *(const float4 *)(p + (c * 4 + r) * 896 + 512);
            const u32 a0 = packF16(f0.x, f0.y);
            const u32 a1 = packF16(f0.z, f0.w);
            const u32 c0 = packF16(f1.x, f1.y);
            const u32 c1 = packF16(f1.z, f1.w);
            bad |= notFinite(a0) | notFinite(a1) | notFinite(c0) | notFinite(c1);
            const u32 s0 = __shfl_sync(0xffffffffu, a1, prev);
            const u32 s1 = __shfl_sync(0xffffffffu, c1, prev);
            left[2 * r] = lane ? s0 : 0u;
            left[2 * r + 1] = a0;
            right[2 * r] = lane ? s1 : s0;
            right[2 * r + 1] = c0;
          }
          uint4 *dst = (uint4 *)(ringDst + c * (2 * PLANE_Q * 16) + pos * 16);
          const uint4 x0 = make_uint4(left[0], left[1], left[2], left[3]);
          const uint4 x1 = make_uint4(right[0], right[1], right[2], right[3]);
          dst[0] = x0;
          if (pos < MIRROR)
            dst[RINGQ] = x0;
          if (lane < 25) {
            dst[32] = x1;
            if (pos + 32 < MIRROR)
              dst[32 + RINGQ] = x1;
          }
        }
        const int any = __any_sync(0xffffffffu, (bad & 0x80008000u) != 0u);
        if (lane == 0)
          flags[slot * CONV_WARPS + half] = any ? 1u : 0u;
        // the ring's writes come before wgmma reads them, the stage's reads before TMA writes it again
        fenceAsyncShared();
        __syncwarp();
        if (lane == 0) {
          mbarArrive(&ringFull[slot]);
          mbarArrive(&stEmpty[s]);
          if (half == 0 && n + STAGES < total) {
            const int m = n + STAGES;
            const bool firstImage = m < rows0;
            const int img = firstImage ? img0 : img0 + 1;
            const int row = firstImage ? m + r0 : m - rows0;
            mbarWait(&stEmpty[s], (u32)((n / STAGES) & 1));
            mbarExpectTx(&stFull[s], STAGE_BYTES);
            tmaLoad3D(smem + OFF_STAGE + s * STAGE_BYTES, &map, &stFull[s], 0, 4 * row - 2, img * 3);
          }
        }
        __syncwarp();
      }
    }
  }
}
