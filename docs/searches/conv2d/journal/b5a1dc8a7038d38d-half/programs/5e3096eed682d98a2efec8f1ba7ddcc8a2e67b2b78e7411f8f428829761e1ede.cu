// Launch 1: space-to-depth (4x4 blocks) of the padded image to f16 chunk planes, and the weights to f16.
// Launch 2: bulk-copied stages, two warpgroups that take turns (one multiplies a tile of 128 q, the other stores).
#define STAGES 4 // tune: 2, 3, 4
#define PACK_THREADS 256 // tune: 128, 256, 512
#define PACK_UNROLL 4 // tune: 2, 4, 8
#define OUT_HINT 1 // tune: 0, 1, 2
#define ORDERED 1 // tune: 0, 1

#define IMG_CHUNKS 1949400            // 100 * 3 * 114 row pairs * 57
#define W_CHUNKS 5184                 // 9 taps * 6 chunks * 96 channels
#define WBLOCKS ((W_CHUNKS + PACK_THREADS - 1) / PACK_THREADS)
#define PLANE 3249                    // 57 * 57
#define POS 244                       // 128 + 2 * 57 + 2 positions of a stage
#define PIECE_BYTES 3904              // POS * 16
#define STAGE_BYTES 23424             // 6 * PIECE_BYTES
#define W_BYTES 82944                 // W_CHUNKS * 16
#define PITCH 132                     // floats a channel in the staging buffer
#define STG_FLOATS 6336               // 48 * PITCH
#define TILES 2500
#define CONV_GRID 132

extern "C" __global__ void __launch_bounds__(PACK_THREADS)
pack(const float *__restrict__ in, const float *__restrict__ w, float4 *__restrict__ img, float4 *__restrict__ wp) {
  const int tid = threadIdx.x;
  if (blockIdx.x < WBLOCKS) {
    launchNext();
    const int i = blockIdx.x * PACK_THREADS + tid;
    if (i < W_CHUNKS) {
      const int tc = i / 96, ch = i - tc * 96;
      const int tap = tc / 6, chunk = tc - tap * 6;
      const int ty = tap / 3, tx = tap - ty * 3, c = chunk >> 1;
      float v[8];
#pragma unroll
      for (int e = 0; e < 8; e++) {
        const int ky = 4 * ty + 2 * (chunk & 1) + (e >> 2), kx = 4 * tx + (e & 3);
        v[e] = 0.0f;
        if (ky < 11 && kx < 11)
          v[e] = w[((ch * 3 + c) * 11 + ky) * 11 + kx];
      }
      uint4 r;
      r.x = packF16(v[0], v[1]);
      r.y = packF16(v[2], v[3]);
      r.z = packF16(v[4], v[5]);
      r.w = packF16(v[6], v[7]);
      ((uint4 *)wp)[i] = r;
    }
    return;
  }

  const int lane = tid & 31;
  const int base = ((int)blockIdx.x - WBLOCKS) * (PACK_THREADS * PACK_UNROLL) + tid;
  const u64 first = policyEvictFirst();
  const u64 last = policyEvictLast();
  float4 a[PACK_UNROLL], b[PACK_UNROLL];
  float2 ea[PACK_UNROLL], eb[PACK_UNROLL];
#pragma unroll
  for (int u = 0; u < PACK_UNROLL; u++) {
    const int i = base + u * PACK_THREADS;
    const int nc = i / 6498, r = i - nc * 6498;
    const int rp = r / 57, bx = r - rp * 57;
    const bool rows = i < IMG_CHUNKS && rp >= 1 && rp <= 112;
    const float *src = in + (nc * 50176 + (2 * rp - 2) * 224 + 4 * bx);
    a[u] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    b[u] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    ea[u] = make_float2(0.0f, 0.0f);
    eb[u] = make_float2(0.0f, 0.0f);
    if (rows && bx < 56) {
      a[u] = loadHint(src, first);
      b[u] = loadHint(src + 224, first);
    }
    if (rows && lane == 0 && bx > 0) {
      ea[u] = __ldg((const float2 *)(src - 2));
      eb[u] = __ldg((const float2 *)(src + 222));
    }
  }
  launchNext();
#pragma unroll
  for (int u = 0; u < PACK_UNROLL; u++) {
    const int i = base + u * PACK_THREADS;
    const int nc = i / 6498, r = i - nc * 6498;
    const int rp = r / 57, bx = r - rp * 57;
    const u32 h0 = packF16(a[u].x, a[u].y), z0 = packF16(a[u].z, a[u].w);
    const u32 h1 = packF16(b[u].x, b[u].y), z1 = packF16(b[u].z, b[u].w);
    u32 l0 = __shfl_up_sync(0xffffffffu, z0, 1);
    u32 l1 = __shfl_up_sync(0xffffffffu, z1, 1);
    if (lane == 0) {
      l0 = packF16(ea[u].x, ea[u].y);
      l1 = packF16(eb[u].x, eb[u].y);
    }
    if (bx == 0) {
      l0 = 0u;
      l1 = 0u;
    }
    if (i < IMG_CHUNKS)
      storeHint(img + ((nc * 2 + (rp & 1)) * PLANE + (rp >> 1) * 57 + bx),
                make_float4(__uint_as_float(l0), __uint_as_float(h0), __uint_as_float(l1), __uint_as_float(h1)),
                last);
  }
}

