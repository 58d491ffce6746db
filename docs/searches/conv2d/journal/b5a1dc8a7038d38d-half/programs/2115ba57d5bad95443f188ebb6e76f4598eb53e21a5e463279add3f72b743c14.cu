#define STAGES 4 // tune: 2, 4
#define UNIT_ROWS 2 // tune: 1, 2, 3
#define LAG 16 // tune: 8, 16, 32, 100
#define EVICT_FIRST 1 // tune: 0, 1
#define NAP 32 // tune: 20, 32, 100

#define QW 57
#define PLANE 3256
#define W_CHUNKS 5184
#define W_BYTES 82944
#define TILE_Q 128
#define TILES_IMG 25
#define TILES 2500
#define GRID 132
#define SPAN 244
#define PIECE 3904
#define STAGE_BYTES 23424
#define PITCH 132
#define OUT_BYTES 50688
#define TAIL_BYTES 640
#define OUTC 96
#define OUTW 55
#define OUTHW 3025
#define STORE_WARPS 4
#define PACK_WARPS 7
#define THREADS 640

// pack units: UNIT_ROWS chunk rows (57 chunks each) of one image; 342 rows an image
#define UNITS (342 / UNIT_ROWS)
#define UNITS_TOTAL (UNITS * 100)
#define PACK_STRIDE (PACK_WARPS * GRID)
// weights: 10 chunks a store warp of each block
#define W_PER_WARP 10
#define W_SIGNALS (STORE_WARPS * GRID)
// counters: one each 128 bytes, 100 images, then the weights
#define FLAG_STRIDE 32
#define FLAG_W (100 * FLAG_STRIDE)

#if STAGES % 2 != 0
#error "STAGES has to be even"
#endif
#if 342 % UNIT_ROWS != 0
#error "UNIT_ROWS has to divide 342"
#endif

static __device__ __forceinline__ void wgmma96(float (&d)[48], u64 a, u64 b) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %50, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47}, "
      "%48, %49, p, 1, 1, 0, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
      : "l"(a), "l"(b), "r"(1));
}

