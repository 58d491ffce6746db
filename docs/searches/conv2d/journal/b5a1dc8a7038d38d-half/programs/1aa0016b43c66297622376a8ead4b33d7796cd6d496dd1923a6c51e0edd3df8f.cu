#define BATCH 4 // tune: 2, 4, 6
#define ORDER 1 // tune: 0, 1
#define STORE_CS 0 // tune: 0, 1

#if (24 % BATCH) != 0
#error "BATCH must divide 24"
#endif

#define STORE_WARPS 2
#define CONV_WARPS 6
#define BLOCKS 132
#define PAIRS 2800
#define PAIRS_IMG 28
#define THREADS 512

#define UNITS 3
#define UNIT_BYTES 21504
#define CHAN_BYTES 7168
#define ROW_BYTES 896

#define RING 2
#define PITCH 58
#define PLANE_BYTES (PITCH * 16)
#define SLOT_BYTES (24 * PLANE_BYTES)

#define CHUNK 1536
#define U_BYTES (18 * CHUNK)

#define OSTRIDE 116
#define OUT_FLOATS (96 * OSTRIDE)

#define OFF_STAGE 0
#define OFF_RING (UNITS * UNIT_BYTES)
#define OFF_U3 (OFF_RING + RING * SLOT_BYTES)
#define OFF_OUT (OFF_U3 + U_BYTES)
#define OFF_BARS (OFF_OUT + 2 * OUT_FLOATS * 4)
#define OFF_FLAGS (OFF_BARS + 512)
#define OUT_FLAG 16
#define W_FLAG 24
#define USED_BYTES (OFF_FLAGS + 256)

#if USED_BYTES > 232448
#error "too much shared memory"
#endif
#if 3 * U_BYTES > 2 * OUT_FLOATS * 4
#error "the weights do not fit into the output buffers"
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

