#define RING 12 // tune: 8, 10, 12
#define STAGES 5 // tune: 4, 5, 6
#define ORDER 1 // tune: 0, 1, 2
#define BATCH 6 // tune: 3, 4, 6
#define STORE_CS 0 // tune: 0, 1

#if RING < 6 || RING > 12
#error "RING must be 6 to 12"
#endif
#if (24 % BATCH) != 0
#error "BATCH must divide 24"
#endif

#define STORE_WARPS 4
#define CONV_WARPS 3
#define GRIDW 57
#define PAIRS_IMG 28
#define ROWS_IMG 58
#define THREADS 512

#define STAGE_BYTES 10752
#define RINGQ (RING * GRIDW)
#define PLANE_Q ((RING + 1) * GRIDW)
#define RING_BYTES (6 * PLANE_Q * 16)
#define OSTRIDE 120
#define OUT_FLOATS (96 * OSTRIDE)
#define CHUNK 1552

#define OFF_STAGE 0
#define OFF_RING (STAGES * STAGE_BYTES)
#define OFF_OUT (OFF_RING + RING_BYTES)
#define OFF_BARS (OFF_OUT + 2 * OUT_FLOATS * 4)
#define OFF_FLAGS (OFF_BARS + 512)
#define OUT_FLAG 40
#define USED_BYTES (OFF_FLAGS + 256)

#if USED_BYTES > 232448
#error "too much shared memory"
#endif

#define ACC4(i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])

