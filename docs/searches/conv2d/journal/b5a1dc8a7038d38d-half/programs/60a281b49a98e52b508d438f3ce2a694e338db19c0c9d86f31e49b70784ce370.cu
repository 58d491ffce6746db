#define STAGES 5 // tune: 3, 4, 5, 6
#define ORDER 1 // tune: 0, 1, 2
#define BATCH 4 // tune: 2, 4, 8
#define PIXN1 56 // tune: 56, 64
#define ALIGN_MASK 7 // tune: 0, 7, 31
#define STORE_CS 0 // tune: 0, 1

#define RING 12

#if (8 % BATCH) != 0
#error "BATCH must divide 8"
#endif
#if PIXN1 != 56 && PIXN1 != 64
#error "PIXN1 must be 56 or 64"
#endif

#define STORE_WARPS 4
#define CONV_WARPS 3
#define BLOCKS 132
#define OUT_ROWS 5500
#define GRIDW 57
#define THREADS 512

#define STAGE_BYTES 10752
#define RINGQ (RING * GRIDW)
#define PLANE_Q (RINGQ + GRIDW + 1)
#define RING_BYTES (6 * PLANE_Q * 16)
#define OSTRIDE 120
#define OUT_FLOATS (96 * OSTRIDE)
#define CHUNK 1552
#define KS ((110 + ALIGN_MASK + 31) / 32)

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
#if 54 * CHUNK > 2 * OUT_FLOATS * 4
#error "weights do not fit into the output buffers"
#endif

// bit 15 or 31 is set if a half is infinite or NaN
static __device__ __forceinline__ u32 notFinite(u32 v) {
  return (v & 0x7C007C00u) + 0x04000400u;
}

static __device__ __forceinline__ void put(float *p, float v) {
#if STORE_CS
  __stcs(p, v);
#else
  *p = v;
#endif
}

template <int N>
static __device__ __forceinline__ void holdAcc(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    asm volatile("" : "+f"(d[i]) : : "memory");
}

// d (64 x 112) += A (registers) * B (shared memory, K-major)
static __device__ __forceinline__ void mmaRS(float (&d)[56], const u32 (&a)[4], u64 b, u32 keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %61, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n112k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55}, "
      "{%56, %57, %58, %59}, %60, p, 1, 1, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

// d (64 x 56) += A (registers) * B
static __device__ __forceinline__ void mmaRS(float (&d)[28], const u32 (&a)[4], u64 b, u32 keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %33, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n56k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27}, "
      "{%28, %29, %30, %31}, %32, p, 1, 1, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

// d (64 x 64) += A (registers) * B
static __device__ __forceinline__ void mmaRS(float (&d)[32], const u32 (&a)[4], u64 b, u32 keep) {
  wgmmaF16RS(d, a, b, keep);
}

// first ring row of tile i: two rows a tile, two more at the change of the image
static __device__ __forceinline__ int ringRow(int i, int pairs0) { return 2 * i + (i >= pairs0 ? 2 : 0); }

