#define BATCH 5 // tune: 2, 3, 4, 5
#define WROWS 97 // tune: 96, 97
#define PLANE_Q 741 // tune: 741, 744, 748
#define ORDER 1 // tune: 0, 1, 2

#define ITEMS 500
#define BLOCKS 132
#define THREADS 512
#define GRIDW 57
#define BAND_ROWS 13
#define OUT_ROWS 11
#define TASKS 78
#define PWARPS 8

#define W_BYTES (54 * WROWS * 16)
#define BAND_BYTES (6 * PLANE_Q * 16)
#define OFF_BAND W_BYTES
#define OFF_BIAS (W_BYTES + 2 * BAND_BYTES + 256)
#define OFF_BARS (OFF_BIAS + 384)
#define OFF_FLAGS (OFF_BARS + 32)

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

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_s2d(const float *__restrict__ in, const float *__restrict__ bias,
         const float *__restrict__ weight, float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *fullBar = (u64 *)(smem + OFF_BARS);
  u64 *emptyBar = fullBar + 2;
  volatile u32 *flags = (volatile u32 *)(smem + OFF_FLAGS);
  float *biasS = (float *)(smem + OFF_BIAS);

  const int warp = (int)warpIndex();
  const int lane = (int)(threadIdx.x & 31u);

  if (threadIdx.x == 0) {
    mbarInit(&fullBar[0], PWARPS);
    mbarInit(&fullBar[1], PWARPS);
    mbarInit(&emptyBar[0], 8);
    mbarInit(&emptyBar[1], 8);
    mbarInitFence();
  }
  __syncthreads();

  if (warp >= 8) {
    // ---------------- producers ----------------
    const int pw = warp - 8;
    const int prev = (lane + 31) & 31;
    const bool second = lane < 24;
    int k = 0;
#pragma unroll 1
    for (int item = (int)blockIdx.x; item < ITEMS; item += BLOCKS, ++k) {
      const int b = k & 1;
      const int img = item / 5;
      const int br0 = (item - img * 5) * OUT_ROWS;
      const float4 *src = (const float4 *)in + (img * 3 * 224 * 56 + lane);
      unsigned char *band = smem + OFF_BAND + b * BAND_BYTES;
      mbarWait(&emptyBar[b], (u32)(((k >> 1) & 1) ^ 1));
      u32 bad = 0;
#pragma unroll 1
      for (int t0 = pw; t0 < TASKS; t0 += PWARPS * BATCH) {
        float4 v[BATCH][4];
#pragma unroll
        for (int s = 0; s < BATCH; ++s) {
          const int task = t0 + PWARPS * s;
          const int brow = task / 6;
          const int plane = task - brow * 6;
          const int y = 4 * (br0 + brow) + 2 * (plane & 1) - 2;
          const bool ok = task < TASKS && y >= 0 && y < 224;
          const float4 *p = src + ((plane >> 1) * 224 + y) * 56;
          const float4 z = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
          v[s][0] = z;
          v[s][1] = z;
          v[s][2] = z;
          v[s][3] = z;
          if (ok) {
            v[s][0] = __ldg(p);
            v[s][2] = __ldg(p + 56);
          }
          if (ok && second) {
            v[s][1] = __ldg(p + 32);
            v[s][3] = __ldg(p + 88);
          }
        }
#pragma unroll
        for (int s = 0; s < BATCH; ++s) {
          const int task = t0 + PWARPS * s;
          if (task < TASKS) {
            const int brow = task / 6;
            const int plane = task - brow * 6;
            u32 first[4], next[4];
#pragma unroll
            for (int r = 0; r < 2; ++r) {
              const float4 f0 = v[s][2 * r], f1 = v[s][2 * r + 1];
              const u32 a0 = packF16(f0.x, f0.y);
              const u32 a1 = packF16(f0.z, f0.w);
              const u32 c0 = packF16(f1.x, f1.y);
              const u32 c1 = packF16(f1.z, f1.w);
              bad |= notFinite(a0) | notFinite(a1) | notFinite(c0) | notFinite(c1);
              const u32 r0 = __shfl_sync(0xffffffffu, a1, prev);
              const u32 r1 = __shfl_sync(0xffffffffu, c1, prev);
              first[2 * r] = lane ? r0 : 0u;
              first[2 * r + 1] = a0;
              next[2 * r] = lane ? r1 : r0;
              next[2 * r + 1] = c0;
            }
            uint4 *dst = (uint4 *)(band + (plane * PLANE_Q + brow * GRIDW + lane) * 16);
            dst[0] = make_uint4(first[0], first[1], first[2], first[3]);
            if (lane < 25)
              dst[32] = make_uint4(next[0], next[1], next[2], next[3]);
          }
        }
      }
      const int any = __any_sync(0xffffffffu, (bad & 0x80008000u) != 0u);
      fenceAsyncShared();
      __syncwarp();
      if (lane == 0) {
        flags[b * 8 + pw] = any ? 1u : 0u;
        mbarArrive(&fullBar[b]);
      }
    }
  } else {
    // ---------------- consumers ----------------
    const int w = warp >> 2;  // warpgroup 0 or 1
    const int wq = warp & 3;

    // weights: f16, [k chunk 54][channel WROWS][8 halfs]
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
        to[i] = ((by * 3 + bx) * 2 + (dy >> 1)) * (WROWS * 16) + ((dy & 1) * 4 + dx) * 2;
      }
#pragma unroll 1
      for (int n0 = 0; n0 < 36; n0 += 9) {
        float v[9][5];
#pragma unroll
        for (int n = 0; n < 9; ++n) {
          const float *p = weight + (warp * 36 + n0 + n) * 121;
#pragma unroll
          for (int i = 0; i < 5; ++i) {
            v[n][i] = 0.0f;
            if (real[i])
              v[n][i] = __ldg(p + from[i]);
          }
        }
#pragma unroll
        for (int n = 0; n < 9; ++n) {
          const int pair = warp * 36 + n0 + n;
          const int ch = pair / 3, c = pair - 3 * ch;
          unsigned char *q = smem + c * (18 * WROWS * 16) + ch * 16;
#pragma unroll
          for (int i = 0; i < 5; ++i)
            if (used[i])
              *(u16 *)(q + to[i]) = (u16)(packF16(v[n][i], 0.0f) & 0xffffu);
        }
      }
      if (threadIdx.x < 96)
        biasS[threadIdx.x] = bias[threadIdx.x];
      fenceAsyncShared();
      barSync(3, 256);
    }

    const u64 bDesc = descNoSwizzle(smemAddr(smem), WROWS * 16, 128);
    const u64 aDesc0 = descNoSwizzle(smemAddr(smem + OFF_BAND), PLANE_Q * 16, 128);

    const int t = lane & 3;
    const bool odd = (t & 1) != 0;
    const int m = 16 * wq + (lane >> 2) + 8 * (t & 1);  // this thread's pixel in a tile
    const int chq = 4 * (t >> 1);                       // first of its channels modulo 8

    float d[48];
