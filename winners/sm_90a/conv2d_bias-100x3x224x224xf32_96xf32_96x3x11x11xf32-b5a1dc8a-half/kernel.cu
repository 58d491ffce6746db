#define RING 10 // tune: 8, 10, 11
#define STAGES 4 // tune: 2, 3, 4
#define ORDER 1 // tune: 0, 1, 2
#define OBUFS 4 // tune: 2, 3, 4
#define AHEAD 2 // tune: 1, 2, 3
#define CREGS 208 // tune: 200, 208

#define STORE_CS 0

#if RING < 8 || RING > 11
#error "RING must be 8 to 11"
#endif
#if AHEAD < 1 || AHEAD > 5
#error "AHEAD must be 1 to 5"
#endif
#if OBUFS < 2 || OBUFS > 4
#error "OBUFS must be 2 to 4"
#endif
#if STAGES < 2 || STAGES > 6
#error "STAGES must be 2 to 6"
#endif

#define STORE_WARPS 4
#define CONV_WARPS 3
#define BLOCKS 132
#define TILE_PIX 128
#define TILES 2500
#define TILES_IMG 25
#define GRIDW 57
#define THREADS 512

#define STAGE_BYTES 10752
#define RINGQ (RING * GRIDW)
#define MIRROR 244
#define PLANE_Q (RINGQ + MIRROR)
#define RING_BYTES (6 * PLANE_Q * 16)

// output buffer: 48 rows (channel pairs) of 136 words (128 pixels), a word is two bf16
#define OSTRIDE 136
#define OUT_WORDS (48 * OSTRIDE)
#define CHUNK 1552
#define WEIGHT_BYTES 83792
#if OBUFS * OUT_WORDS * 4 > WEIGHT_BYTES
#define OUT_BYTES (OBUFS * OUT_WORDS * 4)
#else
#define OUT_BYTES WEIGHT_BYTES
#endif

#define OFF_STAGE 0
#define OFF_RING (STAGES * STAGE_BYTES)
#define OFF_OUT (OFF_RING + RING_BYTES)
#define OFF_BARS (OFF_OUT + OUT_BYTES)
#define OFF_FLAGS (OFF_BARS + 352)
#define OUT_FLAG 36
#define USED_BYTES (OFF_FLAGS + 160)

#if USED_BYTES > 232448
#error "too much shared memory"
#endif

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
static __device__ __forceinline__ int firstRow(int t) { return (t * TILE_PIX) / GRIDW; }
static __device__ __forceinline__ int lastRow(int t) {
  const int r = (t * TILE_PIX + 243) / GRIDW;
  return r < 56 ? r : 56;
}

static __device__ __forceinline__ void put(float *p, float v) {
#if STORE_CS
  __stcs(p, v);
#else
  *p = v;
#endif
}