static __device__ __forceinline__ void hold28(float (&d)[28]) {
#pragma unroll
  for (int i = 0; i < 28; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}

// d (64 x 56) += A (registers, 64 x 16) B (shared memory, 16 x 56)
static __device__ __forceinline__ void mma56RS(float (&d)[28], const u32 (&a)[4], u64 b, u32 keep) {
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

// the same, A by descriptor
static __device__ __forceinline__ void mma56SS(float (&d)[28], u64 a, u64 b, u32 keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %30, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n56k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
      "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27}, "
      "%28, %29, p, 1, 1, 0, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
      : "l"(a), "l"(b), "r"(keep));
}

static __device__ __forceinline__ void put4(float *p, float4 v) {
#if STORE_CS
  __stcs((float4 *)p, v);
#else
  *(float4 *)p = v;
#endif
}

static __device__ __forceinline__ void put1(float *p, float v) {
#if STORE_CS
  __stcs(p, v);
#else
  *p = v;
#endif
}

// four values of a V row as f16; left: the upper two values of the lane before
static __device__ __forceinline__ void convert(float x, float y, float z, float w, u32 &left, u32 &right,
                                               u32 &bad) {
  const u32 lo = packF16(x, y);
  const u32 hi = packF16(z, w);
  bad |= notFinite(lo) | notFinite(hi);
  left = __shfl_up_sync(0xffffffffu, hi, 1);
  right = lo;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_wino(const __grid_constant__ CUtensorMap map, const float *__restrict__ in,
          const float *__restrict__ bias, const float *__restrict__ weight,
          float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *stFull = (u64 *)(smem + OFF_BARS);
  u64 *stEmpty = stFull + UNITS;
  u64 *ringFull = stEmpty + UNITS;
  u64 *ringEmpty = ringFull + RING;
  u64 *outFull = ringEmpty + RING;
  u64 *outEmpty = outFull + 2;
  volatile u32 *flags = (volatile u32 *)(smem + OFF_FLAGS);

  const int warp = (int)warpIndex();
  const int lane = (int)(threadIdx.x & 31u);

  // this block's row pairs: at most two images
  const int begin = ((int)blockIdx.x * PAIRS) / BLOCKS;
  const int end = (((int)blockIdx.x + 1) * PAIRS) / BLOCKS;
  const int count = end - begin;

  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < UNITS; ++i) {
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

    // transformed weights as f16: [k chunk 18][channel 96][8 halfs];
    // U1, U2, U0 go to the output buffers (and from there to registers), U3 stays in shared memory
    {
      u32 bad = 0u;
      const int tid = (int)threadIdx.x;
#pragma unroll 1
      for (int n0 = 0; n0 < 3; ++n0) {
        float v[18][3];
#pragma unroll
        for (int n = 0; n < 18; ++n) {
          const int idx = tid + 256 * (n0 * 18 + n);
          const int r = idx / 12;
          const int kx = idx - 12 * r;
          const int dy = r & 3, cc = r >> 2;
          const float *p = weight + (cc * 121 + dy * 11 + kx);
          v[n][0] = 0.0f;
          v[n][1] = 0.0f;
          v[n][2] = 0.0f;
          if (kx < 11) {
            v[n][0] = __ldg(p);
            v[n][1] = __ldg(p + 44);
            if (dy < 3)
              v[n][2] = __ldg(p + 88);
          }
        }
#pragma unroll
        for (int n = 0; n < 18; ++n) {
          const int idx = tid + 256 * (n0 * 18 + n);
          const int r = idx / 12;
          const int kx = idx - 12 * r;
          const int dy = r & 3, cc = r >> 2;
          const int ch = cc / 3, c = cc - 3 * ch;
          const int bx = kx >> 2, dx = kx & 3;
          const int to = ((c * 3 + bx) * 2 + (dy >> 1)) * CHUNK + ch * 16 + ((dy & 1) * 4 + dx) * 2;
          const float g0 = v[n][0], g1 = v[n][1], g2 = v[n][2];
          const float e = g0 + g2;
          const u32 u01 = packF16(g0, 0.5f * (e + g1));
          const u32 u23 = packF16(0.5f * (e - g1), -g2);
          bad |= notFinite(u01) | notFinite(u23);
          unsigned char *q = smem + OFF_OUT + to;
          *(u16 *)(q) = (u16)(u01 >> 16);                     // U1
          *(u16 *)(q + U_BYTES) = (u16)(u23 & 0xffffu);       // U2
          *(u16 *)(q + 2 * U_BYTES) = (u16)(u01 & 0xffffu);   // U0
          *(u16 *)(smem + OFF_U3 + to) = (u16)(u23 >> 16);    // U3
        }
      }
      const int any = __any_sync(0xffffffffu, (bad & 0x80008000u) != 0u);
      if (lane == 0)
        flags[W_FLAG + warp] = any ? 1u : 0u;
    }
    fenceAsyncShared();  // wgmma reads U3
    __syncwarp();
    barSync(3, 256);

    u32 a[27][4];  // U1: 0 to 8, U2: 9 to 17, U0: 18 to 26
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
    u32 badWeights = 0u;
    if (warp == 0) {
      u32 f = 0u;
      if (lane < 8)
        f = flags[W_FLAG + lane];
      __syncwarp();
      badWeights = __any_sync(0xffffffffu, f != 0u) ? 1u : 0u;
    }
    float b0 = 0.0f, b1 = 0.0f;
    if (active) {
      b0 = __ldg(bias + ch0);
      b1 = __ldg(bias + ch0 + 8);
    }
    __syncwarp();
    barSync(3, 256);  // the output buffers are free now

    const u64 ringDesc = descNoSwizzle(smemAddr(smem + OFF_RING), PLANE_BYTES, 128);
    const u64 u3Desc = descNoSwizzle(smemAddr(smem + OFF_U3) + (u32)w * 1024u, CHUNK, 128);
    float *const outT = (float *)(smem + OFF_OUT) + ch0 * OSTRIDE + 2 * tq;

    float P[28], Q[28];
#pragma unroll
    for (int i = 0; i < 28; ++i) {
      P[i] = 0.0f;
      Q[i] = 0.0f;
    }

#if ORDER
    if (w == 1)
      barArrive(1, 256);
#endif

#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int slot = i & 1;
      const u32 phase = (u32)((i >> 1) & 1);

      mbarWait(&ringFull[slot], phase);
      __syncwarp();

      // must the store warps compute this pair in f32?
      u32 slow = 0u;
      if (warp == 0) {
        u32 f = 0u;
        if (lane < CONV_WARPS)
          f = flags[slot * CONV_WARPS + lane];
        __syncwarp();
        slow = (__any_sync(0xffffffffu, f != 0u) ? 1u : 0u) | badWeights;
      }

      const u64 bT = ringDesc + (u64)(slot * (SLOT_BYTES / 16));

      // P = sum U1 V1, Q = sum U2 V2
#if ORDER
      barSync(1 + w, 256);
#endif
      __syncwarp();
      hold28(P);
      hold28(Q);
      wgmmaFence();
#pragma unroll
      for (int s = 0; s < 9; ++s) {
        const int o = (s / 3) * 2 * PITCH + s % 3;
        mma56RS(P, a[s], bT + (u64)(6 * PITCH + o), s == 0 ? 0u : 1u);
        mma56RS(Q, a[9 + s], bT + (u64)(12 * PITCH + o), s == 0 ? 0u : 1u);
      }
      wgmmaCommit();
#if ORDER
      barArrive(2 - w, 256);
#endif
      wgmmaWait<0>();
      hold28(P);
      hold28(Q);

#pragma unroll
      for (int k = 0; k < 28; ++k) {
        const float x = P[k], y = Q[k];
        P[k] = x + y;
        Q[k] = x - y;
      }

      // P += sum U0 V0, Q += sum U3 V3
#if ORDER
      barSync(1 + w, 256);
#endif
      __syncwarp();
      hold28(P);
      hold28(Q);
      wgmmaFence();
#pragma unroll
      for (int s = 0; s < 9; ++s) {
        const int o = (s / 3) * 2 * PITCH + s % 3;
        mma56RS(P, a[18 + s], bT + (u64)o, 1u);
        mma56SS(Q, u3Desc + (u64)(s * (2 * CHUNK / 16)), bT + (u64)(18 * PITCH + o), 1u);
      }
      wgmmaCommit();
#if ORDER
      barArrive(2 - w, 256);
#endif
      wgmmaWait<0>();
      hold28(P);
      hold28(Q);
      __syncwarp();
      if (lane == 0)
        mbarArrive(&ringEmpty[slot]);
      __syncwarp();

      if (active) {
        const int g = begin + i;
        const int p = g - (g / PAIRS_IMG) * PAIRS_IMG;
        mbarWait(&outEmpty[slot], phase ^ 1u);
        __syncwarp();
        // as misaligned as the row is in global memory
        float *o = outT + slot * OUT_FLOATS + ((ch0 + 2 * p) & 3);
#pragma unroll
        for (int j = 0; j < 7; ++j) {
          o[8 * j] = P[4 * j + 0] + b0;
          o[8 * j + 55] = Q[4 * j + 0] + b0;
          o[8 * OSTRIDE + 8 * j] = P[4 * j + 2] + b1;
          o[8 * OSTRIDE + 8 * j + 55] = Q[4 * j + 2] + b1;
          if (j < 6 || tq != 3) {  // column 55 does not exist
            o[8 * j + 1] = P[4 * j + 1] + b0;
            o[8 * j + 56] = Q[4 * j + 1] + b0;
            o[8 * OSTRIDE + 8 * j + 1] = P[4 * j + 3] + b1;
            o[8 * OSTRIDE + 8 * j + 56] = Q[4 * j + 3] + b1;
          }
        }
        if (warp == 0 && lane == 0)
          flags[OUT_FLAG + slot] = slow;
        __syncwarp();
        if (lane == 0)
          mbarArrive(&outFull[slot]);
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
      // ---------------- store warps: channels of two residues modulo 4 each ----------------
      const int sw = warp - 8;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const int b = i & 1;
        const int g = begin + i;
        const int img = g / PAIRS_IMG;
        const int p = g - img * PAIRS_IMG;
        const int len = p == PAIRS_IMG - 1 ? 55 : 110;

        mbarWait(&outFull[b], (u32)((i >> 1) & 1));
        __syncwarp();
        const u32 mine = flags[OUT_FLAG + b];
        const int slow = __any_sync(0xffffffffu, mine != 0u);

        if (!slow) {
#pragma unroll 1
          for (int res = 0; res < 2; ++res) {
            const int r = sw * 2 + res;  // channels r, r + 4, r + 8, ...
            const int shift = (r + 2 * p) & 3;
            const int head = (4 - shift) & 3;
            const int n4 = (len - head) >> 2;
            const int e = lane - n4;
            const int x = e < head ? e : e + 4 * n4;  // the elements beside the whole float4
            const bool body = e < 0;
            const bool edge = e >= 0 && x < len;
            const int at = body ? head + 4 * lane : x;
            const float *o = (const float *)(smem + OFF_OUT) + b * OUT_FLOATS + r * OSTRIDE + shift + at;
            float *q = out + ((img * 96 + r) * 3025 + p * 110 + at);
#pragma unroll 1
            for (int h = 0; h < 24 / BATCH; ++h) {
              float4 v[BATCH];
#pragma unroll
              for (int c = 0; c < BATCH; ++c) {
                v[c] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                if (body)
                  v[c] = *(const float4 *)(o + c * (4 * OSTRIDE));
                if (edge)
                  v[c].x = o[c * (4 * OSTRIDE)];
              }
              o += BATCH * 4 * OSTRIDE;
              if (res == 1 && h == 24 / BATCH - 1) {
                __syncwarp();
                if (lane == 0)
                  mbarArrive(&outEmpty[b]);
                __syncwarp();
              }
#pragma unroll
              for (int c = 0; c < BATCH; ++c) {
                if (body)
                  put4(q + c * (4 * 3025), v[c]);
                if (edge)
                  put1(q + c * (4 * 3025), v[c].x);
              }
              q += BATCH * 4 * 3025;
            }
          }
        } else {
          // values that are not finite in f16, or spikes: sums in f32
          __syncwarp();
          if (lane == 0)
            mbarArrive(&outEmpty[b]);
          __syncwarp();
          const float *image = in + img * (3 * 224 * 224);
#pragma unroll 1
          for (int cg = 0; cg < 12; ++cg) {
            const int ch = sw * 48 + cg * 4;
            const float *wp = weight + ch * 363;
#pragma unroll 1
            for (int q = lane; q < len; q += 32) {
              const int oy = 2 * p + (q >= 55 ? 1 : 0);
              const int ox = q >= 55 ? q - 55 : q;
              const int iy0 = oy * 4 - 2, ix0 = ox * 4 - 2;
              float s0 = __ldg(bias + ch);
              float s1 = __ldg(bias + ch + 1);
              float s2 = __ldg(bias + ch + 2);
              float s3 = __ldg(bias + ch + 3);
#pragma unroll 1
              for (int c = 0; c < 3; ++c) {
#pragma unroll 1
                for (int ky = 0; ky < 11; ++ky) {
                  const int iy = iy0 + ky;
                  const bool rowOk = iy >= 0 && iy < 224;
                  const int at = (c * 224 + iy) * 224;
                  const float *wr = wp + (c * 11 + ky) * 11;
#pragma unroll 1
                  for (int kx = 0; kx < 11; ++kx) {
                    const int ix = ix0 + kx;
                    float x = 0.0f;
                    if (rowOk && ix >= 0 && ix < 224)
                      x = __ldg(image + (at + ix));
                    s0 = fmaf(x, __ldg(wr + kx), s0);
                    s1 = fmaf(x, __ldg(wr + kx + 363), s1);
                    s2 = fmaf(x, __ldg(wr + kx + 726), s2);
                    s3 = fmaf(x, __ldg(wr + kx + 1089), s3);
                  }
                }
              }
              float *po = out + ((img * 96 + ch) * 3025 + p * 110 + q);
              po[0] = s0;
              po[3025] = s1;
              po[6050] = s2;
              po[9075] = s3;
            }
          }
        }
        __syncwarp();
      }
    } else {
      // ---------------- converters: a warp for each input channel and half of the rows of a block ----------------
      const int cw = warp - (8 + STORE_WARPS);
      const int chan = cw >> 1;
      const int half = cw & 1;
      const int img0 = begin / PAIRS_IMG;
      const int p0 = begin - img0 * PAIRS_IMG;
      const int left0 = PAIRS_IMG - p0;
      const int nFirst = left0 < count ? left0 : count;  // pairs of the first image
      const int units = count + (nFirst < count ? 2 : 1);

      int issued = 0;  // units that were asked for (first converter warp)
      int released = 0;
      int seen = 0;    // units known to be there

      if (cw == 0 && lane == 0) {
        tmaPrefetchMap(&map);
#pragma unroll 1
        for (; issued < units && issued < UNITS; ++issued) {
          const bool firstImage = issued <= nFirst;
          const int u = firstImage ? p0 + issued : issued - nFirst - 1;
          const int img = firstImage ? img0 : img0 + 1;
          mbarExpectTx(&stFull[issued], UNIT_BYTES);
          tmaLoad3D(smem + OFF_STAGE + issued * UNIT_BYTES, &map, &stFull[issued], 0, 8 * u - 2, img * 3);
        }
      }
      __syncwarp();

#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const int k = i + (i >= nFirst ? 1 : 0);
        const bool gap = i == nFirst - 1 && nFirst < count;  // the next pair is of another image
        const int slot = i & 1;
#pragma unroll 1
        for (; seen <= k + 1; ++seen)
          mbarWait(&stFull[seen % UNITS], (u32)((seen / UNITS) & 1));
        mbarWait(&ringEmpty[slot], (u32)(((i >> 1) & 1) ^ 1));
        __syncwarp();

        const int from = OFF_STAGE + chan * CHAN_BYTES + half * (2 * ROW_BYTES);
        const unsigned char *pa = smem + from + (k % UNITS) * UNIT_BYTES;
        const unsigned char *pb = smem + from + ((k + 1) % UNITS) * UNIT_BYTES;
        unsigned char *ringDst = smem + OFF_RING + slot * SLOT_BYTES + (chan * 2 + half) * PLANE_BYTES;

        u32 bad = 0u;
        float most = 0.0f, sum = 0.0f;
#pragma unroll 1
        for (int q = 0; q < 2; ++q) {
          const int f = lane - 1 + 31 * q;  // float4 of the row, and the position that it ends
          const bool valid = f >= 0 && f < 56;
          u32 v[4][4];
#pragma unroll
          for (int dd = 0; dd < 2; ++dd) {
            float4 d0 = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            float4 d1 = d0, d2 = d0, d3 = d0;
            if (valid) {
              d0 = *(const float4 *)(pa + dd * ROW_BYTES + f * 16);
              d1 = *(const float4 *)(pa + (4 + dd) * ROW_BYTES + f * 16);
              d2 = *(const float4 *)(pb + dd * ROW_BYTES + f * 16);
              d3 = *(const float4 *)(pb + (4 + dd) * ROW_BYTES + f * 16);
            }
            most = fmaxf(most, fmaxf(fmaxf(fabsf(d1.x), fabsf(d1.y)), fmaxf(fabsf(d1.z), fabsf(d1.w))));
            most = fmaxf(most, fmaxf(fmaxf(fabsf(d2.x), fabsf(d2.y)), fmaxf(fabsf(d2.z), fabsf(d2.w))));
            sum += (fabsf(d1.x) + fabsf(d1.y)) + (fabsf(d1.z) + fabsf(d1.w));
            sum += (fabsf(d2.x) + fabsf(d2.y)) + (fabsf(d2.z) + fabsf(d2.w));
            convert(d0.x - d2.x, d0.y - d2.y, d0.z - d2.z, d0.w - d2.w, v[0][2 * dd], v[0][2 * dd + 1], bad);
            convert(d1.x + d2.x, d1.y + d2.y, d1.z + d2.z, d1.w + d2.w, v[1][2 * dd], v[1][2 * dd + 1], bad);
            convert(d2.x - d1.x, d2.y - d1.y, d2.z - d1.z, d2.w - d1.w, v[2][2 * dd], v[2][2 * dd + 1], bad);
            convert(d1.x - d3.x, d1.y - d3.y, d1.z - d3.z, d1.w - d3.w, v[3][2 * dd], v[3][2 * dd + 1], bad);
          }
          if (lane >= 1 && f < PITCH) {
#pragma unroll
            for (int j = 0; j < 4; ++j)
              *(uint4 *)(ringDst + j * (6 * PLANE_BYTES) + f * 16) =
                  make_uint4(v[j][0], v[j][1], v[j][2], v[j][3]);
          }
          __syncwarp();
        }

        // spikes beyond 32 times the mean of the 896 values: the transform would lose accuracy
#pragma unroll
        for (int o = 16; o; o >>= 1) {
          sum += __shfl_xor_sync(0xffffffffu, sum, o);
          most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, o));
        }
        const int any = __any_sync(0xffffffffu, (bad & 0x80008000u) != 0u || most * 28.0f > sum);
        if (lane == 0)
          flags[slot * CONV_WARPS + cw] = any ? 1u : 0u;
        __syncwarp();
        fenceAsyncShared();  // V before wgmma reads it, the reads of the stage before TMA writes it
        __syncwarp();
        if (lane == 0) {
          mbarArrive(&ringFull[slot]);
          mbarArrive(&stEmpty[k % UNITS]);
          if (gap)
            mbarArrive(&stEmpty[(k + 1) % UNITS]);
        }
        __syncwarp();

        released = k + (gap ? 2 : 1);
        if (cw == 0 && lane == 0) {
#pragma unroll 1
          for (; issued < units && issued < released + UNITS; ++issued) {
            const bool firstImage = issued <= nFirst;
            const int u = firstImage ? p0 + issued : issued - nFirst - 1;
            const int img = firstImage ? img0 : img0 + 1;
            const int s = issued % UNITS;
            mbarWait(&stEmpty[s], (u32)(((issued / UNITS) & 1) ^ 1));
            mbarExpectTx(&stFull[s], UNIT_BYTES);
            tmaLoad3D(smem + OFF_STAGE + s * UNIT_BYTES, &map, &stFull[s], 0, 8 * u - 2, img * 3);
          }
        }
        __syncwarp();
      }
    }
  }
}
