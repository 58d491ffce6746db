#define RING 10 // tune: 8, 10, 11
#define STAGES 4 // tune: 2, 3, 4
#define ORDER 1 // tune: 0, 1, 2
#define VECTOR 0 // tune: 0, 2, 4
#define HINT 0 // tune: 0, 1

#if RING < 8 || RING > 11
#error "RING must be 8 to 11"
#endif
#if VECTOR != 0
#if (32 % VECTOR) != 0
#error "VECTOR must divide 32"
#endif
#endif

#define STORE_WARPS 3
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
#define OSTRIDE 136
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

// number of valid pixels of the image before grid position q (rows of 57, the last two columns do not exist)
static __device__ __forceinline__ int pixelsBefore(int q) {
  const int y = q / GRIDW;
  const int x = q - y * GRIDW;
  return q - 2 * y - (x == 56 ? 1 : 0);
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
  u64 *outEmpty = outFull + 2;
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
    for (int i = 0; i < 2; ++i) {
      mbarInit(&outFull[i], 6);
      mbarInit(&outEmpty[i], STORE_WARPS);
    }
    mbarInitFence();
  }
  __syncthreads();

  if (warp < 8) {
    // ---------------- consumers: two warpgroups, channels 0 to 63 and 64 to 127 ----------------
    registersUp<208>();
    const int w = warp >> 2;
    const int tq = lane & 3;
    const int rg = lane >> 2;
    const bool active = warp < 6;  // channels 96 to 127 do not exist
    // row rg of the warp's 16 rows is channel ch0, row rg + 8 is channel ch0 + 2:
    // rows 0 to 3 have one phase modulo 4, rows 4 to 7 the next one
    const int ch0 = warp * 16 + 4 * (rg & 3) + (rg >> 2);

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
            hi = *(const volatile u32 *)(wp + (2 * s + h) * CHUNK + 32);  // channel ch0 + 2
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
      b1 = __ldg(bias + ch0 + 2);
    }
    __syncwarp();
    barSync(3, 256);  // the output buffers are free now

    const u64 ringDesc = descNoSwizzle(smemAddr(smem + OFF_RING), PLANE_Q * 16, 128);
    float *const outT = (float *)(smem + OFF_OUT) + (warp * 16 + rg) * OSTRIDE;

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
        const int nflags = (last - first + 1) * CONV_WARPS;  // at most 18
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
        // compact rows: a pixel's place is its distance from the tile's first valid pixel, plus the phase
        const int q0 = t * TILE_PIX;
        const int y0 = q0 / GRIDW;
        const int x0 = q0 - y0 * GRIDW;
        const int skew = x0 == 56 ? 1 : 0;
        const int firstPix = q0 - 2 * y0 - skew;
        int x = x0 + 2 * tq;  // column of the even element, kept in -1 to 55
        int at = 2 * tq + skew;
        if (x >= 56) {
          x -= 57;
          at -= 2;
        }
        float *o0 = outT + ((i & 1) * OUT_FLOATS + at + ((ch0 + firstPix) & 3));
        float *o1 = outT + ((i & 1) * OUT_FLOATS + 8 * OSTRIDE + at + ((ch0 + 2 + firstPix) & 3));

        mbarWait(&outEmpty[i & 1], (u32)(((i >> 1) & 1) ^ 1));
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 16; ++j) {
          if (j > 0) {
            x += 8;
            const bool cross = x >= 56;
            x = cross ? x - 57 : x;
            o0 = cross ? o0 - 2 : o0;
            o1 = cross ? o1 - 2 : o1;
          }
          const bool v0 = (u32)x < 55u;
          const bool v1 = x < 54;
          const float e0 = d[4 * j + 0] + b0;
          const float e1 = d[4 * j + 1] + b0;
          const float e2 = d[4 * j + 2] + b1;
          const float e3 = d[4 * j + 3] + b1;
          if (v0)
            o0[8 * j] = e0;
          if (v1)
            o0[8 * j + 1] = e1;
          if (v0)
            o1[8 * j] = e2;
          if (v1)
            o1[8 * j + 1] = e3;
        }
        if (warp == 0 && lane == 0)
          flags[OUT_FLAG + (i & 1)] = slow;
        fenceAsyncShared();  // the bulk stores read what was written here
        __syncwarp();
        if (lane == 0)
          mbarArrive(&outFull[i & 1]);
      }
      __syncwarp();
    }
#if ORDER
    if (w == 0)
      barSync(1, 256);  // takes the last turn that warpgroup 1 gave
