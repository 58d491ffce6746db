#define CONSUMERS 3 // tune: 2, 3, 4
#define NBUF 2 // tune: 2, 3
#define STAGED 1 // tune: 0, 1

#define CT (128 * CONSUMERS)
#define THREADS (CT + 128)
#define BLOCKS 132
#define BANDS 500
#define TILES 10
#define BAND_PIXELS 605
#define PITCH 480
#define BAND_BYTES 73440
#define PLANE 3025
#define KHALF 1536
#if CONSUMERS == 4
#define B_STEP 3072
#define B_BYTES 76800
#else
#define B_STEP 3088
#define B_BYTES 77312
#endif
#define OFF_BAND B_BYTES
#define OFF_STAGE (OFF_BAND + 2 * BAND_BYTES)
#define OFF_BIAS (OFF_STAGE + 2048 * CONSUMERS)
#define OFF_BAR (OFF_BIAS + 384)
#if OFF_BAR + 80 > 232448
#error "too much shared memory"
#endif

// byte offset in the packed B of channel n, row r = c * 11 + ky, tap kx
static __device__ __forceinline__ u32 slotB(int n, int r, int kx) {
  const int j = kx >> 2, e = kx & 3;
  const int s = r < 32 ? 3 * (r >> 2) + j : 24;
  const int t = r < 32 ? (r & 3) : j;
  return (u32)(s * B_STEP + (e >> 1) * KHALF + n * 16 + t * 4 + (e & 1) * 2);
}

static __device__ __forceinline__ void mma96(float (&d)[48], const u32 (&a)[4], u64 b) {
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
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(1));
}

template <int IMM>
static __device__ __forceinline__ void lds64(u32 &lo, u32 &hi, u32 addr) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2+%3];" : "=r"(lo), "=r"(hi) : "r"(addr), "n"(IMM));
}

struct LaneInfo {
  u32 base0, base1; // addresses of the lane's two pixels, row t of the band
  u32 x2, x5, x8;   // extra offsets of groups 2, 5 and 8
  u32 maskLo, maskHi;
};

// fragments of group G: rows 4G .. 4G+3 (by lane), units 0, 1, 2; group 8 is the single last step
template <int G>
static __device__ __forceinline__ void loadGroup(u32 (&a)[3][4], const LaneInfo &L) {
  if constexpr (G < 8) {
    constexpr int EXTRA = G <= 2 ? 0 : (G <= 5 ? 40 : 80);
    constexpr int IMM = (4 * G + EXTRA) * PITCH;
    u32 p0 = L.base0, p1 = L.base1;
    if constexpr (G == 2) {
      p0 += L.x2;
      p1 += L.x2;
    }
    if constexpr (G == 5) {
      p0 += L.x5;
      p1 += L.x5;
    }
    lds64<IMM>(a[0][0], a[0][2], p0);
    lds64<IMM>(a[0][1], a[0][3], p1);
    lds64<IMM + 8>(a[1][0], a[1][2], p0);
    lds64<IMM + 8>(a[1][1], a[1][3], p1);
    lds64<IMM + 16>(a[2][0], a[2][2], p0);
    lds64<IMM + 16>(a[2][1], a[2][3], p1);
    a[2][2] &= 0xffffu;
    a[2][3] &= 0xffffu;
  } else {
    lds64<112 * PITCH>(a[0][0], a[0][2], L.base0 + L.x8);
    lds64<112 * PITCH>(a[0][1], a[0][3], L.base1 + L.x8);
    a[0][0] &= L.maskLo;
    a[0][1] &= L.maskLo;
    a[0][2] &= L.maskHi;
    a[0][3] &= L.maskHi;
  }
}

