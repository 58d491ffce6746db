#define RING 12 // tune: 8, 10, 12
#define STAGES 6 // tune: 4, 5, 6, 8
#define ORDER 1 // tune: 0, 1, 2
#define CUNROLL 1 // tune: 1, 3
#define ALIGN_STORES 1 // tune: 0, 1
#define SUNROLL 4 // tune: 2, 4, 8

#if RING < 8 || RING > 12
#error "RING must be 8 to 12"
#endif
#if STAGES < 2 || STAGES > 8
#error "STAGES must be 2 to 8"
#endif

#define CONV_WARPS 2
#define BLOCKS 132
#define TILES_IMG 28
#define TILES 2800
#define GRIDW 57
#define THREADS 256

#define HALF_STAGE 5376
#define STAGE_BYTES (2 * HALF_STAGE)
#define RINGQ (RING * GRIDW)
#define MIRROR 171
#define PLANE_Q (RINGQ + MIRROR)
#define RING_BYTES (6 * PLANE_Q * 16)

// output staging: [warp 6][row 16][120 floats], each part private to one warp
#define OROW 120
#define OUT_BYTES (6 * 16 * OROW * 4)

// weights, only at the start, in the place of the output staging and the ring: [k chunk 54][row 97][8 halfs]
#define WCHUNK (97 * 16)

#define OFF_STAGE 0
#define OFF_OUT (OFF_STAGE + STAGES * STAGE_BYTES)
#define OFF_RING (OFF_OUT + OUT_BYTES)
#define OFF_BARS (OFF_RING + RING_BYTES)
#define OFF_FLAGS (OFF_BARS + 512)

// no swizzle, K-major: leading = distance of the two 8-column halves, stride = distance of groups of 8 rows
static __device__ __forceinline__ u64 descNoSwizzle(u32 addr, u32 leading, u32 stride) {
  return (u64)((addr >> 4) & 0x3FFFu) | ((u64)((leading >> 4) & 0x3FFFu) << 16) |
         ((u64)((stride >> 4) & 0x3FFFu) << 32);
}

// bit 15 or 31 is set if a half is infinite or NaN
static __device__ __forceinline__ u32 notFinite(u32 v) {
  return (v & 0x7C007C00u) + 0x04000400u;
}

// first output row (and first block row) of tile t of an image; it reads 4 block rows
static __device__ __forceinline__ int firstRow(int t) {
  const int r = 2 * t;
  return r < 53 ? r : 53;
}

// one lane: TMA of half h (2 of the 4 image rows) of block row n into stage n % STAGES
static __device__ __forceinline__ void issueRow(unsigned char *smem, const CUtensorMap *map, u64 *stFull,
                                                int n, int h, int img0, int r0, int rows0) {
  const int s = n % STAGES;
  const bool firstImage = n < rows0;
  const int img = firstImage ? img0 : img0 + 1;
  const int row = firstImage ? n + r0 : n - rows0;
  u64 *bar = &stFull[h * STAGES + s];
  mbarExpectTx(bar, HALF_STAGE);
  tmaLoad3D(smem + OFF_STAGE + s * STAGE_BYTES + h * HALF_STAGE, map, bar, 0, 4 * row - 2 + 2 * h, img * 3);
}