#endif
  } else {
    registersDown<48>();
    if (warp == 8 || warp == 9 || warp == 15) {
      // ---------------- store warps: 32 channels each, lane = channel ----------------
      const int sw = warp == 15 ? 2 : warp - 8;
      const int row = sw * 32 + lane;  // row in the output buffers
      const int myCh = (row & ~15) + 4 * (row & 3) + ((row >> 2) & 1) + ((row >> 2) & 2);
#if HINT
      const u64 policy = policyEvictFirst();
#endif
      float4 carry = make_float4(0.0f, 0.0f, 0.0f, 0.0f);  // end of the tile before, not stored yet
      bool have = false;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const int b = i & 1;
        const int g = begin + i;
        const int img = g / TILES_IMG;
        const int t = g - img * TILES_IMG;

        const int first = pixelsBefore(t * TILE_PIX);
        const int stop = t == TILES_IMG - 1 ? 3025 : pixelsBefore((t + 1) * TILE_PIX);
        const int phase = (myCh + first) & 3;
        const int total = phase + (stop - first);  // places in the row, the phase included
        const int whole = total & ~3;
        const int rem = total & 3;
        const int dstAt = (img * 96 + myCh) * 3025 + first - phase;  // a multiple of 4
        float *const dst = out + dstAt;
        const bool keep = i + 1 < count && t != TILES_IMG - 1;

        mbarWait(&outFull[b], (u32)((i >> 1) & 1));
        __syncwarp();
        const u32 mine = flags[OUT_FLAG + b];
        const int slow = __any_sync(0xffffffffu, mine != 0u);

        if (!slow) {
          float *const buffer = (float *)(smem + OFF_OUT) + b * OUT_FLOATS;
          float *const srow = buffer + row * OSTRIDE;
          const float4 tail = *(const float4 *)(srow + whole);
          int start = 0;
          if (phase != 0) {
            float4 head = *(const float4 *)srow;
            if (have) {
              head.x = carry.x;
              if (phase > 1)
                head.y = carry.y;
              if (phase > 2)
                head.z = carry.z;
              *(float4 *)srow = head;
            } else {
              if (phase < 2)
                dst[1] = head.y;
              if (phase < 3)
                dst[2] = head.z;
              dst[3] = head.w;
              start = 4;
            }
          }
#if VECTOR == 0
          fenceAsyncShared();
          __syncwarp();
#if HINT
          bulkStoreHint(dst + start, srow + start, (u32)((whole - start) * 4), policy);
#else
          bulkStore(dst + start, srow + start, (u32)((whole - start) * 4));
#endif
          bulkCommit();
#else
          __syncwarp();
          const int range = start | (whole << 8);
          const float *src = buffer + (sw * 32) * OSTRIDE + 4 * lane;
#pragma unroll 1
          for (int c0 = 0; c0 < 32; c0 += VECTOR) {
            float4 v[VECTOR];
#pragma unroll
            for (int c = 0; c < VECTOR; ++c)
              v[c] = *(const float4 *)(src + c * OSTRIDE);
            src += VECTOR * OSTRIDE;
#pragma unroll
            for (int c = 0; c < VECTOR; ++c) {
              const int to = __shfl_sync(0xffffffffu, dstAt, c0 + c);
              const int rg = __shfl_sync(0xffffffffu, range, c0 + c);
              if (4 * lane >= (rg & 255) && 4 * lane < (rg >> 8)) {
#if HINT
                storeHint(out + (to + 4 * lane), v[c], policy);
#else
                *(float4 *)(out + (to + 4 * lane)) = v[c];
#endif
              }
            }
          }
#endif
          if (!keep) {
            if (rem > 0)
              dst[whole] = tail.x;
            if (rem > 1)
              dst[whole + 1] = tail.y;
            if (rem > 2)
              dst[whole + 2] = tail.z;
          }
          carry = tail;
          have = keep;
#if VECTOR == 0
          bulkWaitRead<0>();  // each lane its own copy
#endif
          __syncwarp();
          if (lane == 0)
            mbarArrive(&outEmpty[b]);
          __syncwarp();
        } else {
          // values that are not finite in f16: exact sums in f32
          __syncwarp();
          if (lane == 0)
            mbarArrive(&outEmpty[b]);
          __syncwarp();
          if (have) {  // what the tile before left
            if (phase > 0)
              dst[0] = carry.x;
            if (phase > 1)
              dst[1] = carry.y;
            if (phase > 2)
              dst[2] = carry.z;
          }
          have = false;
          const float *image = in + img * (3 * 224 * 224);
#pragma unroll 1
          for (int idx = lane; idx < 32 * TILE_PIX; idx += 32) {
            const int ch = sw * 32 + (idx >> 7);
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
#if VECTOR == 0
      bulkWait<0>();
#endif
    } else {
      int total;  // block rows of this block
      {
        const int im = (end - 1) / TILES_IMG;
        const int t = (end - 1) - im * TILES_IMG;
        total = lastRow(t) + (im == img0 ? -r0 : rows0) + 1;
      }
      if (warp == 10 || warp == 11 || warp == 14) {
        // ---------------- converters: one warp for each input channel, two planes ----------------
        const int chan = warp == 14 ? 2 : warp - 10;
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
      } else if (warp == 12) {
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
