#define RING 10 // tune: 8, 9, 10
#define ORDER 2 // tune: 0, 1, 2
#define STORE_WARPS 4 // tune: 4, 6, 8
#define STORE_CS 0 // tune: 0, 1

#if RING < 8 || RING > 10
#error "RING must be 8 to 10"
#endif

#define STAGES 2
#define CONV_WARPS 6
#define BLOCKS 132
#define TILES 4900
#define TILES_IMG 49
#define GRIDW 57
#define THREADS (32 * (15 + STORE_WARPS))

#define STAGE_BYTES 10752
#define WROWS 96
#define W_BYTES (54 * WROWS * 16)
#define RINGQ (RING * GRIDW)
#define MIRROR 180
#define PLANE_Q (RINGQ + MIRROR)
#define RING_BYTES (6 * PLANE_Q * 16)
#define OSTRIDE 68
#define OUT_FLOATS (96 * OSTRIDE)

#define OFF_STAGE 0
#define OFF_W (STAGES * STAGE_BYTES)
#define OFF_RING (OFF_W + W_BYTES)
#define OFF_OUT (OFF_RING + RING_BYTES)
#define OFF_BIAS (OFF_OUT + 2 * OUT_FLOATS * 4)
#define OFF_BARS (OFF_BIAS + 384)
#define OFF_FLAGS (OFF_BARS + 512)

#define CH_PER (96 / STORE_WARPS)
#define CH_HALF (CH_PER / 2)

#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), \
              "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

static __device__ __forceinline__ void mma96(float (&d)[48], u64 a, u64 b, int keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %50, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47}, "
      "%48, %49, p, 1, 1, 0, 0;\n"
      "}\n"
      : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40)
      : "l"(a), "l"(b), "r"(keep));
}

static __device__ __forceinline__ void hold48(float (&d)[48]) {
  asm volatile("" : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40) : : "memory");
}

// no swizzle, K-major: leading = distance of the two 8-column halves, stride = distance of groups of 8 rows
static __device__ __forceinline__ u64 descNoSwizzle(u32 addr, u32 leading, u32 stride) {
  return (u64)((addr >> 4) & 0x3FFFu) | ((u64)((leading >> 4) & 0x3FFFu) << 16) |
         ((u64)((stride >> 4) & 0x3FFFu) << 32);
}

// bit 15 or 31 is set if a half is infinite or NaN
static __device__ __forceinline__ u32 notFinite(u32 v) {
  return (v & 0x7C007C00u) + 0x04000400u;
}

// block rows of its image that tile t reads
static __device__ __forceinline__ int firstRow(int t) { return (t * 64) / GRIDW; }
static __device__ __forceinline__ int lastRow(int t) {
  const int r = (t * 64 + 179) / GRIDW;
  return r < 56 ? r : 56;
}

static __device__ __forceinline__ void put(float *p, float v) {
#if STORE_CS
  __stcs(p, v);
#else
  *p = v;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_ring(const __grid_constant__ CUtensorMap map, const float *__restrict__ in,
          const float *__restrict__ bias, const float *__restrict__ weight,
          float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *stFull = (u64 *)(smem + OFF_BARS);
  u64 *stEmpty = stFull + STAGES;
  u64 *ringFull = stEmpty + STAGES;
  u64 *ringEmpty = ringFull + RING;
  u64 *outFull = ringEmpty + RING;
  u64 *outEmpty = outFull + 2;
  volatile u32 *flags = (volatile u32 *)(smem + OFF_FLAGS);
  float *biasS = (float *)(smem + OFF_BIAS);

  const int warp = (int)warpIndex();
  const int lane = (int)(threadIdx.x & 31u);

  // this block's tiles: at most two images
  const int begin = ((int)blockIdx.x * TILES) / BLOCKS;
  const int end = (((int)blockIdx.x + 1) * TILES) / BLOCKS;
  const int count = end - begin;
  const int img0 = begin / TILES_IMG;
  const int r0 = firstRow(begin - img0 * TILES_IMG);
  const int rows0 = 57 - r0;  // block rows of the first image, if it is left
  int total;                  // block rows of this block
  {
    const int im = (end - 1) / TILES_IMG;
    const int t = (end - 1) - im * TILES_IMG;
    total = lastRow(t) + (im == img0 ? -r0 : rows0) + 1;
  }

  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&stFull[i], 1);
      mbarInit(&stEmpty[i], CONV_WARPS);
    }