// one warp: converts half h (planes h, 2 + h, 4 + h) of block row n into the ring
static __device__ __forceinline__ void convertRow(unsigned char *smem, const CUtensorMap *map, u64 *stFull,
                                                  u64 *ringFull, u64 *ringEmpty, volatile u32 *flags,
                                                  int n, int h, int lane, int total, int img0, int r0,
                                                  int rows0) {
  const int s = n % STAGES;
  const int slot = n % RING;
  const int prev = (lane + 31) & 31;
  mbarWait(&stFull[h * STAGES + s], (u32)((n / STAGES) & 1));
  mbarWait(&ringEmpty[slot], (u32)(((n / RING) & 1) ^ 1));
  __syncwarp();
  const unsigned char *p = smem + OFF_STAGE + s * STAGE_BYTES + h * HALF_STAGE + lane * 16;
  const int pos = slot * GRIDW + lane;
  unsigned char *q = smem + OFF_RING + h * (PLANE_Q * 16) + pos * 16;
  u32 bad = 0;
#if CUNROLL == 1
#pragma unroll 1
#else
#pragma unroll
#endif
  for (int c = 0; c < 3; ++c) {
    const float4 z = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float4 v[4];
    v[0] = *(const float4 *)(p);
    v[2] = *(const float4 *)(p + 896);
    v[1] = z;
    v[3] = z;
    if (lane < 24) {
      v[1] = *(const float4 *)(p + 512);
      v[3] = *(const float4 *)(p + 896 + 512);
    }
    __syncwarp();
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
    uint4 *dst = (uint4 *)q;
    const uint4 w0 = make_uint4(left[0], left[1], left[2], left[3]);
    const uint4 w1 = make_uint4(right[0], right[1], right[2], right[3]);
    dst[0] = w0;
    if (pos < MIRROR)
      dst[RINGQ] = w0;
    if (lane < 25) {
      dst[32] = w1;
      if (pos + 32 < MIRROR)
        dst[32 + RINGQ] = w1;
    }
    p += 2 * 896;
    q += 2 * PLANE_Q * 16;
  }
  __syncwarp();
  const int any = __any_sync(0xffffffffu, (bad & 0x80008000u) != 0u);
  fenceAsyncShared();
  __syncwarp();
  if (lane == 0) {
    flags[slot * CONV_WARPS + h] = any ? 1u : 0u;
    mbarArrive(&ringFull[slot]);
    // the whole warp has read this stage
    if (n + STAGES < total)
      issueRow(smem, map, stFull, n + STAGES, h, img0, r0, rows0);
  }
  __syncwarp();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_ring(const __grid_constant__ CUtensorMap map, const float *__restrict__ in,
          const float *__restrict__ bias, const float *__restrict__ weight, float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *stFull = (u64 *)(smem + OFF_BARS);  // [half 2][STAGES]
  u64 *ringFull = stFull + 2 * STAGES;
  u64 *ringEmpty = ringFull + RING;
  u64 *turn = ringEmpty + RING;            // [warpgroup 2]
  volatile u32 *flags = (volatile u32 *)(smem + OFF_FLAGS);

  const int warp = (int)warpIndex();
  const int lane = (int)(threadIdx.x & 31u);
  const int w = warp >> 2;   // warpgroup: 48 channels each
  const int wq = warp & 3;   // warp 3 of a warpgroup has no output rows: it loads and converts
  const int tq = lane & 3;

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
    total = firstRow(t) + 3 + (im == img0 ? -r0 : rows0) + 1;
  }

  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < 2 * STAGES; ++i)
      mbarInit(&stFull[i], 1);
#pragma unroll 1
    for (int i = 0; i < RING; ++i) {
      mbarInit(&ringFull[i], CONV_WARPS);
      mbarInit(&ringEmpty[i], 8);
    }
    mbarInit(&turn[0], 4);
    mbarInit(&turn[1], 4);
    mbarInitFence();
  }
  __syncthreads();

  if (wq == 3 && lane == 0) {
#pragma unroll 1
    for (int n = 0; n < STAGES && n < total; ++n)
      issueRow(smem, &map, stFull, n, w, img0, r0, rows0);
  }
  __syncwarp();

  // weights to f16 in shared memory; row R holds channel R
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
      to[i] = ((by * 3 + bx) * 2 + (dy >> 1)) * WCHUNK + ((dy & 1) * 4 + dx) * 2;
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
        unsigned char *q = smem + OFF_OUT + c * (18 * WCHUNK) + ch * 16;
