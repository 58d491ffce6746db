#define CONSUMERS 3 // tune: 2, 3
#define PB 12 // tune: 6, 9, 12, 17

#define THREADS (CONSUMERS * 128 + 128)
#if CONSUMERS == 3
#define CREG 136
#define PREG 104
#elif CONSUMERS == 2
#define CREG 184
#define PREG 136
#else
#error "CONSUMERS must be 2 or 3"
#endif

#define BLOCKS 132
#define BANDS 500
#define BAND_PIXELS 605
#define TILES 10
#define BAND_ROWS 51
#define ROWS3 153
#define PITCH 480
#define BAND_BYTES 73440
#define QUADS 8568
#define STEP_BYTES 3072
#define W_BYTES 76800
#define OFF_BAND 76800
#define OFF_BIAS 223680
#define OFF_BARS 224064
#define PLANE 3025
#define PRO_U ((QUADS + THREADS - 1) / THREADS)

// ---------------------------------------------------------------- weights
extern "C" __global__ void __launch_bounds__(256)
pack_weights(const float *__restrict__ w, u16 *__restrict__ packed) {
  launchNext();
  const int i = blockIdx.x * 256 + threadIdx.x; // 38400 in all
  const int s = i / 1536;
  const int rem = i - s * 1536;
  const int ng = rem / 128;
  const int kh = (rem / 64) % 2;
  const int nr = (rem / 8) % 8;
  const int kk = rem % 8;
  const int n = ng * 8 + nr;
  const int t = kk / 2;
  const int e = (kk & 1) + 2 * kh;
  int r, kx;
  if (s < 24) {
    r = 4 * (s / 3) + t;
    kx = 4 * (s % 3) + e;
  } else {
    r = 32;
    kx = 4 * t + e;
  }
  float v = 0.0f;
  if (kx < 11)
    v = w[n * 363 + r * 11 + kx];
  packed[i] = (u16)(packF16(v, 0.0f) & 0xffffu);
}

// ---------------------------------------------------------------- helpers
static __device__ __forceinline__ void lds64(u32 addr, u32 &lo, u32 &hi) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(lo), "=r"(hi) : "r"(addr));
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

// fragments of the steps 5 GI .. 5 GI + 4
template <int GI>
static __device__ __forceinline__ void loadGroup(u32 (&a)[5][4], u32 b0, u32 b1, const u32 (&off)[9],
                                                 u32 maskLo, u32 maskHi) {
#pragma unroll
  for (int i = 0; i < 5; ++i) {
    const int s = GI * 5 + i;
    if (s < 24) {
      const int G = s / 3, j = s % 3;
      lds64(b0 + off[G] + j * 8, a[i][0], a[i][2]);
      lds64(b1 + off[G] + j * 8, a[i][1], a[i][3]);
      if (j == 2) {
        a[i][2] &= 0xffffu;
        a[i][3] &= 0xffffu;
      }
    } else {
      lds64(b0 + off[8], a[i][0], a[i][2]);
      lds64(b1 + off[8], a[i][1], a[i][3]);
      a[i][0] &= maskLo;
      a[i][1] &= maskLo;
      a[i][2] &= maskHi;
      a[i][3] &= maskHi;
    }
  }
}

template <int GI>
static __device__ __forceinline__ void mmaGroup(float (&d)[48], const u32 (&a)[5][4], u64 desc) {
  wgmmaFence();
#pragma unroll
  for (int i = 0; i < 5; ++i)
    mma96(d, a[i], desc + (u64)((GI * 5 + i) * (STEP_BYTES / 16)));
  wgmmaCommit();
}

// f32 rows of a band to padded f16 rows in shared memory
template <int NT, int U, class F>
static __device__ __forceinline__ void fillBand(unsigned char *dst, const float *__restrict__ img, int row0,
                                                int tid, F mid) {
  const int sw = (threadIdx.x >> 4) & 1;
#pragma unroll 1
  for (int q0 = tid; q0 < QUADS; q0 += NT * U) {
    float4 v[U];
#pragma unroll
    for (int k = 0; k < U; ++k) {
      const int q = min(q0 + k * NT, QUADS - 1);
      const int row = q / 56;
      const int m = q - row * 56;
      const int c = row / BAND_ROWS;
      const int y = min(max(row - c * BAND_ROWS + row0, 0), 223);
      v[k] = loadStream(img + (c * 224 + y) * 224 + m * 4);
    }
    mid();
#pragma unroll
    for (int k = 0; k < U; ++k) {
      const int q = q0 + k * NT;
      if (q < QUADS) {
        const int row = q / 56;
        const int m = q - row * 56;
        const int c = row / BAND_ROWS;
        const int y = row - c * BAND_ROWS + row0;
        u32 lo = packF16(v[k].x, v[k].y);
        u32 hi = packF16(v[k].z, v[k].w);
        if (y < 0 || y > 223) {
          lo = 0u;
          hi = 0u;
        }
        u32 *p = (u32 *)(dst + row * PITCH + m * 8 + 4);
        // half-warps take the two words in opposite order: no bank conflicts
        const u32 first = sw ? hi : lo;
        const u32 second = sw ? lo : hi;
        p[sw] = first;
        p[1 - sw] = second;
      }
    }
  }
}

