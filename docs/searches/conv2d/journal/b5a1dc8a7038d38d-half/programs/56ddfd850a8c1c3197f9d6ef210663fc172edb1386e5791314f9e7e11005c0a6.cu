#define RING 10 // tune: 8, 10, 12
#define STAGES 4 // tune: 2, 3, 4, 5
#define ORDER 1 // tune: 0, 1, 2
#define QBATCH 1 // tune: 1, 2
#define STORE_CS 0 // tune: 0, 1

#if RING < 8 || RING > 12 || (RING % 2) != 0
#error "RING must be 8, 10 or 12"
#endif
#if (6 % QBATCH) != 0
#error "QBATCH must divide 6"
#endif

#define STORE_WARPS 4
#define CONV_WARPS 3
#define BLOCKS 132
#define TILES 2800
#define TILES_IMG 28
#define IMG_ROWS 58  // block rows of an image, the last one is zero
#define THREADS 512

#define STAGE_BYTES 10752
#define ROW_BYTES 1152  // 9 core matrices
#define ROW_Q 72        // the same in units of 16 bytes
#define PLANE_BYTES ((RING + 1) * ROW_BYTES)
#define PLANE_Q (PLANE_BYTES / 16)
#define RING_BYTES (6 * PLANE_BYTES)
// output tile: channel 4 q + r begins at q * OQ + r * OR (+ 2 in odd tiles)
#define OQ 456
#define OR 113
#define OUT_FLOATS (24 * OQ)
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

static __device__ __forceinline__ void put(float *p, float v) {
#if STORE_CS
  __stcs(p, v);
#else
  *p = v;
#endif
}