#pragma unroll
        for (int i = 0; i < 5; ++i)
          if (used[i])
            *(u16 *)(q + to[i]) = (u16)(packF16(v[n][i], 0.0f) & 0xffffu);
      }
    }
  }
  __syncthreads();

  // A fragments of all 27 k-steps, kept in registers for good; zero in warp 3 (same code in all warps)
  const int wr = wq < 3 ? wq : 2;
  u32 a[27][4];
  {
    const u32 mask = wq < 3 ? 0xffffffffu : 0u;
    const int row = w * 48 + 16 * wr + (lane & 7) + ((lane >> 3) & 1) * 8;
    const unsigned char *src = smem + OFF_OUT + (lane >> 4) * WCHUNK + row * 16;
#pragma unroll
    for (int s = 0; s < 27; ++s) {
      ldmatrix4(a[s], src + (2 * s) * WCHUNK);
      a[s][0] &= mask;
      a[s][1] &= mask;
      a[s][2] &= mask;
      a[s][3] &= mask;
    }
  }
#pragma unroll
  for (int s = 0; s < 27; ++s)
    asm volatile("" : "+r"(a[s][0]), "+r"(a[s][1]), "+r"(a[s][2]), "+r"(a[s][3]) : : "memory");

  const int ch0 = w * 48 + 16 * wr;  // first of this warp's 16 channels
  const float b0 = bias[ch0 + (lane >> 2)];
  const float b1 = bias[ch0 + (lane >> 2) + 8];
  float *obuf = (float *)(smem + OFF_OUT) + (w * 3 + wr) * (16 * OROW);

  // the weights' place becomes the output staging and the ring
  __syncthreads();

  const u64 bDesc0 = descNoSwizzle(smemAddr(smem + OFF_RING), PLANE_Q * 16, 128);

  int conv = 0;  // warp 3: block rows converted so far
  if (wq == 3) {
#pragma unroll 1
    for (; conv < 4; ++conv)
      convertRow(smem, &map, stFull, ringFull, ringEmpty, flags, conv, w, lane, total, img0, r0, rows0);
  }
  __syncwarp();

  float d[64];
#pragma unroll
  for (int i = 0; i < 64; ++i)
    d[i] = 0.0f;

  int passed = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const int g = begin + i;
    const int img = g / TILES_IMG;
    const int t = g - img * TILES_IMG;
    const int y0 = firstRow(t);
    const int first = y0 + (img == img0 ? -r0 : rows0);
    const int last = first + 3;
    int nextFirst = passed;
    if (i + 1 < count) {
      const int g2 = g + 1;
      const int im2 = g2 / TILES_IMG;
      nextFirst = firstRow(g2 - im2 * TILES_IMG) + (im2 == img0 ? -r0 : rows0);
    }

    mbarWait(&ringFull[last % RING], (u32)((last / RING) & 1));
    __syncwarp();
    u32 bad = 0;
    if (lane < 4 * CONV_WARPS) {
      const int fr = lane / CONV_WARPS;
      bad = flags[((first + fr) % RING) * CONV_WARPS + (lane - fr * CONV_WARPS)];
    }
    __syncwarp();
    const int slow = __any_sync(0xffffffffu, bad != 0u);

#if ORDER
    // warpgroup 0 waits for the tile before of warpgroup 1, warpgroup 1 for the same tile of warpgroup 0
    mbarWait(&turn[w], (u32)((i & 1) ^ (w == 0 ? 1 : 0)));
    __syncwarp();