static __device__ __forceinline__ void prefetchBand(const float *in, int band) {
  const int n = band / 5, b = band - n * 5;
  const int y0 = 44 * b - 2;
  const int ylo = max(y0, 0);
  const int yhi = min(y0 + BAND_ROWS, 224);
#pragma unroll
  for (int c = 0; c < 3; ++c)
    prefetchL2(in + n * 150528 + (c * 224 + ylo) * 224, (u32)((yhi - ylo) * 896));
}

// ---------------------------------------------------------------- main
extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_main(const float *__restrict__ in, const float *__restrict__ bias, const u16 *packed,
          float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  float *sbias = (float *)(smem + OFF_BIAS);
  u64 *bars = (u64 *)(smem + OFF_BARS);
  u64 *full = bars;      // 2
  u64 *empty = bars + 2; // 2
  u64 *wbar = bars + 4;

  const int tid = threadIdx.x;
  const int lane = tid & 31;
  const int wg = (int)(warpIndex() / 4);

  if (tid == 0) {
    mbarInit(&full[0], 4);
    mbarInit(&full[1], 4);
    mbarInit(&empty[0], CONSUMERS * 4);
    mbarInit(&empty[1], CONSUMERS * 4);
    mbarInit(wbar, 1);
    mbarInitFence();
  }
  // the padding columns of both buffers, written once
  for (int i = tid; i < 2 * ROWS3; i += THREADS) {
    unsigned char *p = smem + OFF_BAND + i * PITCH;
    *(u32 *)p = 0u;
    *(u32 *)(p + 452) = 0u;
  }
  if (tid < 96)
    sbias[tid] = bias[tid];

  // first band: all threads, one batch
  {
    const int band = blockIdx.x;
    const int n = band / 5, b = band - n * 5;
    fillBand<THREADS, PRO_U>(smem + OFF_BAND, in + n * 150528, 44 * b - 2, tid, [&]() {
      if (tid == 0) {
        if (band + BLOCKS < BANDS)
          prefetchBand(in, band + BLOCKS);
        waitPrevious();
        fenceAsyncGlobal();
        mbarExpectTx(wbar, W_BYTES);
        for (int s = 0; s < 5; ++s)
          bulkLoad(smem + s * (W_BYTES / 5), (const unsigned char *)packed + s * (W_BYTES / 5), W_BYTES / 5,
                   wbar);
      }
    });
  }
  __syncthreads();

  if (wg == CONSUMERS) {
    // ------------------------------------------------------------ producer
    registersDown<PREG>();
    const int ptid = tid - CONSUMERS * 128;
    if (lane == 0)
      mbarArrive(&full[0]);
    int i = 1;
#pragma unroll 1
    for (int band = blockIdx.x + BLOCKS; band < BANDS; band += BLOCKS, ++i) {
      const int buf = i & 1, use = i >> 1;
      if (ptid == 0 && band + BLOCKS < BANDS)
        prefetchBand(in, band + BLOCKS);
      mbarWait(&empty[buf], (u32)((use & 1) ^ 1));
      const int n = band / 5, b = band - n * 5;
      fillBand<128, PB>(smem + OFF_BAND + buf * BAND_BYTES, in + n * 150528, 44 * b - 2, ptid, []() {});
      __syncwarp();
      if (lane == 0)
        mbarArrive(&full[buf]);
    }
  } else {
    // ------------------------------------------------------------ consumers
    registersUp<CREG>();
    const int g = lane >> 2, t = lane & 3;
    const int warp = (int)(warpIndex() % 4);
    u32 off[9];
#pragma unroll
    for (int G = 0; G < 8; ++G) {
      const int r = 4 * G + t;
      const int c = r / 11;
      off[G] = (u32)((c * BAND_ROWS + (r - c * 11)) * PITCH);
    }
    off[8] = (u32)((2 * BAND_ROWS + 10) * PITCH + min(t, 2) * 8);
    const u32 maskLo = t == 3 ? 0u : 0xffffffffu;
    const u32 maskHi = t == 3 ? 0u : (t == 2 ? 0xffffu : 0xffffffffu);
    const u64 desc = wgmmaDesc(smemAddr(smem), 128, 256, 0);
    const u32 bandAddr = smemAddr(smem + OFF_BAND);
    const int odd = t & 1;

    mbarWait(wbar, 0);
    int tile = wg;
    int i = 0;
#pragma unroll 1
    for (int band = blockIdx.x; band < BANDS; band += BLOCKS, ++i) {
      const int buf = i & 1, use = i >> 1;
      const int n = band / 5, b = band - n * 5;
      mbarWait(&full[buf], (u32)(use & 1));
      const u32 base = bandAddr + (u32)(buf * BAND_BYTES);
#pragma unroll 1
      for (; tile < TILES; tile += CONSUMERS) {
        const int p = tile * 64 + warp * 16 + g;
        const int p0 = min(p, BAND_PIXELS - 1);
        const int p1 = min(p + 8, BAND_PIXELS - 1);
        const int y0 = p0 / 55, y1 = p1 / 55;
        const u32 b0 = base + (u32)(y0 * 4 * PITCH + (p0 - y0 * 55) * 8);
        const u32 b1 = base + (u32)(y1 * 4 * PITCH + (p1 - y1 * 55) * 8);

        u32 x[5][4], y[5][4];
        float d[48];
        loadGroup<0>(x, b0, b1, off, maskLo, maskHi);
#pragma unroll
        for (int j = 0; j < 12; ++j) {
          const float2 v = *(const float2 *)(sbias + 8 * j + 2 * t);
          d[4 * j + 0] = v.x;
          d[4 * j + 1] = v.y;
          d[4 * j + 2] = v.x;
          d[4 * j + 3] = v.y;
        }
        mmaGroup<0>(d, x, desc);
        loadGroup<1>(y, b0, b1, off, maskLo, maskHi);
        mmaGroup<1>(d, y, desc);
        wgmmaWait<1>();
        loadGroup<2>(x, b0, b1, off, maskLo, maskHi);
        mmaGroup<2>(d, x, desc);
        wgmmaWait<1>();
        loadGroup<3>(y, b0, b1, off, maskLo, maskHi);
        mmaGroup<3>(d, y, desc);
        wgmmaWait<1>();
        loadGroup<4>(x, b0, b1, off, maskLo, maskHi);
        mmaGroup<4>(d, x, desc);
        wgmmaWait<0>();
#pragma unroll
        for (int k = 0; k < 48; ++k)
          asm volatile("" : "+f"(d[k])::"memory");

        // last tile of this warpgroup in this band: the buffer may be refilled
        if (tile + CONSUMERS >= TILES) {
          __syncwarp();
          if (lane == 0)
            mbarArrive(&empty[buf]);
        }

        // lanes t and t ^ 1 exchange halves: 16 pixels in a row per channel
        const int pe = p + 8 * odd;
        const bool ok = pe < BAND_PIXELS;
        float *o = out + (n * 96 + 4 * (t >> 1)) * PLANE + b * BAND_PIXELS + pe;
#pragma unroll
        for (int j = 0; j < 12; ++j) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const float v0 = d[4 * j + e];
            const float v1 = d[4 * j + 2 + e];
            const float sent = odd ? v0 : v1;
            const float got = __shfl_xor_sync(0xffffffffu, sent, 1);
            const float r0 = odd ? got : v0;
            const float r1 = odd ? v1 : got;
            if (ok) {
              o[(8 * j + e) * PLANE] = r0;
              o[(8 * j + e + 2) * PLANE] = r1;
            }
          }
        }
      }
      tile -= TILES;
    }
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in2","ws0"],"block":[256],"grid":[150],"launch":"pack_weights"},
// fastk-plan: {"arguments":["in0","in1","ws0","out0"],"block":["CONSUMERS * 128 + 128"],"grid":[132],
// fastk-plan: "launch":"conv_main","overlaps_previous":true,"shared_bytes":224128}],"workspaces":[{"bytes":76800}]}
