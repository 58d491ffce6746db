#define PROD_WGS 2 // tune: 1, 2
#define BATCH 4 // tune: 2, 3, 4, 5
#define WBATCH 24 // tune: 12, 24
#define PINGPONG 1 // tune: 0, 1
#define PREFETCH 1 // tune: 0, 1

#define BLOCKS 132
#define ITEMS 500
#define THREADS (256 + 128 * PROD_WGS)
#define NPW (4 * PROD_WGS)
#define TASKS 78
#define SLOTS ((TASKS + NPW - 1) / NPW)
#define QP 756
#define BAND_BYTES (6 * QP * 16)
#define W_BYTES 82944
#define BIAS_OFF (W_BYTES + 2 * BAND_BYTES)
#define BAR_OFF (BIAS_OFF + 384)
#define SMEM_BYTES (BAR_OFF + 128)

static __device__ __forceinline__ void cvMma96(float (&d)[48], u64 a, u64 b) {
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
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
        "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
        "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
        "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
        "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
      : "l"(a), "l"(b), "r"(1));
}

static __device__ __forceinline__ void cvHold(float (&d)[48]) {
#pragma unroll
  for (int i = 0; i < 48; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}

// byte offset of weight k (of 363) for channel 0 in the packed weights
static __device__ __forceinline__ u32 cvWeightOffset(int k) {
  const int c = k / 121;
  const int r = k - c * 121;
  const int ky = r / 11;
  const int kx = r - ky * 11;
  const int step = c * 9 + (ky >> 2) * 3 + (kx >> 2);
  const int dy = ky & 3, dx = kx & 3;
  return (u32)((step * 2 + (dy >> 1)) * 1536 + ((dy & 1) * 4 + dx) * 2);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv(const float *__restrict__ in, const float *__restrict__ bias,
     const float *__restrict__ weight, float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  float *sbias = (float *)(smem + BIAS_OFF);
  u64 *full = (u64 *)(smem + BAR_OFF);
  u64 *empty = full + 2;
  volatile int *flags = (volatile int *)(smem + BAR_OFF + 32);

  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int warp = (int)warpIndex();

  if (tid == 0) {
    mbarInit(&full[0], 128 * PROD_WGS);
    mbarInit(&full[1], 128 * PROD_WGS);
    mbarInit(&empty[0], 8);
    mbarInit(&empty[1], 8);
    flags[0] = 0;
    flags[1] = 0;
    mbarInitFence();
  }
  if (tid < 96)
    sbias[tid] = bias[tid];
  __syncthreads();

  const int bid = blockIdx.x;
  const int nit = (ITEMS - bid + BLOCKS - 1) / BLOCKS;

  if (warp >= 8) {
    // ---------------- producers ----------------
#if PROD_WGS == 2
    registersDown<96>();
#endif
    const int pw = warp - 8;
    const int col0 = (lane == 0) ? 0 : (lane - 1) * 4;
    const int col1 = min(30 + lane, 55) * 4;
    const bool lane0ok = lane >= 1;
    const bool lane1ok = lane <= 25;
    const bool store0 = lane >= 1;
    const bool store1 = lane >= 1 && lane <= 26;

#pragma unroll 1
    for (int it = 0; it < nit; ++it) {
      const int item = bid + it * BLOCKS;
      const int n = item / 5;
      const int band = item - n * 5;
      const int R0 = band * 11;
      const int buf = it & 1;
      const float *base = in + n * 150528;
      unsigned char *sband = smem + W_BYTES + buf * BAND_BYTES;
      u32 badbits = 0;

#pragma unroll
      for (int b0 = 0; b0 < SLOTS; b0 += BATCH) {
        float4 v[BATCH][4];
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
          if (b0 + i < SLOTS) {
            const int task = min(pw + (b0 + i) * NPW, TASKS - 1);
            const int p = task / 13;
            const int r = task - p * 13;
            int iy = 4 * (R0 + r) + 2 * (p & 1) - 2;
            iy = max(0, min(iy, 222));
            const float *row = base + (p >> 1) * 50176 + iy * 224;
            v[i][0] = loadStream(row + col0);
            v[i][1] = loadStream(row + col1);
            v[i][2] = loadStream(row + 224 + col0);
            v[i][3] = loadStream(row + 224 + col1);
          }
        }
        if (b0 == 0)
          mbarWait(&empty[buf], (u32)(((it >> 1) & 1) ^ 1));
        __syncwarp();
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
          if (b0 + i < SLOTS) {
            const int task = pw + (b0 + i) * NPW;
            if (task < TASKS) {
              const int p = task / 13;
              const int r = task - p * 13;
              const int iy = 4 * (R0 + r) + 2 * (p & 1) - 2;
              const bool rowok = iy >= 0 && iy <= 222;
              const bool m0 = rowok && lane0ok;
              const bool m1 = rowok && lane1ok;
              const u32 lo00 = m0 ? packF16(v[i][0].x, v[i][0].y) : 0u;
              const u32 hi00 = m0 ? packF16(v[i][0].z, v[i][0].w) : 0u;
              const u32 lo10 = m1 ? packF16(v[i][1].x, v[i][1].y) : 0u;
              const u32 hi10 = m1 ? packF16(v[i][1].z, v[i][1].w) : 0u;
              const u32 lo01 = m0 ? packF16(v[i][2].x, v[i][2].y) : 0u;
              const u32 hi01 = m0 ? packF16(v[i][2].z, v[i][2].w) : 0u;
              const u32 lo11 = m1 ? packF16(v[i][3].x, v[i][3].y) : 0u;
              const u32 hi11 = m1 ? packF16(v[i][3].z, v[i][3].w) : 0u;
              badbits |= (lo00 & 0x7C007C00u) + 0x04000400u;
              badbits |= (hi00 & 0x7C007C00u) + 0x04000400u;
              badbits |= (lo10 & 0x7C007C00u) + 0x04000400u;
              badbits |= (hi10 & 0x7C007C00u) + 0x04000400u;
              badbits |= (lo01 & 0x7C007C00u) + 0x04000400u;
              badbits |= (hi01 & 0x7C007C00u) + 0x04000400u;
              badbits |= (lo11 & 0x7C007C00u) + 0x04000400u;
              badbits |= (hi11 & 0x7C007C00u) + 0x04000400u;
              const u32 s00 = __shfl_up_sync(0xffffffffu, hi00, 1);
              const u32 s01 = __shfl_up_sync(0xffffffffu, hi01, 1);
              const u32 s10 = __shfl_up_sync(0xffffffffu, hi10, 1);
              const u32 s11 = __shfl_up_sync(0xffffffffu, hi11, 1);
              unsigned char *dst = sband + (p * QP + r * 57 + lane) * 16;
              if (store0)
                *(uint4 *)(dst - 16) = make_uint4(s00, lo00, s01, lo01);
              if (store1)
                *(uint4 *)(dst + 30 * 16) = make_uint4(s10, lo10, s11, lo11);
            }
          }
        }
      }
      const bool bad = __any_sync(0xffffffffu, (badbits & 0x80008000u) != 0u);
      if (bad && lane == 0)
        flags[buf] = it + 1;
      __syncwarp();
      fenceAsyncShared();
      mbarArrive(&full[buf]);

#if PREFETCH
      if (pw == 0 && lane == 0 && it + 1 < nit) {
        const int item2 = item + BLOCKS;
        const int n2 = item2 / 5;
        const int band2 = item2 - n2 * 5;
        const int y0 = max(0, band2 * 44 - 2);
        const int y1 = min(224, band2 * 44 + 50);
        const float *p2 = in + n2 * 150528 + y0 * 224;
        const u32 bytes = (u32)(y1 - y0) * 896u;
        prefetchL2(p2, bytes);
        prefetchL2(p2 + 50176, bytes);
        prefetchL2(p2 + 100352, bytes);
      }
#endif
      __syncwarp();
    }
  } else {
    // ---------------- consumers ----------------
#if PROD_WGS == 2
    registersUp<152>();
#endif
    const int wg = warp >> 2;

    // weights: zero, then scatter into [k chunk][96][8] f16
    for (int i = tid; i < W_BYTES / 16; i += 256)
      ((uint4 *)smem)[i] = make_uint4(0u, 0u, 0u, 0u);
    barSync(1, 256);
    {
      const bool second = tid + 256 < 363;
      const int k1 = second ? tid + 256 : tid;
      const u32 off0 = cvWeightOffset(tid);
      const u32 off1 = cvWeightOffset(k1);
#pragma unroll 1
      for (int n0 = 0; n0 < 96; n0 += WBATCH) {
        float a[WBATCH], b[WBATCH];
        const float *w = weight + n0 * 363;
#pragma unroll
        for (int i = 0; i < WBATCH; ++i) {
          a[i] = __ldg(w + i * 363 + tid);
          b[i] = second ? __ldg(w + i * 363 + k1) : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < WBATCH; ++i) {
          *(u16 *)(smem + off0 + (n0 + i) * 16) = (u16)(packF16(a[i], 0.0f) & 0xFFFFu);
          if (second)
            *(u16 *)(smem + off1 + (n0 + i) * 16) = (u16)(packF16(b[i], 0.0f) & 0xFFFFu);
        }
      }
    }
    fenceAsyncShared();
    barSync(1, 256);

    const int wq = warp & 3;
    const int t4 = lane & 3, t8 = lane >> 2;
    const bool bit0 = (lane & 1) != 0;
    const bool bit1 = (lane & 2) != 0;
    const u64 descB = wgmmaDesc(smemAddr(smem), 1536, 128, 0);
    const int total = nit * 5;

#if PINGPONG
    if (wg == 1)
      barArrive(2, 256);
#endif

#pragma unroll 1
    for (int g = wg; g < total; g += 2) {
      const int it = g / 5;
      const int pr = g - it * 5;
      const int buf = it & 1;
      const int item = bid + it * BLOCKS;
      const int n = item / 5;
      const int band = item - n * 5;
      const int R0 = band * 11;

      const int q = pr * 128 + wq * 32 + t4 * 8 + t8;
      const int y = q / 57;
      const int x = q - y * 57;
      const bool valid = q < 627 && x < 55;
      float *dst = out + (size_t)n * 290400 + (R0 + y) * 55 + x;

      mbarWait(&full[buf], (u32)((it >> 1) & 1));
      __syncwarp();
      const bool bad = __any_sync(0xffffffffu, flags[buf] == it + 1) != 0;

      if (!bad) {
        float acc0[48], acc1[48];
#pragma unroll
        for (int j = 0; j < 12; ++j) {
          const float2 bb = *(const float2 *)(sbias + 8 * j + 2 * t4);
          acc0[4 * j] = bb.x;
          acc0[4 * j + 1] = bb.y;
          acc0[4 * j + 2] = bb.x;
          acc0[4 * j + 3] = bb.y;
          acc1[4 * j] = bb.x;
          acc1[4 * j + 1] = bb.y;
          acc1[4 * j + 2] = bb.x;
          acc1[4 * j + 3] = bb.y;
        }
        const u64 descA = wgmmaDesc(
            smemAddr(smem + W_BYTES) + (u32)(buf * BAND_BYTES + pr * 2048), QP * 16, 256, 0);
#if PINGPONG
        barSync((u32)(2 + wg), 256);
#endif
        cvHold(acc0);
        cvHold(acc1);
        wgmmaFence();
#pragma unroll
        for (int c = 0; c < 3; ++c) {
#pragma unroll
          for (int by = 0; by < 3; ++by) {
#pragma unroll
            for (int bx = 0; bx < 3; ++bx) {
              const u64 a = descA + (u64)(c * 2 * QP + by * 57 + bx);
              const u64 b = descB + (u64)((c * 9 + by * 3 + bx) * 192);
              cvMma96(acc0, a, b);
              cvMma96(acc1, a + 8, b);
            }
          }
        }
        wgmmaCommit();
#if PINGPONG
        if (g + 1 < total)
          barArrive((u32)(3 - wg), 256);
#endif
        wgmmaWait<0>();
        cvHold(acc0);
        cvHold(acc1);
        if (pr >= 3) {
          __syncwarp();
          if (lane == 0)
            mbarArrive(&empty[buf]);
          __syncwarp();
        }

#pragma unroll
        for (int j = 0; j < 12; ++j) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float r0 = acc0[4 * j + e];
            float r1 = acc1[4 * j + e];
            float r2 = acc0[4 * j + 2 + e];
            float r3 = acc1[4 * j + 2 + e];
            float s = bit0 ? r0 : r1;
            float t = bit0 ? r2 : r3;
            s = __shfl_xor_sync(0xffffffffu, s, 1);
            t = __shfl_xor_sync(0xffffffffu, t, 1);
            r0 = bit0 ? s : r0;
            r1 = bit0 ? r1 : s;
            r2 = bit0 ? t : r2;
            r3 = bit0 ? r3 : t;
            s = bit1 ? r0 : r2;
            t = bit1 ? r1 : r3;
            s = __shfl_xor_sync(0xffffffffu, s, 2);
            t = __shfl_xor_sync(0xffffffffu, t, 2);
            r0 = bit1 ? s : r0;
            r2 = bit1 ? r2 : s;
            r1 = bit1 ? t : r1;
            r3 = bit1 ? r3 : t;
            if (valid) {
              dst[(8 * j + e) * 3025] = r0;
              dst[(8 * j + e + 2) * 3025] = r1;
              dst[(8 * j + e + 4) * 3025] = r2;
              dst[(8 * j + e + 6) * 3025] = r3;
            }
          }
        }
      } else {
        // values beyond f16 in this band: exact f32, straight from global memory
#if PINGPONG
        barSync((u32)(2 + wg), 256);
        if (g + 1 < total)
          barArrive((u32)(3 - wg), 256);
#endif
        __syncwarp();
        if (pr >= 3 && lane == 0)
          mbarArrive(&empty[buf]);
        __syncwarp();
        if (valid) {
          const int iy0 = 4 * (R0 + y) - 2;
          const int ix0 = 4 * x - 2;
#pragma unroll 1
          for (int ch = 0; ch < 96; ++ch) {
            float s = sbias[ch];
#pragma unroll 1
            for (int cy = 0; cy < 33; ++cy) {
              const int c = cy / 11;
              const int ky = cy - c * 11;
              const int iy = iy0 + ky;
              const bool yok = iy >= 0 && iy < 224;
              const float *row = in + n * 150528 + c * 50176 + iy * 224;
              const float *w = weight + ch * 363 + cy * 11;
#pragma unroll
              for (int kx = 0; kx < 11; ++kx) {
                const int ix = ix0 + kx;
                float v = 0.0f;
                if (yok && ix >= 0 && ix < 224)
                  v = __ldg(row + ix);
                s = fmaf(v, __ldg(w + kx), s);
              }
            }
            dst[ch * 3025] = s;
          }
        }
        __syncwarp();
      }
    }
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in1","in2","out0"],"block":["256 + 128 * PROD_WGS"],
// fastk-plan: "grid":["BLOCKS"],"launch":"conv","shared_bytes":"SMEM_BYTES"}]}