// d (64 x 112) += A (registers) B (shared memory, K-major)
static __device__ __forceinline__ void mmaRS(float (&d)[56], const u32 (&a)[4], u64 b, u32 keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %61, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n112k16.f32.f16.f16\n"
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13,"
      " %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27,"
      " %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41,"
      " %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55},\n"
      "{%56, %57, %58, %59}, %60, p, 1, 1, 0;\n"
      "}\n"
      : ACC4(0), ACC4(4), ACC4(8), ACC4(12), ACC4(16), ACC4(20), ACC4(24), ACC4(28), ACC4(32), ACC4(36), ACC4(40), ACC4(44), ACC4(48), ACC4(52)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

// d (64 x 56) += A (registers) B (shared memory, K-major)
static __device__ __forceinline__ void mmaRS(float (&d)[28], const u32 (&a)[4], u64 b, u32 keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %33, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n56k16.f32.f16.f16\n"
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13,"
      " %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27},\n"
      "{%28, %29, %30, %31}, %32, p, 1, 1, 0;\n"
      "}\n"
      : ACC4(0), ACC4(4), ACC4(8), ACC4(12), ACC4(16), ACC4(20), ACC4(24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

template <int N>
static __device__ __forceinline__ void holdAll(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    asm volatile("" : "+f"(d[i]) : : "memory");
}

// bit 15 or 31 is set if a half is infinite or NaN
static __device__ __forceinline__ u32 notFinite(u32 v) {
  return (v & 0x7C007C00u) + 0x04000400u;
}

// first pair of output rows of block b: 125/3 rows a block, cut at even rows of an image
static __device__ __forceinline__ int pairCut(int b) {
  const int c = (b * 125) / 3;
  const int img = c / 55;
  const int r = c - img * 55;
  return img * PAIRS_IMG + (r >> 1);
}

static __device__ __forceinline__ void put(float *p, float v) {
#if STORE_CS
  __stcs(p, v);
#else
  *p = v;
#endif
}

// W = 0: channels 0 to 63, both output rows side by side (N = 112).
// W = 1: channels 64 to 95 twice in M, rows 0-31 for output row y, rows 32-63 for y + 1 (N = 56).
template <int W>
static __device__ __forceinline__ void consume(unsigned char *smem, u64 *ringFull, u64 *ringEmpty,
                                               u64 *outFull, u64 *outEmpty, volatile u32 *flags,
                                               const float *__restrict__ bias, int warp, int lane,
                                               int t, int count) {
  constexpr int BYS = W ? 4 : 3;
  constexpr int STEPS = 9 * BYS;
  constexpr int ACC = W ? 28 : 56;

  const int tq = lane & 3;
  const int wr = warp & 3;
  const int half = W ? (wr >> 1) : 0;  // output row of this warp's part of M
  const int ch0 = W ? 64 + (wr & 1) * 16 + (lane >> 2) : wr * 16 + (lane >> 2);

  u32 a[STEPS][4];
  {
    const int wOff = OFF_OUT + ch0 * 16 + tq * 4 - half * (6 * CHUNK);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
#pragma unroll
      for (int by = 0; by < BYS; ++by) {
        const bool ok = W == 0 || (half ? by >= 1 : by <= 2);
#pragma unroll
        for (int bx = 0; bx < 3; ++bx) {
          const int s = (c * BYS + by) * 3 + bx;
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            u32 lo = 0u, hi = 0u;
            if (ok) {
              const unsigned char *q = smem + (wOff + (((c * 3 + by) * 3 + bx) * 2 + h) * CHUNK);
              lo = *(const volatile u32 *)q;
              hi = *(const volatile u32 *)(q + 128);
            }
            a[s][2 * h] = lo;
            a[s][2 * h + 1] = hi;
          }
        }
      }
    }
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
      asm volatile("" : "+r"(a[s][0]), "+r"(a[s][1]), "+r"(a[s][2]), "+r"(a[s][3]));
  }
  const float b0 = __ldg(bias + ch0);
  const float b1 = __ldg(bias + ch0 + 8);
  __syncwarp();
  barSync(3, 256);  // the output buffers are free now

  // no swizzle, K-major: leading = distance of the planes, stride = 128 bytes (8 positions)
  const u32 ringLo = ((smemAddr(smem + OFF_RING) >> 4) & 0x3FFFu) | ((u32)PLANE_Q << 16);
  const u64 descHi = (u64)8u << 32;

  float d[ACC];
#pragma unroll
  for (int i = 0; i < ACC; ++i)
    d[i] = 0.0f;

#if ORDER
  if (W == 1)
    barArrive(1, 256);
#endif

  int slot0 = 0;      // ring slot of the tile's first block row
  int readySlot = 0;  // next ring row to wait for
  u32 readyPhase = 0u;
  int need = 4;       // block rows that this tile needs in addition
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
#pragma unroll 1
    for (int k = 0; k < need; ++k) {
      mbarWait(&ringFull[readySlot], readyPhase);
      if (++readySlot == RING) {
        readySlot = 0;
        readyPhase ^= 1u;
      }
    }
    __syncwarp();
    const int adv = t == PAIRS_IMG - 1 ? 4 : 2;

    // does a value of this tile not fit into f16? then the store warps compute it in f32
    u32 slow = 0u;
    if (W == 0 && warp == 0) {
      u32 bad = 0u;
      if (lane < 4 * CONV_WARPS) {
        const int fr = lane / CONV_WARPS;
        int sl = slot0 + fr;
        if (sl >= RING)
          sl -= RING;
        bad = flags[sl * CONV_WARPS + (lane - fr * CONV_WARPS)];
      }
      __syncwarp();
      slow = __any_sync(0xffffffffu, bad != 0u) ? 1u : 0u;
    }

    u32 row[BYS];
#pragma unroll
    for (int by = 0; by < BYS; ++by) {
      int sl = slot0 + by;
      if (sl >= RING)
        sl -= RING;
      row[by] = ringLo + (u32)(sl * GRIDW);
    }
    fenceAsyncShared();
    __syncwarp();
#if ORDER
    barSync(1 + W, 256);
#endif
    holdAll(d);
    wgmmaFence();
#pragma unroll
    for (int c = 0; c < 3; ++c) {
#pragma unroll
      for (int by = 0; by < BYS; ++by) {
#pragma unroll
        for (int bx = 0; bx < 3; ++bx) {
          const int s = (c * BYS + by) * 3 + bx;
          mmaRS(d, a[s], descHi | (u64)(row[by] + (u32)(c * 2 * PLANE_Q + bx)), s == 0 ? 0u : 1u);
        }
      }
    }
    wgmmaCommit();
#if ORDER == 1
    barArrive(2 - W, 256);
#endif
    wgmmaWait<0>();
    holdAll(d);
#if ORDER == 2
    barArrive(2 - W, 256);
#endif
    fenceAsyncShared();
    __syncwarp();
    if (lane == 0 && i + 1 < count) {
#pragma unroll 1
      for (int k = 0; k < adv; ++k) {
        int sl = slot0 + k;
        if (sl >= RING)
          sl -= RING;
        mbarArrive(&ringEmpty[sl]);
      }
    }
    __syncwarp();

    const int b = i & 1;
    mbarWait(&outEmpty[b], (u32)(((i >> 1) & 1) ^ 1));
    __syncwarp();
    float *const o = (float *)(smem + OFF_OUT) + b * OUT_FLOATS + ch0 * OSTRIDE + 2 * tq;
    if constexpr (W == 0) {
      // position p = 8 j + 2 tq: below 55 it is row y, from 57 on row y + 1, at index p - 2
#pragma unroll
      for (int j = 0; j < 14; ++j) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float bb = h ? b1 : b0;
          const float v0 = d[4 * j + 2 * h] + bb;
          const float v1 = d[4 * j + 2 * h + 1] + bb;
          float *q = o + h * (8 * OSTRIDE) + 8 * j - (j >= 7 ? 2 : 0);
          if (j == 6) {
            if (tq < 3)
              *(float2 *)q = make_float2(v0, v1);
            else
              q[0] = v0;  // index 54; position 55 does not exist
          } else if (j == 7) {
            if (tq > 0)
              *(float2 *)q = make_float2(v0, v1);
            else
              q[1] = v1;  // position 57, index 55; position 56 does not exist
          } else {
            *(float2 *)q = make_float2(v0, v1);
          }
        }
      }
    } else {
      if (half == 0) {
#pragma unroll
        for (int j = 0; j < 7; ++j) {
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const float bb = h ? b1 : b0;
            const float v0 = d[4 * j + 2 * h] + bb;
            const float v1 = d[4 * j + 2 * h + 1] + bb;
            float *q = o + h * (8 * OSTRIDE) + 8 * j;
            if (j < 6 || tq < 3)
              *(float2 *)q = make_float2(v0, v1);
            else
              q[0] = v0;
          }
        }
      } else {
#pragma unroll
        for (int j = 0; j < 7; ++j) {
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const float bb = h ? b1 : b0;
            float *q = o + h * (8 * OSTRIDE) + 8 * j + 55;
            q[0] = d[4 * j + 2 * h] + bb;
            if (j < 6 || tq < 3)
              q[1] = d[4 * j + 2 * h + 1] + bb;
          }
        }
      }
    }
    if (W == 0 && warp == 0 && lane == 0)
      flags[OUT_FLAG + b] = slow;
    __syncwarp();
    if (lane == 0)
      mbarArrive(&outFull[b]);
    __syncwarp();

    slot0 += adv;
    if (slot0 >= RING)
      slot0 -= RING;
    t = t == PAIRS_IMG - 1 ? 0 : t + 1;
    need = adv;
  }