// W = 0: channels 0 to 63, two output rows as 112 columns.
// W = 1: channels 64 to 95 of output row y (warps 4, 5) and of row y + 1 (warps 6, 7), 56 columns.
template <int W>
static __device__ __forceinline__ void consumer(unsigned char *smem, u64 *ringFull, u64 *ringEmpty, u64 *outFull,
                                                u64 *outEmpty, volatile u32 *flags,
                                                const float *__restrict__ bias, int warp, int lane, int count,
                                                int pairs0) {
  constexpr int STEPS = W ? 36 : 27;
  constexpr int BYS = W ? 4 : 3;
  constexpr int ACC = W ? PIXN1 / 2 : 56;
  constexpr int JS = W ? 7 : 14;

  const int tq = lane & 3;
  const int half = W ? ((warp >> 1) & 1) : 0;
  const int ch0 = (W ? 64 + (warp & 1) * 16 : warp * 16) + (lane >> 2);

  u32 a[STEPS][4];
  {
    const int wofs = OFF_OUT + ch0 * 16 + tq * 4 - half * (6 * CHUNK);
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
      const int c = s / (3 * BYS), by = (s / 3) % BYS, bx = s % 3;
      const bool valid = W == 0 || (half ? by > 0 : by < 3);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        u32 lo = 0u, hi = 0u;
        if (valid) {
          const int at = wofs + ((c * 9 + by * 3 + bx) * 2 + h) * CHUNK;
          lo = *(const volatile u32 *)(smem + at);
          hi = *(const volatile u32 *)(smem + at + 128);
        }
        a[s][2 * h] = lo;
        a[s][2 * h + 1] = hi;
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

  // no swizzle, K-major: leading (bits 16 to 29) = distance of the two 8-column halves,
  // stride (bits 32 to 45) = 128 bytes, distance of groups of 8 positions
  const u32 ringLow = ((smemAddr(smem + OFF_RING) >> 4) & 0x3FFFu) | ((u32)PLANE_Q << 16);
  float *const outT = (float *)(smem + OFF_OUT) + ch0 * OSTRIDE + half * 56 + 2 * tq;

  float d[ACC];
#pragma unroll
  for (int i = 0; i < ACC; ++i)
    d[i] = 0.0f;

#if ORDER
  if (W == 1)
    barArrive(1, 256);
#endif

  int ready = 0;  // ring rows known to be filled
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const int base = ringRow(i, pairs0);
    const int next = i + 1 < count ? ringRow(i + 1, pairs0) : base;

#pragma unroll 1
    for (; ready <= base + 3; ++ready)
      mbarWait(&ringFull[ready % RING], (u32)((ready / RING) & 1));
    __syncwarp();

    // does a value of this tile not fit into f16? then the store warps compute it in f32
    u32 slow = 0u;
    if (W == 0 && warp == 0) {
      u32 bad = 0u;
      if (lane < 4 * CONV_WARPS) {
        const int fr = lane / CONV_WARPS;
        bad = flags[((base + fr) % RING) * CONV_WARPS + (lane - fr * CONV_WARPS)];
      }
      __syncwarp();
      slow = __any_sync(0xffffffffu, bad != 0u) ? 1u : 0u;
    }

    u32 row[BYS];
#pragma unroll
    for (int by = 0; by < BYS; ++by)
      row[by] = ringLow + (u32)(((base + by) % RING) * GRIDW);

    fenceAsyncShared();
    __syncwarp();
#if ORDER
    barSync(1 + W, 256);
#endif
    holdAcc(d);
    wgmmaFence();
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
      const int c = s / (3 * BYS), by = (s / 3) % BYS, bx = s % 3;
      const u64 desc = ((u64)8 << 32) | (u64)(row[by] + (u32)(c * 2 * PLANE_Q + bx));
      mmaRS(d, a[s], desc, s == 0 ? 0u : 1u);
    }
    wgmmaCommit();
#if ORDER == 1
    barArrive(2 - W, 256);
#endif
    wgmmaWait<0>();
    holdAcc(d);
#if ORDER == 2
    barArrive(2 - W, 256);
#endif
    fenceAsyncShared();
    __syncwarp();
    if (lane == 0) {
#pragma unroll 1
      for (int r = base; r < next; ++r)
        mbarArrive(&ringEmpty[r % RING]);
    }
    __syncwarp();

    mbarWait(&outEmpty[i & 1], (u32)(((i >> 1) & 1) ^ 1));
    __syncwarp();
    float *o = outT + (i & 1) * OUT_FLOATS;
#pragma unroll
    for (int j = 0; j < JS; ++j) {
      *(float2 *)(o + 8 * j) = make_float2(d[4 * j + 0] + b0, d[4 * j + 1] + b0);
      *(float2 *)(o + 8 * OSTRIDE + 8 * j) = make_float2(d[4 * j + 2] + b1, d[4 * j + 3] + b1);
    }
    if (W == 0 && warp == 0 && lane == 0)
      flags[OUT_FLAG + (i & 1)] = slow;
    __syncwarp();
    if (lane == 0)
      mbarArrive(&outFull[i & 1]);
    __syncwarp();
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

  // this block's output rows: 41 or 42, of at most two images
  const int begin = ((int)blockIdx.x * OUT_ROWS) / BLOCKS;
  const int end = (((int)blockIdx.x + 1) * OUT_ROWS) / BLOCKS;
  const int img0 = begin / 55;
  const int y0 = begin - img0 * 55;
  const int n0 = min(55 - y0, end - begin);  // rows of the first image
  const int n1 = end - begin - n0;           // rows of the second, from its row 0 on
  const int pairs0 = (n0 + 1) / 2;
  const int count = pairs0 + (n1 + 1) / 2;

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
      for (int m0 = 0; m0 < 36; m0 += 12) {
        float v[12][5];
#pragma unroll
        for (int n = 0; n < 12; ++n) {
          const float *p = weight + (warp * 36 + m0 + n) * 121;
#pragma unroll
          for (int i = 0; i < 5; ++i) {
            v[n][i] = 0.0f;
            if (real[i])
              v[n][i] = __ldg(p + from[i]);
          }
        }
#pragma unroll
        for (int n = 0; n < 12; ++n) {
          const int pair = warp * 36 + m0 + n;
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
      consumer<0>(smem, ringFull, ringEmpty, outFull, outEmpty, flags, bias, warp, lane, count, pairs0);
    else
      consumer<1>(smem, ringFull, ringEmpty, outFull, outEmpty, flags, bias, warp, lane, count, pairs0);
  } else {
    registersDown<48>();
    if (warp < 8 + STORE_WARPS) {
      // ------- store warps: 16 channels of warpgroup 0 and 8 of warpgroup 1 each, up to 110 pixels -------
      const int sw = warp - 8;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const int b = i & 1;
        const bool second = i >= pairs0;
        const int j = second ? i - pairs0 : i;
        const int img = second ? img0 + 1 : img0;
        const int y = (second ? 0 : y0) + 2 * j;
        const int left = (second ? n1 : n0) - 2 * j;
        const u32 valid = left >= 2 ? 110u : 55u;
        const int off0 = img * (96 * 3025) + y * 55;

        mbarWait(&outFull[b], (u32)((i >> 1) & 1));
        __syncwarp();
        const u32 mine = flags[OUT_FLAG + b];
        const int slow = __any_sync(0xffffffffu, mine != 0u);

        if (!slow) {
          const float *const ob = (const float *)(smem + OFF_OUT) + b * OUT_FLOATS;
#pragma unroll 1
          for (int h = 0; h < 24 / BATCH; ++h) {
            const bool low = h < 16 / BATCH;
            const int ch = low ? sw * 16 + h * BATCH : 64 + sw * 8 + (h * BATCH - 16);
            const int gap = low ? 2 : 1;  // columns between the two rows in the buffer
            const float *o = ob + ch * OSTRIDE;
            const int off = off0 + ch * 3025;
            float v[BATCH][KS];
#pragma unroll
            for (int c = 0; c < BATCH; ++c) {
              const int e0 = lane - ((off + c * 3025) & ALIGN_MASK);
#pragma unroll
              for (int k = 0; k < KS; ++k) {
                const int e = e0 + 32 * k;
                v[c][k] = 0.0f;
                if ((u32)e < valid)
                  v[c][k] = o[c * OSTRIDE + e + (e >= 55 ? gap : 0)];
              }
            }
            if (h == 24 / BATCH - 1) {
              __syncwarp();
              if (lane == 0)
                mbarArrive(&outEmpty[b]);
              __syncwarp();
            }
#pragma unroll
            for (int c = 0; c < BATCH; ++c) {
              const int e0 = lane - ((off + c * 3025) & ALIGN_MASK);
              float *p = out + (off + c * 3025 + e0);
#pragma unroll
              for (int k = 0; k < KS; ++k)
                if ((u32)(e0 + 32 * k) < valid)
                  put(p + 32 * k, v[c][k]);
            }
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
            const int l = idx / 110;
            const int e = idx - l * 110;
            const int ch = l < 16 ? sw * 16 + l : 64 + sw * 8 + (l - 16);
            if ((u32)e < valid) {
              const int oy = y + (e >= 55 ? 1 : 0);
              const int ox = e - (e >= 55 ? 55 : 0);
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
              out[off0 + ch * 3025 + e] = acc;
            }
          }
        }
        __syncwarp();
      }
    } else {
      const int total = ringRow(count - 1, pairs0) + 4;  // block rows of this block
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
            if (slot == 0) {  // the row behind the last slot
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
          const int rows0 = 2 * pairs0 + 2;  // block rows of the first image
#pragma unroll 1
          for (int n = 0; n < total; ++n) {
            const int s = n % STAGES;
            const bool firstImage = n < rows0;
            const int img = firstImage ? img0 : img0 + 1;
            const int row = firstImage ? n + y0 : n - rows0;
            mbarWait(&stEmpty[s], (u32)(((n / STAGES) & 1) ^ 1));
            mbarExpectTx(&stFull[s], STAGE_BYTES);
            tmaLoad3D(smem + OFF_STAGE + s * STAGE_BYTES, &map, &stFull[s], 0, 4 * row - 2, img * 3);
          }
        }
      }
    }
  }
}