static __device__ __forceinline__ void mma96(float (&d)[48], u64 a, u64 b, u32 keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %50, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
      "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "
      "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
      "}, %48, %49, p, 1, 1, 0, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
        "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
        "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
        "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
        "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
      : "l"(a), "l"(b), "r"(keep)
      : "memory");
}

static __device__ __forceinline__ void hold48(float (&d)[48]) {
#pragma unroll
  for (int i = 0; i < 48; i++)
    asm volatile("" : "+f"(d[i])::"memory");
}

static __device__ __forceinline__ void putOut(float *p, float4 v) {
#if OUT_HINT == 0
  *(float4 *)p = v;
#elif OUT_HINT == 1
  storeStream(p, v);
#else
  storeHint(p, v, policyEvictFirst());
#endif
}

// Two accumulator halves of one half of the channels (j0 .. j0 + 5) to the staging buffer, with the bias.
template <int J0>
static __device__ __forceinline__ void stageHalf(const float (&d)[48], float *s0, float *s1, const float *bs,
                                                 int pl0, int pl1) {
#pragma unroll
  for (int j = 0; j < 6; j++) {
    const float2 bb = *(const float2 *)(bs + 8 * (J0 + j));
    if (pl0 >= 0) {
      s0[pl0 + j * 8 * PITCH] = d[4 * (J0 + j) + 0] + bb.x;
      s1[pl0 + j * 8 * PITCH] = d[4 * (J0 + j) + 1] + bb.y;
    }
    if (pl1 >= 0) {
      s0[pl1 + j * 8 * PITCH] = d[4 * (J0 + j) + 2] + bb.x;
      s1[pl1 + j * 8 * PITCH] = d[4 * (J0 + j) + 3] + bb.y;
    }
  }
}

// 48 channels of the staging buffer to global memory: channels wl, wl + 4, ...; at most one float4 a lane each.
static __device__ __forceinline__ void drainHalf(const float *sp, float *gp, int idx, int lo, int hi) {
  const bool full = idx >= lo && idx + 4 <= hi;
#pragma unroll
  for (int r = 0; r < 12; r++) {
    const float4 v = *(const float4 *)(sp + r * 4 * PITCH);
    float *g = gp + r * 4 * 3025;
    if (full) {
      putOut(g, v);
    } else {
      if (idx >= lo && idx < hi)
        g[0] = v.x;
      if (idx + 1 >= lo && idx + 1 < hi)
        g[1] = v.y;
      if (idx + 2 >= lo && idx + 2 < hi)
        g[2] = v.z;
      if (idx + 3 >= lo && idx + 3 < hi)
        g[3] = v.w;
    }
  }
}

extern "C" __global__ void __launch_bounds__(288, 1)
conv(const unsigned char *__restrict__ img, const unsigned char *__restrict__ wp, const float *__restrict__ bias,
     float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  unsigned char *stages = smem + W_BYTES;
  float *staging = (float *)(smem + W_BYTES + STAGES * STAGE_BYTES);
  float *bs = staging + 2 * STG_FLOATS;
  u64 *bars = (u64 *)(bs + 96);
  u64 *full = bars, *empty = bars + STAGES, *turn = bars + 2 * STAGES, *wbar = bars + 2 * STAGES + 2;

  const int tid = threadIdx.x;
  const int warp = (int)warpIndex();
  const int lane = tid & 31;

  if (tid == 0) {
    for (int i = 0; i < STAGES; i++) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], 4);
    }
    mbarInit(&turn[0], 4);
    mbarInit(&turn[1], 4);
    mbarInit(wbar, 1);
    mbarInitFence();
  }
  if (tid < 96)
    bs[tid] = bias[tid];
  __syncthreads();
  waitPrevious();

  const int begin = (int)blockIdx.x * TILES / CONV_GRID;
  const int end = ((int)blockIdx.x + 1) * TILES / CONV_GRID;
  const int count = end - begin;

  if (warp == 8) {
    if (lane == 0) {
      fenceAsyncGlobal();
      int s = 0;
      u32 phase = 0;
      for (int i = 0; i < count; i++) {
        const int tile = begin + i;
        const int n = tile / 25, q0 = (tile - n * 25) * 128;
        mbarWait(&empty[s], phase ^ 1u);
        mbarExpectTx(&full[s], STAGE_BYTES);
        const unsigned char *src = img + (size_t)(n * 6 * PLANE + q0) * 16;
        unsigned char *dst = stages + s * STAGE_BYTES;
#pragma unroll
        for (int c = 0; c < 6; c++)
          bulkLoad(dst + c * PIECE_BYTES, src + c * (PLANE * 16), PIECE_BYTES, &full[s]);
        if (i == 0) {
          mbarExpectTx(wbar, W_BYTES);
          for (int t = 0; t < 9; t++)
            bulkLoad(smem + t * 9216, wp + t * 9216, 9216, wbar);
        }
        if (++s == STAGES) {
          s = 0;
          phase ^= 1u;
        }
      }
    }
    return;
  }

  const int wg = warp >> 2, wl = warp & 3;
  const int g = lane >> 2, t4 = lane & 3;
  float *stg = staging + wg * STG_FLOATS;
  const u64 bDesc = wgmmaDesc(smemAddr(smem), 1536, 128, 0);

  float acc0[48], acc1[48];
