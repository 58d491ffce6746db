#define RING 10 // tune: 8, 9, 10, 11
#define STAGES 4 // tune: 2, 3, 4
#define BATCH 12 // tune: 4, 6, 8, 12
#define STORE_CS 0 // tune: 0, 1

#if RING < 8 || RING > 11
#error "RING must be 8 to 11"
#endif
#if (24 % BATCH) != 0
#error "BATCH must divide 24"
#endif

#define STORE_WARPS 4
#define CONV_WARPS 3
#define BLOCKS 132
#define HALF_PIX 64
#define HALVES_IMG 49
#define PAIRS 2450
#define GRIDW 57
#define THREADS 512

#define STAGE_BYTES 10752
#define RINGQ (RING * GRIDW)
#define MIRROR 180
#define PLANE_Q (RINGQ + MIRROR)
#define RING_BYTES (6 * PLANE_Q * 16)
#define OUTS 4
#define OSTRIDE 72
#define OUT_FLOATS (96 * OSTRIDE)
#define CHUNK 1552

#define OFF_STAGE 0
#define OFF_RING (STAGES * STAGE_BYTES)
#define OFF_OUT (OFF_RING + RING_BYTES)
#define OFF_BARS (OFF_OUT + OUTS * OUT_FLOATS * 4)
#define OFF_FLAGS (OFF_BARS + 512)
#define OUT_FLAG 40
#define USED_BYTES (OFF_FLAGS + 256)

#if USED_BYTES > 232448
#error "too much shared memory"
#endif
#if 54 * CHUNK > OUTS * OUT_FLOATS * 4
#error "the weights do not fit into the output buffers"
#endif

// bit 15 or 31 is set if a half is infinite or NaN
static __device__ __forceinline__ u32 notFinite(u32 v) {
  return (v & 0x7C007C00u) + 0x04000400u;
}

// block rows of its image that half tile u reads
static __device__ __forceinline__ int firstRow(int u) { return (u * HALF_PIX) / GRIDW; }
static __device__ __forceinline__ int lastRow(int u) {
  const int r = (u * HALF_PIX + 179) / GRIDW;
  return r < 56 ? r : 56;
}

static __device__ __forceinline__ void put(float *p, float v) {
#if STORE_CS
  __stcs(p, v);
#else
  *p = v;
#endif
}

// waits for the ring rows of half tile g; its position in the ring; 1 if a value does not fit into f16
static __device__ __forceinline__ int prepareHalf(int g, int img0, int r0, int &ready, u32 &slow,
                                                  u64 *ringFull, volatile u32 *flags, int warp,
                                                  int lane) {
  const int img = g / HALVES_IMG;
  const int u = g - img * HALVES_IMG;
  const int base = img == img0 ? -r0 : 57 - r0;
  const int last = lastRow(u) + base;
#pragma unroll 1
  for (; ready <= last; ++ready)
    mbarWait(&ringFull[ready % RING], (u32)((ready / RING) & 1));
  __syncwarp();
  slow = 0u;
  if (warp == 0) {
    const int first = firstRow(u) + base;
    const int nflags = (last - first + 1) * CONV_WARPS;  // at most 15
    u32 bad = 0u;
    if (lane < nflags) {
      const int fr = lane / CONV_WARPS;
      bad = flags[((first + fr) % RING) * CONV_WARPS + (lane - fr * CONV_WARPS)];
    }
    __syncwarp();
    slow = __any_sync(0xffffffffu, bad != 0u) ? 1u : 0u;
  }
  return (u * HALF_PIX + GRIDW * base) % RINGQ;
}

// queues the 27 products of one half tile as one group
static __device__ __forceinline__ void issueHalf(float (&d)[32], const u32 (&a)[27][4], u32 descLow) {
  fenceAsyncShared();
  __syncwarp();
  wgmmaFence();
#pragma unroll
  for (int s = 0; s < 27; ++s) {
    const int c = s / 9, by = (s / 3) % 3, bx = s % 3;
    // groups of 8 pixels are 128 bytes apart: the upper word is constant
    const u64 b = (u64)(descLow + (u32)(c * 2 * PLANE_Q + by * GRIDW + bx)) | ((u64)8 << 32);
    wgmmaF16RS(d, a[s], b, s == 0 ? 0u : 1u);
  }
  wgmmaCommit();
}

