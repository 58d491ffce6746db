#define RING 12 // tune: 8, 10, 12
#define STAGES 4 // tune: 2, 3, 4
#define ORDER 1 // tune: 0, 1, 2
#define SPLIT 1 // tune: 0, 1
#define BATCH 6 // tune: 2, 4, 6
#define STORE_CS 0 // tune: 0, 1

#if RING < 8 || RING > 13
#error "RING must be 8 to 13"
#endif
#if (24 % BATCH) != 0
#error "BATCH must divide 24"
#endif

#define STORE_WARPS 4
#define CONV_WARPS 3
#define BLOCKS 132
#define OUT_ROWS 5500
#define THREADS 512

#define STAGE_BYTES 10752
#define ROW_BYTES 1152
#define ROW_Q 72
#define PLANE_Q (RING * ROW_Q)
#define PLANE_BYTES (RING * ROW_BYTES)
#define RING_BYTES (6 * PLANE_BYTES)
#define OSTRIDE 120
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
#if 54 * CHUNK > 2 * OUT_FLOATS * 4
#error "the weights do not fit into the output buffers"
#endif

// d (64 x 56) += A (64 x 16, registers) B (16 x 56, shared memory)
static __device__ __forceinline__ void mma56(float (&d)[28], const u32 (&a)[4], u64 b, u32 keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %33, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n56k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
      "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27}, "
      "{%28, %29, %30, %31}, %32, p, 1, 1, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

static __device__ __forceinline__ void holdRow(float (&d)[28]) {
#pragma unroll
  for (int i = 0; i < 28; ++i)
    asm volatile("" : "+f"(d[i]) : : "memory");
}

// a thread's columns of one output row: 14 consecutive pixels of two channels
static __device__ __forceinline__ void stageRow(float *o, const float (&d)[28], float b0, float b1) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float b = h ? b1 : b0;
#pragma unroll
    for (int m = 0; m < 7; ++m) {
      const int k0 = 2 * m, k1 = 2 * m + 1;
      *(float2 *)(o + h * 8 * OSTRIDE + 2 * m) =
          make_float2(d[4 * (k0 % 7) + 2 * h + k0 / 7] + b, d[4 * (k1 % 7) + 2 * h + k1 / 7] + b);
    }
  }
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

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_il(const __grid_constant__ CUtensorMap map, const float *__restrict__ in,
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

  // this block's output rows (41 or 42, of at most two images), two a tile
  const int begin = ((int)blockIdx.x * OUT_ROWS) / BLOCKS;
  const int end = (((int)blockIdx.x + 1) * OUT_ROWS) / BLOCKS;
  const int count = (end - begin + 1) / 2;
  const int img0 = begin / 55;
  const int r0 = begin - img0 * 55;
  const int rows0 = 57 - r0;           // block rows of the first image, if it is left
  const int edge = (img0 + 1) * 55;    // first output row of the second image
  // output row g reads the block rows g - begin (+ 2 in the second image) + 0, 1, 2 of this block

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

    // descriptor without swizzle: leading = distance of the two planes, stride = 128 (core matrices)
    const u32 ringLo = ((smemAddr(smem + OFF_RING) >> 4) & 0x3FFFu) | ((u32)PLANE_Q << 16);
    const u64 descHi = (u64)8u << 32;
    float *const outT = (float *)(smem + OFF_OUT) + ch0 * OSTRIDE + 14 * tq;

    float d0[28], d1[28];
#pragma unroll
    for (int i = 0; i < 28; ++i) {
      d0[i] = 0.0f;
      d1[i] = 0.0f;
    }

#if ORDER
    if (w == 1)
      barArrive(1, 256);
#endif

    int passed = 0;  // ring rows given back
    int ready = 0;   // ring rows known to be filled
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int g = begin + 2 * i;
      const int first = g - begin + (g >= edge ? 2 : 0);
      int second = first;  // a tile of one row computes it twice
      if (g + 1 < end)
        second = g + 1 - begin + (g + 1 >= edge ? 2 : 0);
      const int last = second + 2;
      int nextFirst = passed;
      if (i + 1 < count)
        nextFirst = g + 2 - begin + (g + 2 >= edge ? 2 : 0);

#pragma unroll 1
      for (; ready <= last; ++ready)
        mbarWait(&ringFull[ready % RING], (u32)((ready / RING) & 1));
      __syncwarp();

      // does a value of this tile not fit into f16? then the store warps compute it in f32
      u32 slow = 0u;
      if (warp == 0) {
        const int nflags = (last - first + 1) * CONV_WARPS;  // at most 18
        u32 bad = 0u;
        if (lane < nflags) {
          const int fr = lane / CONV_WARPS;
          bad = flags[((first + fr) % RING) * CONV_WARPS + (lane - fr * CONV_WARPS)];
        }
        __syncwarp();
        slow = __any_sync(0xffffffffu, bad != 0u) ? 1u : 0u;
      }

      u32 lo0[3], lo1[3];
      {
        const int s0 = first % RING, s1 = second % RING;
#pragma unroll
        for (int by = 0; by < 3; ++by) {
          int q0 = s0 + by, q1 = s1 + by;
          if (q0 >= RING)
            q0 -= RING;
          if (q1 >= RING)
            q1 -= RING;
          lo0[by] = ringLo + (u32)(q0 * ROW_Q);
          lo1[by] = ringLo + (u32)(q1 * ROW_Q);
        }
      }

      fenceAsyncShared();
      __syncwarp();
#if ORDER
      barSync(1 + w, 256);
#endif
      holdRow(d0);
      holdRow(d1);
      wgmmaFence();
#if SPLIT
#pragma unroll
      for (int s = 0; s < 27; ++s) {
        const int c = s / 9, by = (s / 3) % 3, bx = s % 3;
        mma56(d0, a[s], descHi | (u64)(lo0[by] + (u32)(c * 2 * PLANE_Q + bx * 8)), s == 0 ? 0u : 1u);
      }
      wgmmaCommit();
#pragma unroll
      for (int s = 0; s < 27; ++s) {
        const int c = s / 9, by = (s / 3) % 3, bx = s % 3;
        mma56(d1, a[s], descHi | (u64)(lo1[by] + (u32)(c * 2 * PLANE_Q + bx * 8)), s == 0 ? 0u : 1u);
      }
      wgmmaCommit();
#else
#pragma unroll
      for (int s = 0; s < 27; ++s) {
        const int c = s / 9, by = (s / 3) % 3, bx = s % 3;
        mma56(d0, a[s], descHi | (u64)(lo0[by] + (u32)(c * 2 * PLANE_Q + bx * 8)), s == 0 ? 0u : 1u);
        mma56(d1, a[s], descHi | (u64)(lo1[by] + (u32)(c * 2 * PLANE_Q + bx * 8)), s == 0 ? 0u : 1u);
      }
      wgmmaCommit();
#endif
#if ORDER == 1
      barArrive(2 - w, 256);
#endif
      float *const o = outT + (i & 1) * OUT_FLOATS;
#if SPLIT
      // the first row is written while the second one is still being multiplied
      wgmmaWait<1>();
      holdRow(d0);
      if (active) {
        mbarWait(&outEmpty[i & 1], (u32)(((i >> 1) & 1) ^ 1));
        __syncwarp();
        stageRow(o, d0, b0, b1);
      }
      __syncwarp();
      wgmmaWait<0>();
      holdRow(d1);
#else
      wgmmaWait<0>();
      holdRow(d0);
      holdRow(d1);
#endif
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
#if !SPLIT
        mbarWait(&outEmpty[i & 1], (u32)(((i >> 1) & 1) ^ 1));
        __syncwarp();
        stageRow(o, d0, b0, b1);
#endif
        stageRow(o + 56, d1, b0, b1);
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
      // ---------------- store warps: 24 channels each, 110 pixels of a channel at once ----------------
      const int sw = warp - 8;
      // pixel lane + 32 k in the output tile: rows begin at 0 and 56; pixels from 110 on do not exist
      const int off1 = 32 + lane + (lane >= 23 ? 1 : 0);
      const int off3 = lane < 14 ? 97 + lane : 65 + lane;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const int b = i & 1;
        const int g = begin + 2 * i;
        const int npix = g + 1 < end ? 110 : 55;

        mbarWait(&outFull[b], (u32)((i >> 1) & 1));
        __syncwarp();
        const u32 mine = flags[OUT_FLAG + b];
        const int slow = __any_sync(0xffffffffu, mine != 0u);

        if (!slow) {
          float *p[4];
          bool ok[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int q = lane + 32 * k;
            const int sec = q >= 55 ? 1 : 0;
            const int gr = g + sec;
            const int im = gr / 55;
            const int y = gr - im * 55;
            const int x = q - sec * 55;
            ok[k] = q < npix;
            p[k] = out + ((im * 96 + sw * 24) * 3025 + (y * 55 + x));
          }
          const float *o = (const float *)(smem + OFF_OUT) + b * OUT_FLOATS + (sw * 24) * OSTRIDE;
#pragma unroll 1
          for (int h = 0; h < 24 / BATCH; ++h) {
            float v[BATCH][4];
#pragma unroll
            for (int c = 0; c < BATCH; ++c) {
              v[c][0] = o[c * OSTRIDE + lane];
              v[c][1] = o[c * OSTRIDE + off1];
              v[c][2] = o[c * OSTRIDE + 65 + lane];
              v[c][3] = o[c * OSTRIDE + off3];
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
              for (int k = 0; k < 4; ++k)
                if (ok[k])
                  put(p[k] + c * 3025, v[c][k]);
            }
#pragma unroll
            for (int k = 0; k < 4; ++k)
              p[k] += BATCH * 3025;
          }
        } else {
          // values that are not finite in f16: exact sums in f32
          __syncwarp();
          if (lane == 0)
            mbarArrive(&outEmpty[b]);
          __syncwarp();
#pragma unroll 1
          for (int idx = lane; idx < 24 * 128; idx += 32) {
            const int ch = sw * 24 + (idx >> 7);
            const int q = idx & 127;
            if (q < npix) {
              const int sec = q >= 55 ? 1 : 0;
              const int gr = g + sec;
              const int im = gr / 55;
              const int oy = gr - im * 55;
              const int ox = q - sec * 55;
              const float *image = in + im * (3 * 224 * 224);
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
              out[(im * 96 + ch) * 3025 + oy * 55 + ox] = acc;
            }
          }
        }
        __syncwarp();
      }
    } else {
      // block rows of this block
      const int total = (end - 1) - begin + (end - 1 >= edge ? 2 : 0) + 3;
      if (warp < 8 + STORE_WARPS + CONV_WARPS) {
        // ---------------- converters: one warp for each input channel, two planes ----------------
        // a ring row: entry (g, j), g = 0..8, j = 0..7, at (8 g + j) * 16 is block x = g + 7 j;
        // lane: (lane / 8, lane % 8) and (lane / 8 + 4, lane % 8); g = 8 is g = 1 moved by one j
        const int chan = warp - (8 + STORE_WARPS);
        const int x0 = (lane >> 3) + 7 * (lane & 7);
        const bool second = lane < 31;  // x0 + 4 = 56 is beyond the image
        const bool low = lane < 8;
        const int srcA = (lane + 24) & 31;
        const int srcC = low ? 15 + lane : lane - 8;
        const unsigned char *stageSrc = smem + OFF_STAGE + chan * (4 * 896) + x0 * 16;
        unsigned char *ringDst = smem + OFF_RING + chan * (2 * PLANE_BYTES);
        // block 57, never written later
        if (lane < 2 * RING)
          *(uint4 *)(ringDst + lane * ROW_BYTES + 71 * 16) = make_uint4(0u, 0u, 0u, 0u);
        __syncwarp();
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
            const u32 sA = __shfl_sync(0xffffffffu, a1, srcA);
            const u32 sC = __shfl_sync(0xffffffffu, c1, srcC);
            left[2 * r] = low ? (lane ? sC : 0u) : sA;
            left[2 * r + 1] = a0;
            right[2 * r] = low ? sA : sC;
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
          unsigned char *row = ringDst + slot * ROW_BYTES + lane * 16;
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            unsigned char *dst = row + h * PLANE_BYTES;
            const uint4 v0 = make_uint4(left[4 * h], left[4 * h + 1], left[4 * h + 2], left[4 * h + 3]);
            const uint4 v1 = make_uint4(right[4 * h], right[4 * h + 1], right[4 * h + 2], right[4 * h + 3]);
            *(uint4 *)dst = v0;
            *(uint4 *)(dst + 512) = v1;
            if (lane >= 9 && lane < 16)  // (1, j) is (8, j - 1) too: entry 64 + lane - 9
              *(uint4 *)(dst + 55 * 16) = v0;
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