#pragma unroll
  for (int i = 0; i < 48; i++) {
    acc0[i] = 0.0f;
    acc1[i] = 0.0f;
  }

  int s = wg;
  u32 phase = 0, round = 0;
  mbarWait(wbar, 0);

  for (int i = wg; i < count; i += 2) {
    const int tile = begin + i;
    const int n = tile / 25, q0 = (tile - n * 25) * 128;

    mbarWait(&full[s], phase);
#if ORDERED
    mbarWait(&turn[wg], wg == 0 ? (round ^ 1u) : round);
#endif
    __syncwarp();

    const u64 aDesc = wgmmaDesc(smemAddr(stages + s * STAGE_BYTES), PIECE_BYTES, 128, 0);
    wgmmaFence();
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
#pragma unroll
      for (int c = 0; c < 3; c++) {
        const u64 a = aDesc + (u64)((tap / 3) * 57 + tap % 3 + 2 * c * POS);
        const u64 b = bDesc + (u64)((tap * 6 + 2 * c) * 96);
        const u32 keep = (tap + c) != 0 ? 1u : 0u;
        mma96(acc0, a, b, keep);
        mma96(acc1, a + 64, b, keep);
      }
    }
    wgmmaCommit();
#if ORDERED
    if (lane == 0)
      mbarArrive(&turn[wg ^ 1]);
    __syncwarp();
#endif
    wgmmaWait<0>();
    hold48(acc0);
    hold48(acc1);
    if (lane == 0)
      mbarArrive(&empty[s]);
    __syncwarp();

    // where this thread's rows go: position in the compact run of the tile, or -1
    const int by0 = q0 / 57, bx0 = q0 - by0 * 57;
    const int p0 = by0 * 55 + (bx0 < 55 ? bx0 : 55);
    const int qe = q0 + 128 < 3135 ? q0 + 128 : 3135;
    const int by1 = qe / 57, bx1 = qe - by1 * 57;
    const int len = by1 * 55 + (bx1 < 55 ? bx1 : 55) - p0;
    int pl[4];
#pragma unroll
    for (int m = 0; m < 4; m++) {
      const int q = q0 + 64 * (m >> 1) + 8 * (m & 1) + 16 * wl + g;
      const int by = q / 57, bx = q - by * 57;
      pl[m] = (bx < 55 && by < 55) ? by * 55 + bx - p0 : -1;
    }
    float *s0 = stg + (2 * t4) * PITCH + ((2 * t4 + p0) & 3);
    float *s1 = stg + (2 * t4 + 1) * PITCH + ((2 * t4 + 1 + p0) & 3);
    const float *bt = bs + 2 * t4;

    const int off = (wl + p0) & 3, idx = 4 * lane;
    const float *sp = stg + wl * PITCH + idx;
    float *gp = out + ((n * 96 + wl) * 3025 + p0 - off + idx);

    barSync(1 + wg, 128);
    stageHalf<0>(acc0, s0, s1, bt, pl[0], pl[1]);
    stageHalf<0>(acc1, s0, s1, bt, pl[2], pl[3]);
    barSync(1 + wg, 128);
    drainHalf(sp, gp, idx, off, off + len);
    barSync(1 + wg, 128);
    stageHalf<6>(acc0, s0, s1, bt, pl[0], pl[1]);
    stageHalf<6>(acc1, s0, s1, bt, pl[2], pl[3]);
    barSync(1 + wg, 128);
    drainHalf(sp, gp + 48 * 3025, idx, off, off + len);

    s += 2;
    if (s >= STAGES) {
      s -= STAGES;
      phase ^= 1u;
    }
    round ^= 1u;
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in2","ws0","ws1"],"block":["PACK_THREADS"],"grid":["ceildiv(5184, PACK_THREADS) + ceildiv(1949400, PACK_THREADS * PACK_UNROLL)"],
// fastk-plan: "launch":"pack"},{"arguments":["ws0","ws1","in1","out0"],"block":[288],"grid":[132],"launch":"conv",
// fastk-plan: "overlaps_previous":true,"shared_bytes":"82944 + STAGES * 23424 + 50688 + 512"}],"workspaces":[{"bytes":31194496},
// fastk-plan: {"bytes":82944}]}