#pragma unroll 1
    for (int i = 0; i < RING; ++i) {
      mbarInit(&ringFull[i], CONV_WARPS);
      mbarInit(&ringEmpty[i], 8);
    }
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
      mbarInit(&outFull[i], 4);
      mbarInit(&outEmpty[i], STORE_WARPS);
    }
    mbarInitFence();
  }
  __syncthreads();

  // weights by warps 0 to 11: f16, [k chunk 54][channel WROWS][8 halfs]
  if (warp < 12) {
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
      to[i] = ((by * 3 + bx) * 2 + (dy >> 1)) * (WROWS * 16) + ((dy & 1) * 4 + dx) * 2;
    }
#pragma unroll 1
    for (int n0 = 0; n0 < 24; n0 += 8) {
      float v[8][5];
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const float *p = weight + (warp * 24 + n0 + n) * 121;
#pragma unroll
        for (int i = 0; i < 5; ++i) {
          v[n][i] = 0.0f;
          if (real[i])
            v[n][i] = __ldg(p + from[i]);
        }
      }
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const int pair = warp * 24 + n0 + n;
        const int ch = pair / 3, c = pair - 3 * ch;
        unsigned char *q = smem + OFF_W + c * (18 * WROWS * 16) + ch * 16;
#pragma unroll
        for (int i = 0; i < 5; ++i)
          if (used[i])
            *(u16 *)(q + to[i]) = (u16)(packF16(v[n][i], 0.0f) & 0xffffu);
      }
    }
    if (threadIdx.x < 96)
      biasS[threadIdx.x] = bias[threadIdx.x];
    fenceAsyncShared();
    __syncwarp();
    if (warp < 8)
      barSync(3, 384);
    else
      barArrive(3, 384);
  }

  if (warp < 8) {
    // ---------------- consumers: two warpgroups, alternate tiles ----------------
    const int w = warp >> 2;
    const int wq = warp & 3;
    const u64 bDesc = descNoSwizzle(smemAddr(smem + OFF_W), WROWS * 16, 128);
    const u64 aDesc0 = descNoSwizzle(smemAddr(smem + OFF_RING), PLANE_Q * 16, 128);
    float *obuf = (float *)(smem + OFF_OUT) + w * OUT_FLOATS;
    const int tq = lane & 3;
    float *mine = obuf + (2 * tq) * OSTRIDE + 16 * wq + (lane >> 2);

    float d[48];
#pragma unroll
    for (int i = 0; i < 48; ++i)
      d[i] = 0.0f;

#if ORDER
    if (w == 1)
      barArrive(1, 256);
#endif

    int passed = 0;
    int turn = 0;
#pragma unroll 1
    for (int i = w; i < count; i += 2, ++turn) {
      const int g = begin + i;
      const int img = g / TILES_IMG;
      const int t = g - img * TILES_IMG;
      const int base = img == img0 ? -r0 : rows0;
      const int first = firstRow(t) + base;
      const int last = lastRow(t) + base;
      int nextFirst = passed;
      if (i + 2 < count) {
        const int g2 = g + 2;
        const int im2 = g2 / TILES_IMG;
        nextFirst = firstRow(g2 - im2 * TILES_IMG) + (im2 == img0 ? -r0 : rows0);
      }

      mbarWait(&ringFull[last % RING], (u32)((last / RING) & 1));
      u32 bad = 0;
      const int nflags = (last - first + 1) * CONV_WARPS;
#pragma unroll 1
      for (int f = lane; f < nflags; f += 32) {
        const int fr = f / CONV_WARPS;
        bad |= flags[((first + fr) % RING) * CONV_WARPS + (f - fr * CONV_WARPS)];
      }
      __syncwarp();
      const int slow = __any_sync(0xffffffffu, bad != 0u);

      if (!slow) {
        const int pos = (t * 64 + GRIDW * base) % RINGQ;
        const u64 aTile = aDesc0 + (u64)pos;
#if ORDER
        barSync(1 + w, 256);
#endif
        hold48(d);
        wgmmaFence();
#pragma unroll
        for (int s = 0; s < 27; ++s) {
          const int c = s / 9, by = (s / 3) % 3, bx = s % 3;
          mma96(d, aTile + (u64)(c * 2 * PLANE_Q + by * GRIDW + bx), bDesc + (u64)(s * 2 * WROWS),
                s == 0 ? 0 : 1);
        }
        wgmmaCommit();
#if ORDER == 1
        if (i + 1 < count)
          barArrive(2 - w, 256);
#endif
        wgmmaWait<0>();
        hold48(d);
#if ORDER == 2
        if (i + 1 < count)
          barArrive(2 - w, 256);
#endif
        if (lane == 0) {
#pragma unroll 1
          for (int r = passed; r < nextFirst; ++r)
            mbarArrive(&ringEmpty[r % RING]);
        }
        passed = nextFirst;
        __syncwarp();

        mbarWait(&outEmpty[w], (u32)((turn & 1) ^ 1));
#pragma unroll
        for (int j = 0; j < 12; ++j) {
          const float2 bv = *(const float2 *)(biasS + 8 * j + 2 * tq);
          float *o = mine + (8 * j) * OSTRIDE;
          o[0] = d[4 * j + 0] + bv.x;
          o[OSTRIDE] = d[4 * j + 1] + bv.y;
          o[8] = d[4 * j + 2] + bv.x;
          o[OSTRIDE + 8] = d[4 * j + 3] + bv.y;
        }
      } else {
        // values that are not finite in f16: exact sums in f32
#if ORDER
        barSync(1 + w, 256);
        if (i + 1 < count)
          barArrive(2 - w, 256);
#endif
        if (lane == 0) {
#pragma unroll 1
          for (int r = passed; r < nextFirst; ++r)
            mbarArrive(&ringEmpty[r % RING]);
        }
        passed = nextFirst;
        __syncwarp();

        mbarWait(&outEmpty[w], (u32)((turn & 1) ^ 1));
        const float *image = in + img * (3 * 224 * 224);
#pragma unroll 1
        for (int idx = (int)(threadIdx.x & 127u); idx < 96 * 64; idx += 128) {
          const int ch = idx >> 6;
          const int pix = idx & 63;
          const int q = t * 64 + pix;
          const int oy = q / GRIDW;
          const int ox = q - oy * GRIDW;
          float acc = 0.0f;
          if (oy < 55 && ox < 55) {
            const int iy0 = oy * 4 - 2, ix0 = ox * 4 - 2;
            const float *wp = weight + ch * 363;
            acc = biasS[ch];
#pragma unroll 1
            for (int c = 0; c < 3; ++c) {
#pragma unroll 1
              for (int ky = 0; ky < 11; ++ky) {
                const int iy = iy0 + ky;
                const bool rowOk = iy >= 0 && iy < 224;
                const float *ip = image + (c * 224 + iy) * 224;
#pragma unroll 1
                for (int kx = 0; kx < 11; ++kx) {
                  const int ix = ix0 + kx;
                  float a = 0.0f;
                  if (rowOk && ix >= 0 && ix < 224)
                    a = ip[ix];
                  acc = fmaf(a, wp[(c * 11 + ky) * 11 + kx], acc);
                }
              }
            }
          }
          obuf[ch * OSTRIDE + pix] = acc;
        }
      }
      __syncwarp();
      if (lane == 0)
        mbarArrive(&outFull[w]);
    }
  } else if (warp < 8 + STORE_WARPS) {
    // ---------------- store warps ----------------
    const int sw = warp - 8;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int w = i & 1;
      const int g = begin + i;
      const int img = g / TILES_IMG;
      const int t = g - img * TILES_IMG;
      const int q0 = t * 64 + lane, q1 = q0 + 32;
      const int y0 = q0 / GRIDW, y1 = q1 / GRIDW;
      const int x0 = q0 - y0 * GRIDW, x1 = q1 - y1 * GRIDW;
      const bool ok0 = y0 < 55 && x0 < 55;
      const bool ok1 = y1 < 55 && x1 < 55;
      float *plane = out + (img * 96 + sw * CH_PER) * 3025;
      float *p0 = plane + (y0 * 55 + x0);
      float *p1 = plane + (y1 * 55 + x1);
      const float *o = (const float *)(smem + OFF_OUT) + w * OUT_FLOATS + (sw * CH_PER) * OSTRIDE + lane;

      mbarWait(&outFull[w], (u32)((i >> 1) & 1));
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float v[2 * CH_HALF];
#pragma unroll
        for (int c = 0; c < CH_HALF; ++c) {
          v[2 * c] = o[(h * CH_HALF + c) * OSTRIDE];
          v[2 * c + 1] = o[(h * CH_HALF + c) * OSTRIDE + 32];
        }
        if (h == 1) {
          __syncwarp();
          if (lane == 0)
            mbarArrive(&outEmpty[w]);
        }
#pragma unroll
        for (int c = 0; c < CH_HALF; ++c) {
          if (ok0)
            put(p0 + (h * CH_HALF + c) * 3025, v[2 * c]);
          if (ok1)
            put(p1 + (h * CH_HALF + c) * 3025, v[2 * c + 1]);
        }
      }
      __syncwarp();
    }
  } else if (warp < 8 + STORE_WARPS + CONV_WARPS) {
    // ---------------- converters: one warp for each plane ----------------
    const int plane = warp - (8 + STORE_WARPS);
    const int prev = (lane + 31) & 31;
    const bool second = lane < 24;
    const unsigned char *stageSrc =
        smem + OFF_STAGE + ((plane >> 1) * 4 + (plane & 1) * 2) * 896 + lane * 16;
    unsigned char *ringDst = smem + OFF_RING + plane * (PLANE_Q * 16);
#pragma unroll 1
    for (int n = 0; n < total; ++n) {
      const int s = n % STAGES;
      const int slot = n % RING;
      mbarWait(&stFull[s], (u32)((n / STAGES) & 1));
      const float4 z = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      float4 v[4];
      const unsigned char *p = stageSrc + s * STAGE_BYTES;
      v[0] = *(const float4 *)(p);
      v[2] = *(const float4 *)(p + 896);
      v[1] = z;
      v[3] = z;
      if (second) {
        v[1] = *(const float4 *)(p + 512);
        v[3] = *(const float4 *)(p + 896 + 512);
      }
      u32 bad = 0;
      u32 left[4], right[4];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float4 f0 = v[2 * r], f1 = v[2 * r + 1];
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
      const int any = __any_sync(0xffffffffu, (bad & 0x80008000u) != 0u);
      if (lane == 0)
        mbarArrive(&stEmpty[s]);
      __syncwarp();

      mbarWait(&ringEmpty[slot], (u32)(((n / RING) & 1) ^ 1));
      const int pos = slot * GRIDW + lane;
      uint4 *dst = (uint4 *)(ringDst + pos * 16);
      const uint4 c0 = make_uint4(left[0], left[1], left[2], left[3]);
      const uint4 c1 = make_uint4(right[0], right[1], right[2], right[3]);
      dst[0] = c0;
      if (pos < MIRROR)
        dst[RINGQ] = c0;
      if (lane < 25) {
        dst[32] = c1;
        if (pos + 32 < MIRROR)
          dst[32 + RINGQ] = c1;
      }
      fenceAsyncShared();
      __syncwarp();
      if (lane == 0) {
        flags[slot * CONV_WARPS + plane] = any ? 1u : 0u;
        mbarArrive(&ringFull[slot]);
      }
      __syncwarp();
    }
  } else {
    // ---------------- TMA of raw block rows ----------------
    if (lane == 0) {
      tmaPrefetchMap(&map);
#pragma unroll 1
      for (int n = 0; n < total; ++n) {
        const int s = n % STAGES;
        const bool firstImage = n < rows0;
        const int img = firstImage ? img0 : img0 + 1;
        const int row = firstImage ? n + r0 : n - rows0;
        mbarWait(&stEmpty[s], (u32)(((n / STAGES) & 1) ^ 1));
        mbarExpectTx(&stFull[s], STAGE_BYTES);
        tmaLoad3D(smem + OFF_STAGE + s * STAGE_BYTES, &map, &stFull[s], 0, 4 * row - 2, img * 3);
      }
    }
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["map0","in0","in1","in2","out0"],"block":["32 * (15 + STORE_WARPS)"],
// fastk-plan: "grid":[132],"launch":"conv_ring","shared_bytes":230080}],"tensor_maps":[{"box":[224,4,
// fastk-plan: 3],"buffer":"in0","dims":[224,224,300],"l2_promotion":"256B","strides":[896,200704],"swizzle":"none",
// fastk-plan: "type":"f32"}]}