template <int G>
static __device__ __forceinline__ void runGroups(float (&d)[48], u32 (&a)[NBUF][3][4], const LaneInfo &L, u64 desc) {
  wgmmaFence();
  mma96(d, a[G % NBUF][0], desc + (u64)((3 * G) * (B_STEP / 16)));
  if constexpr (G < 8) {
    mma96(d, a[G % NBUF][1], desc + (u64)((3 * G + 1) * (B_STEP / 16)));
    mma96(d, a[G % NBUF][2], desc + (u64)((3 * G + 2) * (B_STEP / 16)));
  }
  wgmmaCommit();
  if constexpr (G + NBUF - 1 <= 8) {
    wgmmaWait<1>(); // group G - 1 is over: its fragments may be overwritten
    loadGroup<G + NBUF - 1>(a[(G + NBUF - 1) % NBUF], L);
  }
  if constexpr (G < 8)
    runGroups<G + 1>(d, a, L, desc);
}

// rows FIRST .. FIRST + 2 HALF - 1 of the band, all three planes
template <int FIRST, int HALF>
static __device__ __forceinline__ void loadRows(const float *__restrict__ src, int row0, int h, unsigned char *dst,
                                                bool active, u64 *emptyBar, u32 parity) {
  float4 v[3 * HALF];
#pragma unroll
  for (int c = 0; c < 3; ++c) {
#pragma unroll
    for (int k = 0; k < HALF; ++k) {
      const int rr = FIRST + 2 * k + h;
      const int y = row0 + rr;
      float4 q = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (active && rr < 51 && y >= 0 && y < 224)
        q = __ldg((const float4 *)(src + c * 50176 + y * 224));
      v[c * HALF + k] = q;
    }
  }
  if (FIRST == 0)
    mbarWait(emptyBar, parity);
#pragma unroll
  for (int c = 0; c < 3; ++c) {
#pragma unroll
    for (int k = 0; k < HALF; ++k) {
      const int rr = FIRST + 2 * k + h;
      if (active && rr < 51) {
        unsigned char *p = dst + (c * 51 + rr) * PITCH;
        const float4 q = v[c * HALF + k];
        *(u32 *)(p) = packF16(q.x, q.y);
        *(u32 *)(p + 4) = packF16(q.z, q.w);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv(const float *__restrict__ in, const float *__restrict__ bias, const float *__restrict__ weight,
     float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *bars = (u64 *)(smem + OFF_BAR); // full: buffer * 4 + chunk; empty: 8 + buffer
  float *biasS = (float *)(smem + OFF_BIAS);
  const int tid = (int)threadIdx.x;
  const int warp = (int)warpIndex();
  const int wg = warp >> 2;
  const int nb = (BANDS - (int)blockIdx.x + BLOCKS - 1) / BLOCKS;

  if (tid == 0) {
    for (int i = 0; i < 8; ++i)
      mbarInit(&bars[i], 128);
    mbarInit(&bars[8], 4 * CONSUMERS);
    mbarInit(&bars[9], 4 * CONSUMERS);
    mbarInitFence();
  }
  // the padding columns of both buffers: never written again
  for (int i = tid; i < 306; i += THREADS) {
    u32 *p = (u32 *)(smem + OFF_BAND + i * PITCH);
    p[0] = 0u;
    p[113] = 0u;
  }
  if (tid < 96)
    biasS[tid] = bias[tid];
  __syncthreads();

  if (wg == CONSUMERS) {
    // ---------------- loader ----------------
    const int lt = tid - CT;
    const bool active = lt < 112;
    const int h = lt >= 56 ? 1 : 0;
    const int f = active ? lt - 56 * h : 0;
#pragma unroll 1
    for (int k = 0; k < nb; ++k) {
      const int band = (int)blockIdx.x + k * BLOCKS;
      const int image = band / 5;
      const int b = band - image * 5;
      const int buf = k & 1;
      const int row0 = 44 * b - 2;
      const float *src = in + image * 150528 + f * 4;
      unsigned char *dst = smem + OFF_BAND + buf * BAND_BYTES + f * 8 + 4;
      u64 *full = bars + buf * 4;
      u64 *empty = bars + 8 + buf;
      const u32 parity = (u32)(((k >> 1) & 1) ^ 1);
      loadRows<0, 4>(src, row0, h, dst, active, empty, parity);
      loadRows<8, 4>(src, row0, h, dst, active, empty, parity);
      mbarArrive(full + 0);
      loadRows<16, 6>(src, row0, h, dst, active, empty, parity);
      mbarArrive(full + 1);
      loadRows<28, 6>(src, row0, h, dst, active, empty, parity);
      mbarArrive(full + 2);
      loadRows<40, 6>(src, row0, h, dst, active, empty, parity);
      mbarArrive(full + 3);
    }
  } else {
    // ---------------- weights, once per block ----------------
    {
      const float4 *w4 = (const float4 *)weight;
#pragma unroll 1
      for (int i0 = tid; i0 < 8712; i0 += 8 * CT) {
        float4 v[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
          const int i = i0 + u * CT;
          v[u] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
          if (i < 8712)
            v[u] = __ldg(w4 + i);
        }
#pragma unroll
        for (int u = 0; u < 8; ++u) {
          const int i = i0 + u * CT;
          if (i < 8712) {
            int n = (4 * i) / 363;
            const int rem = 4 * i - n * 363;
            int r = rem / 11;
            int kx = rem - r * 11;
            const float x[4] = {v[u].x, v[u].y, v[u].z, v[u].w};
#pragma unroll
            for (int m = 0; m < 4; ++m) {
              *(u16 *)(smem + slotB(n, r, kx)) = (u16)(packF16(x[m], 0.0f) & 0xffffu);
              ++kx;
              if (kx == 11) {
                kx = 0;
                ++r;
                if (r == 33) {
                  r = 0;
                  ++n;
                }
              }
            }
          }
        }
      }
      for (int i = tid; i < 96 * 37; i += CT) {
        const int n = i / 37;
        const int q = i - n * 37;
        const int r = q < 32 ? q : 32;
        const int kx = q < 33 ? 11 : q - 21;
        *(u16 *)(smem + slotB(n, r, kx)) = (u16)0;
      }
      fenceAsyncShared();
      barSync(8, CT);
    }

    // ---------------- consumers ----------------
    const int lane = (int)laneId();
    const int wq = warp & 3;
    const int g = lane >> 2, t = lane & 3;
    const u32 bandAddr = smemAddr(smem) + OFF_BAND;
    const u64 desc = wgmmaDesc(smemAddr(smem), KHALF, 128, 0);
    LaneInfo L;
    L.x2 = t == 3 ? 40u * PITCH : 0u;
    L.x5 = t >= 2 ? 40u * PITCH : 0u;
    L.x8 = (u32)((t < 2 ? t : 2) * 8 - t * PITCH);
    L.maskLo = t == 3 ? 0u : 0xffffffffu;
    L.maskHi = t == 3 ? 0u : (t == 2 ? 0xffffu : 0xffffffffu);
#if STAGED
    float *stage = (float *)(smem + OFF_STAGE + wg * 2048);
    float *stageW = stage + (2 * t) * 64 + ((16 * wq + g) ^ (8 * t));
    float *stageW8 = stage + (2 * t) * 64 + ((16 * wq + g + 8) ^ (8 * t));
    const float *stageR = stage + (2 * wq) * 64 + (lane ^ (8 * wq));
#endif

#pragma unroll 1
    for (int T = wg; T < nb * TILES; T += CONSUMERS) {
      const int bi = T / TILES;
      const int tile = T - bi * TILES;
      const int buf = bi & 1;
      const u32 phase = (u32)((bi >> 1) & 1);
      const int band = (int)blockIdx.x + bi * BLOCKS;
      const int image = band / 5;
      const int b = band - image * 5;

      // rows of the band that this tile reads
      {
        int last = tile * 64 + 63;
        last = last < BAND_PIXELS ? last : BAND_PIXELS - 1;
        const int need = (last / 55 + 1) / 3;
#pragma unroll 1
        for (int c = 0; c <= need; ++c)
          mbarWait(&bars[buf * 4 + c], phase);
        __syncwarp();
      }

      {
        int q0 = tile * 64 + 16 * wq + g;
        int q1 = q0 + 8;
        q0 = q0 < BAND_PIXELS ? q0 : BAND_PIXELS - 1;
        q1 = q1 < BAND_PIXELS ? q1 : BAND_PIXELS - 1;
        const int y0 = q0 / 55, y1 = q1 / 55;
        const u32 start = bandAddr + (u32)(buf * BAND_BYTES + t * PITCH);
        L.base0 = start + (u32)(y0 * (4 * PITCH) + (q0 - y0 * 55) * 8);
        L.base1 = start + (u32)(y1 * (4 * PITCH) + (q1 - y1 * 55) * 8);
      }

      float d[48];
#pragma unroll
      for (int j = 0; j < 12; ++j) {
        const float2 bv = *(const float2 *)(biasS + 8 * j + 2 * t);
        d[4 * j + 0] = bv.x;
        d[4 * j + 1] = bv.y;
        d[4 * j + 2] = bv.x;
        d[4 * j + 3] = bv.y;
      }

      u32 a[NBUF][3][4];
      loadGroup<0>(a[0], L);
#if NBUF == 3
      loadGroup<1>(a[1], L);
#endif
#pragma unroll
      for (int i = 0; i < 48; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
      runGroups<0>(d, a, L, desc);
      wgmmaWait<0>();
#pragma unroll
      for (int i = 0; i < 48; ++i)
        asm volatile("" : "+f"(d[i])::"memory");

      // the last tile of this warpgroup in this band: the buffer is free
      if (tile + CONSUMERS >= TILES) {
        __syncwarp();
        if (lane == 0)
          mbarArrive(&bars[8 + buf]);
        __syncwarp();
      }

#if STAGED
      {
        const int px = tile * 64 + lane;
        float *o = out + (image * 96 + 2 * wq) * PLANE + b * BAND_PIXELS + px;
        const bool ok0 = px < BAND_PIXELS, ok1 = px + 32 < BAND_PIXELS;
#pragma unroll
        for (int j = 0; j < 12; ++j) {
          stageW[0] = d[4 * j + 0];
          stageW[64] = d[4 * j + 1];
          stageW8[0] = d[4 * j + 2];
          stageW8[64] = d[4 * j + 3];
          barSync((u32)(1 + wg), 128);
          const float v0 = stageR[0];
          const float v1 = stageR[32];
          const float v2 = stageR[64];
          const float v3 = stageR[96];
          barSync((u32)(1 + wg), 128);
          if (ok0) {
            o[(8 * j) * PLANE] = v0;
            o[(8 * j + 1) * PLANE] = v2;
          }
          if (ok1) {
            o[(8 * j) * PLANE + 32] = v1;
            o[(8 * j + 1) * PLANE + 32] = v3;
          }
        }
      }
#else
      {
        const int px = tile * 64 + 16 * wq + g;
        float *o = out + (image * 96 + 2 * t) * PLANE + b * BAND_PIXELS + px;
        const bool ok0 = px < BAND_PIXELS, ok1 = px + 8 < BAND_PIXELS;
#pragma unroll
        for (int j = 0; j < 12; ++j) {
          if (ok0) {
            o[(8 * j) * PLANE] = d[4 * j + 0];
            o[(8 * j + 1) * PLANE] = d[4 * j + 1];
          }
          if (ok1) {
            o[(8 * j) * PLANE + 8] = d[4 * j + 2];
            o[(8 * j + 1) * PLANE + 8] = d[4 * j + 3];
          }
        }
      }
#endif
    }
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in1","in2","out0"],"block":["128 * CONSUMERS + 128"],
// fastk-plan: "grid":[132],"launch":"conv","shared_bytes":232448}]}