#if ORDER
  if (W == 0)
    barSync(1, 256);  // takes the last turn that warpgroup 1 gave
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_pairs(const __grid_constant__ CUtensorMap map, const float *__restrict__ in,
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

  const int warp = (int)warpIndex();
  const int lane = (int)(threadIdx.x & 31u);

  // this block's pairs of output rows: at most two images
  const int begin = pairCut((int)blockIdx.x);
  const int end = pairCut((int)blockIdx.x + 1);
  const int count = end - begin;
  const int img0 = begin / PAIRS_IMG;
  const int t0 = begin - img0 * PAIRS_IMG;
  const int r0 = 2 * t0;
  const int rows0 = ROWS_IMG - r0;  // block rows of the first image, if it is left

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
      mbarInit(&outFull[i], 8);
      mbarInit(&outEmpty[i], STORE_WARPS);
    }
    mbarInitFence();
  }
  __syncthreads();

  if (warp < 8) {
    // ---------------- consumers: two warpgroups ----------------
    registersUp<208>();

    // weights as f16 into the output buffers: [k chunk 54][channel 96][8 halfs], chunks CHUNK bytes apart
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
      for (int n0 = 0; n0 < 36; n0 += 12) {
        float v[12][5];
#pragma unroll
        for (int n = 0; n < 12; ++n) {
          const float *p = weight + (warp * 36 + n0 + n) * 121;
#pragma unroll
          for (int i = 0; i < 5; ++i) {
            v[n][i] = 0.0f;
            if (real[i])
              v[n][i] = __ldg(p + from[i]);
          }
        }
#pragma unroll
        for (int n = 0; n < 12; ++n) {
          const int pair = warp * 36 + n0 + n;
          const int ch = pair / 3, c = pair - 3 * ch;
          unsigned char *q = smem + OFF_OUT + c * (18 * CHUNK) + ch * 16;
#pragma unroll
          for (int i = 0; i < 5; ++i)
            if (used[i])
              *(u16 *)(q + to[i]) = (u16)(packF16(v[n][i], 0.0f) & 0xffffu);
        }
      }
    }
    __syncwarp();
    barSync(3, 256);

    if (warp < 4)
      consume<0>(smem, ringFull, ringEmpty, outFull, outEmpty, flags, bias, warp, lane, t0, count);
    else
      consume<1>(smem, ringFull, ringEmpty, outFull, outEmpty, flags, bias, warp, lane, t0, count);
  } else {
    registersDown<48>();
    if (warp < 8 + STORE_WARPS) {
      // ---------------- store warps: 24 channels each, 110 contiguous pixels of a channel ----------------
      const int sw = warp - 8;
      int img = img0, t = t0;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const int b = i & 1;
        const bool full = t != PAIRS_IMG - 1;
        const int valid = full ? 110 : 55;

        mbarWait(&outFull[b], (u32)((i >> 1) & 1));
        __syncwarp();
        const u32 mine = flags[OUT_FLAG + b];
        const int slow = __any_sync(0xffffffffu, mine != 0u);

        if (!slow) {
          // each store instruction begins at a multiple of 32 bytes: 3025 = 1 modulo 8
          const int gbase = img * (96 * 3025) + t * 110;
          int m = gbase;
          float *p = out + (gbase + sw * (24 * 3025) + lane);
          const float *o = (const float *)(smem + OFF_OUT) + b * OUT_FLOATS + (sw * 24) * OSTRIDE + lane;
#pragma unroll 1
          for (int h = 0; h < 24 / BATCH; ++h) {
            float v[BATCH][4];
#pragma unroll
            for (int c = 0; c < BATCH; ++c) {
              const int s = (m + c) & 7;
              const float *q = o + (c * OSTRIDE - s);
              v[c][0] = 0.0f;
              v[c][1] = 0.0f;
              v[c][2] = 0.0f;
              v[c][3] = 0.0f;
              if (lane >= s)
                v[c][0] = q[0];
              if (lane + 32 - s < valid)
                v[c][1] = q[32];
              if (full)
                v[c][2] = q[64];
              if (lane + 96 - s < valid)
                v[c][3] = q[96];
            }
            if (h == 24 / BATCH - 1) {
              __syncwarp();
              if (lane == 0)
                mbarArrive(&outEmpty[b]);
              __syncwarp();
            }
#pragma unroll
            for (int c = 0; c < BATCH; ++c) {
              const int s = (m + c) & 7;
              float *r = p + (c * 3025 - s);
              if (lane >= s)
                put(r, v[c][0]);
              if (lane + 32 - s < valid)
                put(r + 32, v[c][1]);
              if (full)
                put(r + 64, v[c][2]);
              if (lane + 96 - s < valid)
                put(r + 96, v[c][3]);
            }
            o += BATCH * OSTRIDE;
            p += BATCH * 3025;
            m += BATCH;
          }
        } else {
          // values that are not finite in f16: exact sums in f32
          __syncwarp();
          if (lane == 0)
            mbarArrive(&outEmpty[b]);
          __syncwarp();
          const float *image = in + img * (3 * 224 * 224);
#pragma unroll 1
          for (int idx = lane; idx < 24 * 110; idx += 32) {
            const int chl = idx / 110;
            const int e = idx - chl * 110;
            const int ch = sw * 24 + chl;
            if (e < valid) {
              const int up = e >= 55 ? 1 : 0;
              const int oy = 2 * t + up;
              const int ox = e - 55 * up;
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
        if (full) {
          ++t;
        } else {
          t = 0;
          ++img;
        }
      }
    } else {
      int total;  // block rows of this block
      {
        const int im = (end - 1) / PAIRS_IMG;
        const int t = (end - 1) - im * PAIRS_IMG;
        total = 2 * t + 4 + (im == img0 ? -r0 : rows0);
      }
      if (warp < 8 + STORE_WARPS + CONV_WARPS) {
        // ---------------- converters: one warp for each input channel, two planes ----------------
        const int chan = warp - (8 + STORE_WARPS);
        const int prev = (lane + 31) & 31;
        const bool second = lane < 24;
        const unsigned char *stageSrc = smem + OFF_STAGE + chan * (4 * 896) + lane * 16;
        unsigned char *ringDst = smem + OFF_RING + chan * (2 * PLANE_Q * 16);
#pragma unroll 1
        for (int n = 0; n < total; ++n) {
          const int s = n % STAGES;
          const int slot = n % RING;
          mbarWait(&stFull[s], (u32)((n / STAGES) & 1));
          __syncwarp();
          const unsigned char *p = stageSrc + s * STAGE_BYTES;
          u32 bad = 0;
          u32 left[8], right[8];
#pragma unroll
          for (int r = 0; r < 4; ++r) {
            const float4 f0 = *(const float4 *)(p + r * 896);
            float4 f1 = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (second)
              f1 = *(const float4 *)(p + r * 896 + 512);
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
          fenceAsyncShared();  // the reads above come before the TMA writes that follow
          __syncwarp();
          if (lane == 0)
            mbarArrive(&stEmpty[s]);
          __syncwarp();

          mbarWait(&ringEmpty[slot], (u32)(((n / RING) & 1) ^ 1));
          __syncwarp();
          const int pos = slot * GRIDW + lane;
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            uint4 *dst = (uint4 *)(ringDst + h * (PLANE_Q * 16) + pos * 16);
            const uint4 x0 = make_uint4(left[4 * h], left[4 * h + 1], left[4 * h + 2], left[4 * h + 3]);
            const uint4 x1 = make_uint4(right[4 * h], right[4 * h + 1], right[4 * h + 2], right[4 * h + 3]);
            dst[0] = x0;
            if (lane < 25)
              dst[32] = x1;
            if (slot == 0) {  // once more behind the last slot
              dst[RINGQ] = x0;
              if (lane < 25)
                dst[32 + RINGQ] = x1;
            }
          }
          if (lane == 0)
            flags[slot * CONV_WARPS + chan] = any ? 1u : 0u;
          __syncwarp();
          fenceAsyncShared();
          __syncwarp();
          if (lane == 0)
            mbarArrive(&ringFull[slot]);
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
  }
}