static __device__ __forceinline__ void put4(float *p, float4 v) {
#if STORE_CS
  __stcs((float4 *)p, v);
#else
  *(float4 *)p = v;
#endif
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

  // this block's tiles: at most two images; tile t of an image is output rows 2 t and 2 t + 1
  const int begin = ((int)blockIdx.x * TILES) / BLOCKS;
  const int end = (((int)blockIdx.x + 1) * TILES) / BLOCKS;
  const int count = end - begin;
  const int img0 = begin / TILES_IMG;
  const int r0 = 2 * (begin - img0 * TILES_IMG);
  const int rows0 = IMG_ROWS - r0;  // block rows of the first image, if it is left

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
    const int cr = lane >> 2;
    const bool active = warp < 6;  // channels 96 to 127 do not exist
    // rows cr and cr + 8 of this warp's 16 are the channels ch0 and ch0 + 2
    const int ch0 = warp * 16 + 4 * (cr >> 1) + (cr & 1);

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
            hi = *(const volatile u32 *)(wp + (2 * s + h) * CHUNK + 32);
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

    const u64 ringDesc = descNoSwizzle(smemAddr(smem + OFF_RING), PLANE_BYTES, 128);
    float *const outT = (float *)(smem + OFF_OUT) + (ch0 >> 2) * OQ + (ch0 & 3) * OR + 14 * tq;

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
      const int first = 2 * t + base;  // even
      const int last = first + 3;
      int nextFirst = passed;
      if (i + 1 < count) {
        const int g2 = g + 1;
        const int im2 = g2 / TILES_IMG;
        nextFirst = 2 * (g2 - im2 * TILES_IMG) + (im2 == img0 ? -r0 : rows0);
      }

#pragma unroll 1
      for (; ready <= last; ++ready)
        mbarWait(&ringFull[ready % RING], (u32)((ready / RING) & 1));
      __syncwarp();

      // does a value of this tile not fit into f16? then the store warps compute it in f32
      u32 slow = 0u;
      if (warp == 0) {
        u32 bad = 0u;
        if (lane < 4 * CONV_WARPS) {
          const int fr = lane / CONV_WARPS;
          bad = flags[((first + fr) % RING) * CONV_WARPS + (lane - fr * CONV_WARPS)];
        }
        __syncwarp();
        slow = __any_sync(0xffffffffu, bad != 0u) ? 1u : 0u;
      }

      const int slot = first % RING;                          // even: at most RING - 2
      const int slot2 = slot + 2 == RING ? 0 : slot + 2;      // base of by = 2
      const u64 bTile = ringDesc + (u64)(slot * ROW_Q);
      const u64 bTile2 = ringDesc + (u64)(slot2 * ROW_Q);
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
        const u64 from = (by == 2 ? bTile2 : bTile) +
                         (u64)(c * 2 * PLANE_Q + (by == 1 ? ROW_Q : 0) + bx * 8);
        wgmmaF16RS(d, a[s], from, s == 0 ? 0u : 1u);
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
        mbarWait(&outEmpty[i & 1], (u32)(((i >> 1) & 1) ^ 1));
        __syncwarp();
        // column 8 m + 2 tq + e, m = 9 rr + k, is output row rr, x = 14 tq + 7 e + k
        float *o = outT + (i & 1) * OUT_FLOATS + 2 * (t & 1);
#pragma unroll
        for (int rr = 0; rr < 2; ++rr) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
#pragma unroll
            for (int k = 0; k < 7; ++k) {
              const int m = 9 * rr + k;
              float *q = o + rr * 55 + 7 * e + k;
              if (e == 1 && k == 6) {
                if (tq != 3) {  // x = 55 does not exist
                  q[0] = d[4 * m + e] + b0;
                  q[2 * OR] = d[4 * m + 2 + e] + b1;
                }
              } else {
                q[0] = d[4 * m + e] + b0;
                q[2 * OR] = d[4 * m + 2 + e] + b1;
              }
            }
          }
        }
        if (warp == 0 && lane == 0)
          flags[OUT_FLAG + (i & 1)] = slow;
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
    if (warp < 8 + STORE_WARPS) {
      // ---------------- store warps: 24 channels each, 110 floats of a channel at once ----------------
      const int sw = warp - 8;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const int b = i & 1;
        const int g = begin + i;
        const int img = g / TILES_IMG;
        const int t = g - img * TILES_IMG;
        const int n = t == TILES_IMG - 1 ? 55 : 110;  // floats of a channel that exist

        mbarWait(&outFull[b], (u32)((i >> 1) & 1));
        __syncwarp();
        const u32 mine = flags[OUT_FLAG + b];
        const int slow = __any_sync(0xffffffffu, mine != 0u);

        if (!slow) {
          const int odd = 2 * (t & 1);
          const float *tile = (const float *)(smem + OFF_OUT) + b * OUT_FLOATS + sw * (6 * OQ) + odd;
          float *dst = out + ((img * 96 + sw * 24) * 3025 + t * 110);

          // the floats before the first and after the last 16-byte piece: a lane for each channel
          {
            const int r = lane & 3;
            const int head = (8 - r - odd) & 3;
            const int tail = head + ((n - head) & ~3);
            const float *src = tile + (lane >> 2) * OQ + r * OR;
            float *q = dst + lane * 3025;
            const bool mineToo = lane < 24;
            float v0[3], v1[3];
#pragma unroll
            for (int e = 0; e < 3; ++e) {
              v0[e] = 0.0f;
              v1[e] = 0.0f;
              if (mineToo && e < head)
                v0[e] = src[e];
              if (mineToo && tail + e < n)
                v1[e] = src[tail + e];
            }
#pragma unroll
            for (int e = 0; e < 3; ++e) {
              if (mineToo && e < head)
                put(q + e, v0[e]);
              if (mineToo && tail + e < n)
                put(q + tail + e, v1[e]);
            }
          }
          __syncwarp();

          const float *o = tile + 4 * lane;
          float *p = dst + 4 * lane;
#pragma unroll 1
          for (int h = 0; h < 6 / QBATCH; ++h) {
            float4 v[QBATCH][4];
#pragma unroll
            for (int u = 0; u < QBATCH; ++u) {
#pragma unroll
              for (int r = 0; r < 4; ++r) {
                const int head = (8 - r - odd) & 3;
                v[u][r] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                if (head + 4 * lane + 4 <= n)
                  v[u][r] = *(const float4 *)(o + u * OQ + r * OR + head);
              }
            }
            o += QBATCH * OQ;
            if (h == 6 / QBATCH - 1) {
              __syncwarp();
              if (lane == 0)
                mbarArrive(&outEmpty[b]);
              __syncwarp();
            }
#pragma unroll
            for (int u = 0; u < QBATCH; ++u) {
#pragma unroll
              for (int r = 0; r < 4; ++r) {
                const int head = (8 - r - odd) & 3;
                if (head + 4 * lane + 4 <= n)
                  put4(p + ((4 * u + r) * 3025 + head), v[u][r]);
              }
            }
            p += QBATCH * (4 * 3025);
          }
        } else {
          // values that are not finite in f16: exact sums in f32
          __syncwarp();
          if (lane == 0)
            mbarArrive(&outEmpty[b]);
          __syncwarp();
          const float *image = in + img * (3 * 224 * 224);
#pragma unroll 1
          for (int idx = lane; idx < 24 * 128; idx += 32) {
            const int ch = sw * 24 + (idx >> 7);
            const int q = idx & 127;
            if (q < n) {
              const int second = q >= 55 ? 1 : 0;
              const int oy = 2 * t + second;
              const int ox = q - 55 * second;
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
        total = 2 * t + 3 + (im == img0 ? -r0 : rows0) + 1;
      }
      if (warp < 8 + STORE_WARPS + CONV_WARPS) {
        // ---------------- converters: one warp for each input channel, two planes ----------------
        // lane = 8 g + j holds the blocks x = g + 7 j (first half) and x = g + 4 + 7 j (second half)
        const int chan = warp - (8 + STORE_WARPS);
        const int prevA = (lane + 24) & 31;
        const int prevB = lane >= 8 ? lane - 8 : 16 + ((lane + 7) & 7);
        const bool low = lane < 8;
        const bool second = lane < 31;  // lane 31 would be block 56, right of the image
        const bool again = (lane >> 3) == 1;
        const int x0 = (lane >> 3) + 7 * (lane & 7);
        const int at8 = 1024 + ((lane + 7) & 7) * 16;  // group 8 is group 1 one row later
        const unsigned char *stageSrc = smem + OFF_STAGE + chan * (4 * 896) + x0 * 16;
        unsigned char *ringDst = smem + OFF_RING + chan * (2 * PLANE_BYTES);
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
              f1 = *(const float4 *)(p + r * 896 + 64);
            const u32 a0 = packF16(f0.x, f0.y);
            const u32 a1 = packF16(f0.z, f0.w);
            const u32 c0 = packF16(f1.x, f1.y);
            const u32 c1 = packF16(f1.z, f1.w);
            bad |= notFinite(a0) | notFinite(a1) | notFinite(c0) | notFinite(c1);
            const u32 s0 = __shfl_sync(0xffffffffu, a1, prevA);
            const u32 s1 = __shfl_sync(0xffffffffu, c1, prevB);
            left[2 * r] = low ? (lane ? s1 : 0u) : s0;
            left[2 * r + 1] = a0;
            right[2 * r] = low ? s0 : s1;
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
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            unsigned char *dst = ringDst + h * PLANE_BYTES + slot * ROW_BYTES;
            const uint4 xa = make_uint4(left[4 * h], left[4 * h + 1], left[4 * h + 2], left[4 * h + 3]);
            const uint4 xb = make_uint4(right[4 * h], right[4 * h + 1], right[4 * h + 2], right[4 * h + 3]);
            *(uint4 *)(dst + lane * 16) = xa;
            *(uint4 *)(dst + 512 + lane * 16) = xb;
            if (again)
              *(uint4 *)(dst + at8) = xa;
            if (slot == 0) {  // the mirrored row behind the ring
              unsigned char *mir = dst + RING * ROW_BYTES;
              *(uint4 *)(mir + lane * 16) = xa;
              *(uint4 *)(mir + 512 + lane * 16) = xb;
              if (again)
                *(uint4 *)(mir + at8) = xa;
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