static __device__ __forceinline__ void hold48(float (&d)[48]) {
#pragma unroll
  for (int i = 0; i < 48; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}

// what this warp wrote to global memory becomes visible to bulk loads of other blocks
static __device__ __forceinline__ void publish(u32 *counter, int lane) {
  fenceAsyncGlobal();
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  __syncwarp();
  if (lane == 0)
    addRelease(counter, 1);
  __syncwarp();
}

static __device__ __forceinline__ float4 loadIn(const float *p, u64 policy) {
#if EVICT_FIRST
  return loadHint(p, policy);
#else
  return loadStream(p);
#endif
}

// the 2 x 224 input values of UNIT_ROWS chunk rows: float4 number lane and 32 + lane of both rows
static __device__ __forceinline__ void loadUnit(float4 (&v)[UNIT_ROWS][4], const float *in, int u, int lane,
                                                u64 policy) {
  const int n = u / UNITS;
  const int r0 = (u - n * UNITS) * UNIT_ROWS;
#pragma unroll
  for (int j = 0; j < UNIT_ROWS; ++j) {
    const int r = r0 + j;
    const int p = r / QW;
    const int by = r - p * QW;
    const int h = p & 1;
    const bool ok = h ? (by <= 55) : (by >= 1);
    const float *src = in + ((n * 3 + (p >> 1)) * 50176 + (4 * by - 2 + 2 * h) * 224 + 4 * lane);
    v[j][0] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    v[j][1] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    v[j][2] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    v[j][3] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (ok) {
      v[j][0] = loadIn(src, policy);
      v[j][2] = loadIn(src + 224, policy);
    }
    if (ok && lane < 24) {
      v[j][1] = loadIn(src + 128, policy);
      v[j][3] = loadIn(src + 352, policy);
    }
  }
}

static __device__ __forceinline__ void storeUnit(const float4 (&v)[UNIT_ROWS][4], unsigned char *img, int u,
                                                 int lane) {
  const int n = u / UNITS;
  const int r0 = (u - n * UNITS) * UNIT_ROWS;
  const int from = (lane + 31) & 31;
#pragma unroll
  for (int j = 0; j < UNIT_ROWS; ++j) {
    const int r = r0 + j;
    const int p = r / QW;
    const int by = r - p * QW;
    uint4 a, b; // chunks lane and 32 + lane of the row
    {
      const u32 h0 = packF16(v[j][0].z, v[j][0].w);
      const u32 h1 = packF16(v[j][1].z, v[j][1].w);
      const u32 s0 = __shfl_sync(0xffffffffu, h0, from);
      const u32 s1 = __shfl_sync(0xffffffffu, h1, from);
      a.x = lane ? s0 : 0u;
      a.y = packF16(v[j][0].x, v[j][0].y);
      b.x = lane ? s1 : s0;
      b.y = packF16(v[j][1].x, v[j][1].y);
    }
    {
      const u32 h0 = packF16(v[j][2].z, v[j][2].w);
      const u32 h1 = packF16(v[j][3].z, v[j][3].w);
      const u32 s0 = __shfl_sync(0xffffffffu, h0, from);
      const u32 s1 = __shfl_sync(0xffffffffu, h1, from);
      a.z = lane ? s0 : 0u;
      a.w = packF16(v[j][2].x, v[j][2].y);
      b.z = lane ? s1 : s0;
      b.w = packF16(v[j][3].x, v[j][3].y);
    }
    unsigned char *dst = img + ((n * 6 + p) * PLANE + by * QW + lane) * 16;
    *(uint4 *)dst = a;
    if (lane < 25)
      *(uint4 *)(dst + 512) = b;
  }
}

static __device__ __forceinline__ bool allowed(const volatile int *prog, int n, int lane) {
  int v = 0;
  if (lane == 0)
    v = *prog;
  v = __shfl_sync(0xffffffffu, v, 0);
  return n <= v + LAG;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv(const float *__restrict__ in, const float *__restrict__ wt, const float *__restrict__ bias,
     unsigned char *img, unsigned char *wpk, u32 *flags, float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  unsigned char *sW = smem;
  unsigned char *sStage = smem + W_BYTES;
  float *sOut = (float *)(smem + W_BYTES + STAGES * STAGE_BYTES);
  float *sBias = (float *)(smem + W_BYTES + STAGES * STAGE_BYTES + OUT_BYTES);
  u64 *bars = (u64 *)(smem + W_BYTES + STAGES * STAGE_BYTES + OUT_BYTES + 384);
  u64 *wBar = bars;
  u64 *outFull = bars + 1;
  u64 *outEmpty = bars + 2; // 2: permission of warpgroup 0 and 1 to write sOut
  u64 *full = bars + 4;     // STAGES
  u64 *empty = bars + 4 + STAGES;
  // image of the tile that the producer is at
  volatile int *prog = (volatile int *)(smem + W_BYTES + STAGES * STAGE_BYTES + OUT_BYTES + 384 + 128);

  const int tid = (int)threadIdx.x;
  const int warp = (int)warpIndex();
  const int lane = tid & 31;
  const int block = (int)blockIdx.x;

  // tiles block, block + 132, ...
  const int count = (TILES - block + GRID - 1) / GRID;

  if (tid < OUTC)
    sBias[tid] = bias[tid];
  if (tid == 0) {
    *prog = 0;
    mbarInit(wBar, 1);
    mbarInit(outFull, 128);
    mbarInit(outEmpty + 0, STORE_WARPS * 32);
    mbarInit(outEmpty + 1, STORE_WARPS * 32);
    for (int s = 0; s < STAGES; ++s) {
      mbarInit(full + s, 1);
      mbarInit(empty + s, 4);
    }
    mbarInitFence();
  }
  __syncthreads();

  if (warp < 8) {
    // two consumer warpgroups, alternate tiles
    registersUp<136>();
    const int wg = warp >> 2;
    const int t = tid & 127;
    const u64 bDesc = wgmmaDesc(smemAddr(sW), 1536, 128, 0);
    float *const o0 = sOut + (2 * (t & 3)) * PITCH + 16 * (t >> 5) + (lane >> 2);

    mbarWait(wBar, 0);
    for (int i = wg; i < count; i += 2) {
      const int s = i % STAGES;
      float d0[48], d1[48];
#pragma unroll
      for (int j = 0; j < 12; ++j) {
        const float2 b = *(const float2 *)(sBias + 8 * j + 2 * (t & 3));
        d0[4 * j + 0] = b.x;
        d0[4 * j + 1] = b.y;
        d0[4 * j + 2] = b.x;
        d0[4 * j + 3] = b.y;
        d1[4 * j + 0] = b.x;
        d1[4 * j + 1] = b.y;
        d1[4 * j + 2] = b.x;
        d1[4 * j + 3] = b.y;
      }
      hold48(d0);
      hold48(d1);
      mbarWait(full + s, (u32)((i / STAGES) & 1));
      const u64 aDesc = wgmmaDesc(smemAddr(sStage) + (u32)(s * STAGE_BYTES), PIECE, 128, 0);
      wgmmaFence();
#pragma unroll
      for (int tap = 0; tap < 9; ++tap) {
#pragma unroll
        for (int c = 0; c < 3; ++c) {
          const u64 a = aDesc + (u64)((tap / 3) * QW + tap % 3 + 2 * c * SPAN);
          const u64 b = bDesc + (u64)((tap * 6 + 2 * c) * OUTC);
          wgmma96(d0, a, b);
          wgmma96(d1, a + 64, b);
        }
      }
      wgmmaCommit();
      wgmmaWait<0>();
      hold48(d0);
      hold48(d1);
      if (lane == 0)
        mbarArrive(empty + s);

      // sOut is free for this warpgroup once the tile before (of the other one) has been stored
      const int k = i >> 1;
      mbarWait(outEmpty + wg, (u32)((k & 1) ^ (wg ^ 1)));
#pragma unroll
      for (int j = 0; j < 12; ++j) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            o0[(8 * j + e) * PITCH + 8 * h] = d0[4 * j + 2 * h + e];
            o0[(8 * j + e) * PITCH + 8 * h + 64] = d1[4 * j + 2 * h + e];
          }
        }
      }
      mbarArrive(outFull);
    }
  } else if (warp < 8 + STORE_WARPS) {
    // store warps; first this block's share of the weights
    registersDown<64>();
    const int sw = warp - 8;
    {
      const int i = (block * STORE_WARPS + sw) * W_PER_WARP + lane;
      if (lane < W_PER_WARP && i < W_CHUNKS) {
        const int o = i % 96;
        const int tc = i / 96;
        const int chunk = tc % 6;
        const int tap = tc / 6;
        const int c = chunk >> 1;
        const int dy0 = (tap / 3) * 4 + (chunk & 1) * 2;
        const int dx0 = (tap % 3) * 4;
        float v[8];
#pragma unroll
        for (int e = 0; e < 8; ++e) {
          const int dy = dy0 + e / 4, dx = dx0 + e % 4;
          v[e] = 0.0f;
          if (dy < 11 && dx < 11)
            v[e] = wt[((o * 3 + c) * 11 + dy) * 11 + dx];
        }
        uint4 r;
        r.x = packF16(v[0], v[1]);
        r.y = packF16(v[2], v[3]);
        r.z = packF16(v[4], v[5]);
        r.w = packF16(v[6], v[7]);
        *(uint4 *)(wpk + i * 16) = r;
      }
      __syncwarp();
      publish(flags + FLAG_W, lane);
    }

    for (int i = 0; i < count; ++i) {
      const int tile = i * GRID + block;
      const int n = tile / TILES_IMG;
      const int q0 = (tile - n * TILES_IMG) * TILE_Q;
      int off[4];
      bool ok[4];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int q = q0 + lane + 32 * r;
        const int y = q / QW;
        const int x = q - y * QW;
        ok[r] = x < OUTW && y < OUTW;
        off[r] = y * OUTW + x;
      }
      float *const base = out + (size_t)n * (OUTC * OUTHW);
      mbarWait(outFull, (u32)(i & 1));
#pragma unroll 1
      for (int k = 0; k < OUTC / STORE_WARPS; k += 4) {
        float v[4][4];
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          const int ch = sw + STORE_WARPS * (k + u);
#pragma unroll
          for (int r = 0; r < 4; ++r)
            v[u][r] = sOut[ch * PITCH + lane + 32 * r];
        }
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          const int ch = sw + STORE_WARPS * (k + u);
          float *const row = base + ch * OUTHW;
#pragma unroll
          for (int r = 0; r < 4; ++r)
            if (ok[r])
              __stcs(row + off[r], v[u][r]);
        }
      }
      mbarArrive(outEmpty + ((i + 1) & 1));
    }
  } else {
    registersDown<72>();
    if (warp == 8 + STORE_WARPS) {
      // producer
      if (electOne()) {
        while (loadAcquire(flags + FLAG_W) < (u32)W_SIGNALS)
          __nanosleep(NAP);
        fenceAsyncGlobal();
        mbarExpectTx(wBar, W_BYTES);
        for (int tap = 0; tap < 9; ++tap)
          bulkLoad(sW + tap * 9216, wpk + tap * 9216, 9216, wBar);
        int last = -1;
        for (int i = 0; i < count; ++i) {
          const int s = i % STAGES;
          const int tile = i * GRID + block;
          const int n = tile / TILES_IMG;
          const int q0 = (tile - n * TILES_IMG) * TILE_Q;
          mbarWait(empty + s, (u32)(((i / STAGES) & 1) ^ 1));
          if (n != last) {
            *prog = n;
            while (loadAcquire(flags + n * FLAG_STRIDE) < (u32)UNITS)
              __nanosleep(NAP);
            fenceAsyncGlobal();
            last = n;
          }
          mbarExpectTx(full + s, STAGE_BYTES);
          const unsigned char *src = img + ((size_t)n * 6 * PLANE + (size_t)q0) * 16;
          unsigned char *dst = sStage + s * STAGE_BYTES;
#pragma unroll
          for (int c = 0; c < 6; ++c)
            bulkLoad(dst + c * PIECE, src + (size_t)c * (PLANE * 16), PIECE, full + s);
        }
        *prog = 1 << 20;
      }
    } else {
      // pack warps: units in global order over all blocks
      const int pw = warp - (8 + STORE_WARPS + 1);
      const u64 policy = policyEvictFirst();
      int u = pw * GRID + block;
      float4 v[UNIT_ROWS][4];
      loadUnit(v, in, u, lane, policy);
#pragma unroll 1
      while (true) {
        storeUnit(v, img, u, lane);
        const int next = u + PACK_STRIDE;
        const bool more = next < UNITS_TOTAL;
        bool early = false;
        if (more)
          early = allowed(prog, next / UNITS, lane);
        // the next unit's loads are under way while this one is published
        if (early)
          loadUnit(v, in, next, lane, policy);
        publish(flags + (u / UNITS) * FLAG_STRIDE, lane);
        if (!more)
          break;
        if (!early) {
          while (!allowed(prog, next / UNITS, lane))
            __nanosleep(100);
          loadUnit(v, in, next, lane, policy);
        }
        u = next;
      }
    }
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in2","in1","ws0","ws1","ws2","out0"],"block":[640],
// fastk-plan: "cooperative":true,"grid":[132],"launch":"conv","shared_bytes":"W_BYTES + STAGES * STAGE_BYTES + OUT_BYTES + TAIL_BYTES"}],
// fastk-plan: "workspaces":[{"bytes":31260672},{"bytes":82944},{"bytes":12928,"zero":true}]}