#pragma unroll
    for (int i = 0; i < 48; ++i)
      d[i] = 0.0f;

#if ORDER
    if (w == 1)
      barArrive(1, 256);
#endif

    int k = 0;
#pragma unroll 1
    for (int item = (int)blockIdx.x; item < ITEMS; item += BLOCKS, ++k) {
      const int b = k & 1;
      const int img = item / 5;
      const int oy0 = (item - img * 5) * OUT_ROWS;
      mbarWait(&fullBar[b], (u32)((k >> 1) & 1));
      const int slow = __any_sync(0xffffffffu, flags[b * 8 + (lane & 7)] != 0u);
      if (!slow) {
        const u64 aBand = aDesc0 + (u64)(b * (BAND_BYTES / 16));
#pragma unroll 1
        for (int i = 0; i < 5; ++i) {
          const int tile = 2 * i + w;
          const u64 aTile = aBand + (u64)(tile * 64);
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
          barArrive(2 - w, 256);
#endif
          wgmmaWait<0>();
          hold48(d);
#if ORDER == 2
          barArrive(2 - w, 256);
#endif
          if (i == 4 && lane == 0)
            mbarArrive(&emptyBar[b]);

          const int q = tile * 64 + m;
          const int y = q / GRIDW;
          const int x = q - y * GRIDW;
          const bool valid = y < OUT_ROWS && x < 55;
          float *p = out + ((img * 96 + chq) * 3025 + (oy0 + y) * 55 + x);
#pragma unroll
          for (int j = 0; j < 12; ++j) {
            const float4 bv = *(const float4 *)(biasS + 8 * j + chq);
            float r[4];  // channels 8j + chq + 0..3 of pixel m
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const float v0 = d[4 * j + e], v1 = d[4 * j + 2 + e];
              const float got = __shfl_xor_sync(0xffffffffu, odd ? v0 : v1, 1);
              r[e] = odd ? got : v0;
              r[2 + e] = odd ? v1 : got;
            }
            if (valid) {
              p[(8 * j + 0) * 3025] = r[0] + bv.x;
              p[(8 * j + 1) * 3025] = r[1] + bv.y;
              p[(8 * j + 2) * 3025] = r[2] + bv.z;
              p[(8 * j + 3) * 3025] = r[3] + bv.w;
            }
          }
        }
      } else {
        // values that are not finite in f16: exact sums in f32
        if (lane == 0)
          mbarArrive(&emptyBar[b]);
        const float *image = in + img * (3 * 224 * 224);
#pragma unroll 1
        for (int idx = (int)threadIdx.x; idx < 96 * 605; idx += 256) {
          const int ch = idx / 605;
          const int pix = idx - ch * 605;
          const int yy = pix / 55;
          const int ox = pix - yy * 55;
          const int iy0 = (oy0 + yy) * 4 - 2, ix0 = ox * 4 - 2;
          const float *wp = weight + ch * 363;
          float acc = bias[ch];
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
          out[(img * 96 + ch) * 3025 + oy0 * 55 + pix] = acc;
        }
        __syncwarp();
      }
    }
#if ORDER
    if (w == 0)
      barSync(1, 256);
#endif
  }
}