#endif

    if (!slow) {
      const u64 bTile = bDesc0 + (u64)((first % RING) * GRIDW);
      wgmmaHold(d);
      wgmmaFence();
#pragma unroll
      for (int s = 0; s < 27; ++s) {
        const int c = s / 9, by = (s / 3) % 3, bx = s % 3;
        wgmmaF16RS(d, a[s], bTile + (u64)(c * 2 * PLANE_Q + by * GRIDW + bx), s == 0 ? 0u : 1u);
      }
      wgmmaCommit();
#if ORDER == 1
      if (lane == 0)
        mbarArrive(&turn[w ^ 1]);
      __syncwarp();
#endif
      wgmmaWait<0>();
      wgmmaHold(d);
      if (lane == 0) {
#if ORDER == 2
        mbarArrive(&turn[w ^ 1]);
#endif
#pragma unroll 1
        for (int r = passed; r < nextFirst; ++r)
          mbarArrive(&ringEmpty[r % RING]);
      }
      passed = nextFirst;
      __syncwarp();

      if (wq < 3) {
        // grid columns 0 to 111 of this warp's 16 channels; 55 and 56 are no pixels
        float *rowA = obuf + (lane >> 2) * OROW + 2 * tq;
#pragma unroll
        for (int j = 0; j < 14; ++j) {
          *(float2 *)(rowA + 8 * j) = make_float2(d[4 * j] + b0, d[4 * j + 1] + b0);
          *(float2 *)(rowA + 8 * OROW + 8 * j) = make_float2(d[4 * j + 2] + b1, d[4 * j + 3] + b1);
        }
        __syncwarp();
        const int base = (img * 96 + ch0) * 3025 + y0 * 55;
#pragma unroll SUNROLL
        for (int r = 0; r < 16; ++r) {
          const int at = base + r * 3025;
#if ALIGN_STORES
          const int o = at & 31;
#else
          const int o = 0;
#endif
          float *dst = out + (at - o) + lane;
          const float *src = obuf + r * OROW;
#pragma unroll
          for (int k = 0; k < 4 + ALIGN_STORES; ++k) {
            const int p = 32 * k + lane - o;
            if (p >= 0 && p < 110)
              dst[32 * k] = src[p + (p >= 55 ? 2 : 0)];
          }
        }
        __syncwarp();
      }
    } else {
      // values that are not finite in f16: exact sums in f32
      if (lane == 0) {
#if ORDER
        mbarArrive(&turn[w ^ 1]);
#endif
#pragma unroll 1
        for (int r = passed; r < nextFirst; ++r)
          mbarArrive(&ringEmpty[r % RING]);
      }
      passed = nextFirst;
      __syncwarp();

      if (wq < 3) {
        const float *image = in + img * (3 * 224 * 224);
#pragma unroll 1
        for (int idx = lane; idx < 16 * 110; idx += 32) {
          const int rr = idx / 110;
          const int pix = idx - rr * 110;
          const int ch = ch0 + rr;
          const int dyo = pix >= 55 ? 1 : 0;
          const int oy = y0 + dyo;
          const int ox = pix - 55 * dyo;
          const int iy0 = oy * 4 - 2, ix0 = ox * 4 - 2;
          const float *wp = weight + ch * 363;
          float acc = bias[ch];
#pragma unroll 1
          for (int c = 0; c < 3; ++c) {
#pragma unroll 1
            for (int ky = 0; ky < 11; ++ky) {
              const int iy = iy0 + ky;
              const bool rowOk = iy >= 0 && iy < 224;
              const int ibase = (c * 224 + iy) * 224;
#pragma unroll 1
              for (int kx = 0; kx < 11; ++kx) {
                const int ix = ix0 + kx;
                float x = 0.0f;
                if (rowOk && ix >= 0 && ix < 224)
                  x = image[ibase + ix];
                acc = fmaf(x, wp[(c * 11 + ky) * 11 + kx], acc);
              }
            }
          }
          out[(img * 96 + ch) * 3025 + y0 * 55 + pix] = acc;
        }
        __syncwarp();
      }
    }

    if (wq == 3) {
      // rows ahead: their slots are free once all warps have done tile i - 1
      const int limit = first + RING < total ? first + RING : total;
#pragma unroll 1
      for (; conv < limit; ++conv)
        convertRow(smem, &map, stFull, ringFull, ringEmpty, flags, conv, w, lane, total, img0, r0, rows0);
    }
    __syncwarp();
  }
}