// gives back the ring rows that no half tile after g needs
static __device__ __forceinline__ void releaseRows(int g, int img0, int r0, int &passed,
                                                   u64 *ringEmpty, int lane) {
  const int g2 = g + 1;
  const int im2 = g2 / HALVES_IMG;
  const int nextFirst = firstRow(g2 - im2 * HALVES_IMG) + (im2 == img0 ? -r0 : 57 - r0);
  fenceAsyncShared();
  __syncwarp();
  if (lane == 0) {
#pragma unroll 1
    for (int r = passed; r < nextFirst; ++r)
      mbarArrive(&ringEmpty[r % RING]);
  }
  passed = nextFirst;
  __syncwarp();
}

// sums of half tile k of this block plus bias into output buffer k % 4
static __device__ __forceinline__ void drainHalf(const float (&d)[32], int k, float b0, float b1,
                                                 float *outT, u64 *outFull, u64 *outEmpty,
                                                 volatile u32 *flags, u32 slow, int warp, int lane) {
  if (warp < 6) {
    const int b = k & (OUTS - 1);
    mbarWait(&outEmpty[b], (u32)(((k / OUTS) & 1) ^ 1));
    __syncwarp();
    float *o = outT + b * OUT_FLOATS;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      *(float2 *)(o + 8 * j) = make_float2(d[4 * j + 0] + b0, d[4 * j + 1] + b0);
      *(float2 *)(o + 8 * OSTRIDE + 8 * j) = make_float2(d[4 * j + 2] + b1, d[4 * j + 3] + b1);
    }
    if (warp == 0 && lane == 0)
      flags[OUT_FLAG + b] = slow;
    __syncwarp();
    if (lane == 0)
      mbarArrive(&outFull[b]);
  }
  __syncwarp();
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
  u64 *outEmpty = outFull + OUTS;
  volatile u32 *flags = (volatile u32 *)(smem + OFF_FLAGS);

  const int warp = (int)warpIndex();
  const int lane = (int)(threadIdx.x & 31u);

  // this block's half tiles: an even number (36 or 38), of at most two images
  const int begin = 2 * (((int)blockIdx.x * PAIRS) / BLOCKS);
  const int end = 2 * ((((int)blockIdx.x + 1) * PAIRS) / BLOCKS);
  const int count = end - begin;
  const int img0 = begin / HALVES_IMG;
  const int r0 = firstRow(begin - img0 * HALVES_IMG);
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
    for (int i = 0; i < OUTS; ++i) {
      mbarInit(&outFull[i], 6);
      mbarInit(&outEmpty[i], STORE_WARPS);
    }
    mbarInitFence();
  }
  __syncthreads();

  if (warp < 8) {
    // ---------------- consumers: two warpgroups, channels 0 to 63 and 64 to 127 ----------------
    registersUp<208>();
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

    // lower word of the descriptor (no swizzle, K-major): address and distance of the two 8-column halves
    const u32 ringLow = ((smemAddr(smem + OFF_RING) >> 4) & 0x3FFFu) | ((u32)PLANE_Q << 16);
    float *const outT = (float *)(smem + OFF_OUT) + ch0 * OSTRIDE + 2 * tq;

    float dA[32], dB[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      dA[i] = 0.0f;
      dB[i] = 0.0f;
    }
    wgmmaHold(dA);  // both are defined before anything is under way
    wgmmaHold(dB);

    int passed = 0;  // ring rows given back
    int ready = 0;   // ring rows known to be filled
    u32 slowA = 0u, slowB = 0u;
    int k = 0;

    {
      const int pos = prepareHalf(begin, img0, r0, ready, slowA, ringFull, flags, warp, lane);
      issueHalf(dA, a, ringLow + (u32)pos);
    }

    // here A(k) is under way; count is even and at least 36
#pragma unroll 1
    do {
      {
        const int pos = prepareHalf(begin + k + 1, img0, r0, ready, slowB, ringFull, flags, warp, lane);
        issueHalf(dB, a, ringLow + (u32)pos);
      }
      wgmmaWait<1>();
      wgmmaHold(dA);
      releaseRows(begin + k, img0, r0, passed, ringEmpty, lane);
      drainHalf(dA, k, b0, b1, outT, outFull, outEmpty, flags, slowA, warp, lane);

      {
        const int pos = prepareHalf(begin + k + 2, img0, r0, ready, slowA, ringFull, flags, warp, lane);
        issueHalf(dA, a, ringLow + (u32)pos);
      }
      wgmmaWait<1>();
      wgmmaHold(dB);
      releaseRows(begin + k + 1, img0, r0, passed, ringEmpty, lane);
      drainHalf(dB, k + 1, b0, b1, outT, outFull, outEmpty, flags, slowB, warp, lane);
      k += 2;
    } while (k + 2 < count);

    // the last pair: A(count - 2) is under way
    {
      const int pos = prepareHalf(begin + k + 1, img0, r0, ready, slowB, ringFull, flags, warp, lane);
      issueHalf(dB, a, ringLow + (u32)pos);
    }
    wgmmaWait<1>();
    wgmmaHold(dA);
    releaseRows(begin + k, img0, r0, passed, ringEmpty, lane);
    drainHalf(dA, k, b0, b1, outT, outFull, outEmpty, flags, slowA, warp, lane);
    wgmmaWait<0>();
    wgmmaHold(dB);
    drainHalf(dB, k + 1, b0, b1, outT, outFull, outEmpty, flags, slowB, warp, lane);
  } else {
    registersDown<48>();
    if (warp < 8 + STORE_WARPS) {
      // ---------------- store warps: 24 channels each, 64 pixels of a channel at once ----------------
      const int sw = warp - 8;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const int b = i & (OUTS - 1);
        const int g = begin + i;
        const int img = g / HALVES_IMG;
        const int u = g - img * HALVES_IMG;

        // where the pixels go, before the wait
        float *p[2];
        bool ok[2];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int q = u * HALF_PIX + lane + 32 * j;
          const int y = q / GRIDW;
          const int x = q - y * GRIDW;
          ok[j] = y < 55 && x < 55;
          p[j] = out + ((img * 96 + sw * 24) * 3025 + (y * 55 + x));
        }

        mbarWait(&outFull[b], (u32)((i / OUTS) & 1));
        __syncwarp();
        const u32 mine = flags[OUT_FLAG + b];
        const int slow = __any_sync(0xffffffffu, mine != 0u);

        if (!slow) {
          const float *o = (const float *)(smem + OFF_OUT) + b * OUT_FLOATS + (sw * 24) * OSTRIDE + lane;
#pragma unroll 1
          for (int h = 0; h < 24 / BATCH; ++h) {
            float v[BATCH][2];
#pragma unroll
            for (int c = 0; c < BATCH; ++c) {
#pragma unroll
              for (int j = 0; j < 2; ++j)
                v[c][j] = o[c * OSTRIDE + 32 * j];
            }
            o += BATCH * OSTRIDE;
            if (h == 24 / BATCH - 1) {
              __syncwarp();
              if (lane == 0)
                mbarArrive(&outEmpty[b]);
              __syncwarp();
            }
#pragma unroll
            for (int c = 0; c < BATCH; ++c) {
#pragma unroll
              for (int j = 0; j < 2; ++j)
                if (ok[j])
                  put(p[j] + c * 3025, v[c][j]);
            }
#pragma unroll
            for (int j = 0; j < 2; ++j)
              p[j] += BATCH * 3025;
          }
        } else {
          // values that are not finite in f16: exact sums in f32
          __syncwarp();
          if (lane == 0)
            mbarArrive(&outEmpty[b]);
          __syncwarp();
          const float *image = in + img * (3 * 224 * 224);
#pragma unroll 1
          for (int idx = lane; idx < 24 * HALF_PIX; idx += 32) {
            const int ch = sw * 24 + (idx >> 6);
            const int q = u * HALF_PIX + (idx & 63);
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
        const int im = (end - 1) / HALVES_IMG;
        const int u = (end - 1) - im * HALVES_IMG;
        total = lastRow(u) + (im == img0 ? -r0 : rows0) + 1;
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