// rows 8 m + {0, 1} (relative to this warp's first row), four groups of 32 pixels
static __device__ __forceinline__ void readGroup(u32 (&v)[8], const u32 *o, const int m) {
#pragma unroll
  for (int c = 0; c < 2; ++c) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      v[c * 4 + k] = o[(8 * m + c) * OSTRIDE + 32 * k];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_rs(const __grid_constant__ CUtensorMap map, const float *__restrict__ in,
        const float *__restrict__ bias, const float *__restrict__ weight,
        float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *stFull = (u64 *)(smem + OFF_BARS);
  u64 *stEmpty = stFull + STAGES;
  u64 *ringFull = stEmpty + STAGES;
  u64 *ringEmpty = ringFull + RING;
  u64 *outFull = ringEmpty + RING;
  u64 *outEmpty = outFull + OBUFS;
  volatile u32 *flags = (volatile u32 *)(smem + OFF_FLAGS);

  const int warp = (int)warpIndex();
  const int lane = (int)(threadIdx.x & 31u);

  // this block's tiles: at most two images
  const int begin = ((int)blockIdx.x * TILES) / BLOCKS;
  const int end = (((int)blockIdx.x + 1) * TILES) / BLOCKS;
  const int count = end - begin;
  const int img0 = begin / TILES_IMG;
  const int r0 = firstRow(begin - img0 * TILES_IMG);
  const int rows0 = 57 - r0;  // block rows of the first image, if it is left

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
    for (int i = 0; i < OBUFS; ++i) {
      mbarInit(&outFull[i], 6);
      mbarInit(&outEmpty[i], STORE_WARPS);
    }
    mbarInitFence();
  }
  __syncthreads();

  if (warp < 8) {
    // ---------------- consumers: two warpgroups, channels 0 to 63 and 64 to 127 ----------------
    registersUp<CREGS>();
    const int w = warp >> 2;
    const int tq = lane & 3;
    const bool active = warp < 6;  // channels 96 to 127 do not exist
    const int ch0 = warp * 16 + (lane >> 2);

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

    u32 a[27][4];
    {
      const unsigned char *wp = smem + OFF_OUT + ch0 * 16 + tq * 4;
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
    float b0 = 0.0f, b1 = 0.0f;
    if (active) {
      b0 = __ldg(bias + ch0);
      b1 = __ldg(bias + ch0 + 8);
    }
    __syncwarp();
    barSync(3, 256);  // the output buffers are free now

    const u64 ringDesc = descNoSwizzle(smemAddr(smem + OFF_RING), PLANE_Q * 16, 128);
    // row of the channel pair (ch0, ch0 + 8): warp * 8 + lane / 4 (at most 47 in the active warps)
    u32 *const outT = (u32 *)(smem + OFF_OUT) + (warp * 8 + (lane >> 2)) * OSTRIDE + 2 * tq;

    float d[64];
#pragma unroll
    for (int i = 0; i < 64; ++i)
      d[i] = 0.0f;

#if ORDER
    if (w == 1)
      barArrive(1, 256);
#endif

    int passed = 0;  // ring rows given back
    int ready = 0;   // ring rows known to be filled
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int g = begin + i;
      const int img = g / TILES_IMG;
      const int t = g - img * TILES_IMG;
      const int base = img == img0 ? -r0 : rows0;
      const int last = lastRow(t) + base;
      int nextFirst = passed;
      if (i + 1 < count) {
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
        const int nflags = (last - first + 1) * CONV_WARPS;  // at most 24
        u32 bad = 0u;
        if (lane < nflags) {
          const int fr = lane / CONV_WARPS;
          bad = flags[((first + fr) % RING) * CONV_WARPS + (lane - fr * CONV_WARPS)];
        }
        __syncwarp();
        slow = __any_sync(0xffffffffu, bad != 0u) ? 1u : 0u;
      }

      const int pos = (t * TILE_PIX + GRIDW * base) % RINGQ;
      const u64 bTile = ringDesc + (u64)pos;
      fenceAsyncShared();
      __syncwarp();
#if ORDER
      barSync(1 + w, 256);
#endif
      wgmmaHold(d);
      wgmmaFence();
#pragma unroll
      for (int s = 0; s < 27; ++s) {
        const int c = s / 9, by = (s / 3) % 3, bx = s % 3;
        wgmmaF16RS(d, a[s], bTile + (u64)(c * 2 * PLANE_Q + by * GRIDW + bx), s == 0 ? 0u : 1u);
      }
      wgmmaCommit();
#if ORDER == 1
      barArrive(2 - w, 256);
#endif
      wgmmaWait<0>();
      wgmmaHold(d);
#if ORDER == 2
      barArrive(2 - w, 256);
#endif
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
        const u32 b = (u32)i % OBUFS;
        const u32 turn = (u32)i / OBUFS;
        mbarWait(&outEmpty[b], (turn & 1u) ^ 1u);
        __syncwarp();
        u32 *o = outT + b * OUT_WORDS;
        // low half channel ch0, high half channel ch0 + 8
#pragma unroll
        for (int j = 0; j < 16; ++j) {
          const u32 x = packBF16(d[4 * j + 0] + b0, d[4 * j + 2] + b1);
          const u32 y = packBF16(d[4 * j + 1] + b0, d[4 * j + 3] + b1);
          *(uint2 *)(o + 8 * j) = make_uint2(x, y);
        }
        if (warp == 0 && lane == 0)
          flags[OUT_FLAG + b] = slow;
        __syncwarp();
        if (lane == 0)
          mbarArrive(&outFull[b]);
      }
      __syncwarp();
    }
#if ORDER
    if (w == 0)
      barSync(1, 256);  // takes the last turn that warpgroup 1 gave
#endif
  } else {
    registersDown<256 - CREGS>();
    if (warp < 8 + STORE_WARPS) {
      // ---------------- store warps: 12 channel pairs each, 128 pixels of a channel at once ----------------
      // warp sw takes the rows 8 m + 2 sw + {0, 1}: channels 16 m + 2 sw + {0, 1, 8, 9}, m = 0 to 5
      const int sw = warp - 8;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const u32 b = (u32)i % OBUFS;
        const u32 turn = (u32)i / OBUFS;
        const int g = begin + i;
        const int img = g / TILES_IMG;
        const int t = g - img * TILES_IMG;

        mbarWait(&outFull[b], turn & 1u);
        __syncwarp();
        const u32 mine = flags[OUT_FLAG + b];
        const int slow = __any_sync(0xffffffffu, mine != 0u);

        if (!slow) {
          const u32 *o = (const u32 *)(smem + OFF_OUT) + b * OUT_WORDS + (2 * sw) * OSTRIDE + lane;
          u32 v[6][8];
#pragma unroll
          for (int m = 0; m < AHEAD; ++m)
            readGroup(v[m], o, m);

          float *p[4];
          bool ok[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int q = t * TILE_PIX + lane + 32 * k;
            const int y = q / GRIDW;
            const int x = q - y * GRIDW;
            ok[k] = y < 55 && x < 55;
            p[k] = out + ((img * 96 + 2 * sw) * 3025 + (y * 55 + x));
          }
#pragma unroll
          for (int m = 0; m < 6; ++m) {
            if (m + AHEAD < 6)
              readGroup(v[m + AHEAD], o, m + AHEAD);
            if (m + AHEAD == 5) {
              // all of this buffer has been read
              __syncwarp();
              if (lane == 0)
                mbarArrive(&outEmpty[b]);
              __syncwarp();
            }
#pragma unroll
            for (int c = 0; c < 2; ++c) {
#pragma unroll
              for (int k = 0; k < 4; ++k)
                if (ok[k])
                  put(p[k] + (16 * m + c) * 3025, __uint_as_float(v[m][c * 4 + k] << 16));
#pragma unroll
              for (int k = 0; k < 4; ++k)
                if (ok[k])
                  put(p[k] + (16 * m + c + 8) * 3025, __uint_as_float(v[m][c * 4 + k] & 0xffff0000u));
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
          for (int idx = lane; idx < 24 * TILE_PIX; idx += 32) {
            const int ch = sw * 24 + (idx >> 7);
            const int q = t * TILE_PIX + (idx & 127);
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
      int total;  // block rows of this block
      {
        const int im = (end - 1) / TILES_IMG;
        const int t = (end - 1) - im * TILES_IMG;
        total = lastRow(t) + (im == img0 ? -r0 : rows0) + 1;
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
            if (pos < MIRROR)
              dst[RINGQ] = x0;
            if (lane < 25) {
              dst[32] = x1;
              if (pos + 32 < MIRROR)
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
