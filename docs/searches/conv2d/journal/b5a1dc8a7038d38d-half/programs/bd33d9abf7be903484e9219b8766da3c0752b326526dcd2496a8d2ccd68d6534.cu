#define GRAN 8 // tune: 8, 32
#define STORE_WARPS 4 // tune: 2, 4
#define PACK_THREADS 128 // tune: 128, 256, 512
#define PACK_ITEMS 2 // tune: 1, 2, 4
#define DEAD_FIRST 1 // tune: 0, 1
#define EARLY_FREE 1 // tune: 0, 1

#define BATCH 100
#define QW 57
#define QN 3249
#define PLANE 3256
#define PLANES 600
#define PACK_TOTAL 1949400
#define W_CHUNKS 5184
#define W_BYTES 82944
// scratch: 600 planes of 3256 pieces of 16 bytes, and slack for the last tile
#define IMG_BYTES 31260672
#define TILE_Q 128
#define TILES_IMG 25
#define TILES 2500
#define GRID 132
#define SPAN 244
#define PIECE 3904
#define DEAD_BYTES 2048
#define LIVE_BYTES 1856
#define PART_BYTES 7808
#define STAGE_BYTES 23424
#define RING 256
#define PITCH 260
#define OUT_BYTES 99840
#define TAIL_BYTES 640
#define OUTC 96
#define OUTW 55
#define OUTHW 3025
// distance of two images in the ring: a multiple of 4, at least OUTHW
#define IMG_STEP 3028
#define THREADS2 (256 + STORE_WARPS * 32 + 32)

// two tiles (at most 124 valid pixels each) and the left-over floats fit the ring
#define DOUBLE_RING (GRAN - 1 + 248 <= RING)

#if OUTC % (STORE_WARPS * 8) != 0
#error "each store warp has a multiple of 8 channels"
#endif

// ---------------------------------------------------------------- launch 1: pack

extern "C" __global__ void __launch_bounds__(PACK_THREADS)
pack(const float *__restrict__ in, const float *__restrict__ wt, unsigned char *__restrict__ img,
     unsigned char *__restrict__ wpk) {
  launchNext();
  const int WB = (W_CHUNKS + PACK_THREADS - 1) / PACK_THREADS;
  if ((int)blockIdx.x < WB) {
    const int i = (int)blockIdx.x * PACK_THREADS + (int)threadIdx.x;
    if (i < W_CHUNKS) {
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
      *(uint4 *)(wpk + (size_t)i * 16) = r;
    }
    return;
  }

  const int g0 = ((int)blockIdx.x - WB) * (PACK_THREADS * PACK_ITEMS) + (int)threadIdx.x;
  float2 v[PACK_ITEMS][4];
  int dst[PACK_ITEMS];
#pragma unroll
  for (int j = 0; j < PACK_ITEMS; ++j) {
    const int g = g0 + j * PACK_THREADS;
    const int p = g / QN;
    const int q = g - p * QN;
    const int by = q / QW;
    const int bx = q - by * QW;
    const int h = p & 1;
    const bool ok = g < PACK_TOTAL;
    const bool rowOk = ok && (h ? (by <= 55) : (by >= 1));
    const bool left = rowOk && bx >= 1;
    const bool right = rowOk && bx <= 55;
    const int src = (p >> 1) * 50176 + (4 * by - 2 + 2 * h) * 224 + 4 * bx - 2;
    dst[j] = ok ? p * PLANE + q : -1;
    v[j][0] = make_float2(0.0f, 0.0f);
    v[j][1] = make_float2(0.0f, 0.0f);
    v[j][2] = make_float2(0.0f, 0.0f);
    v[j][3] = make_float2(0.0f, 0.0f);
    if (left) {
      v[j][0] = __ldcs((const float2 *)(in + src));
      v[j][2] = __ldcs((const float2 *)(in + src + 224));
    }
    if (right) {
      v[j][1] = __ldcs((const float2 *)(in + src + 2));
      v[j][3] = __ldcs((const float2 *)(in + src + 226));
    }
  }
  const u64 policy = policyEvictLast();
#pragma unroll
  for (int j = 0; j < PACK_ITEMS; ++j) {
    if (dst[j] >= 0) {
      float4 r;
      r.x = __uint_as_float(packF16(v[j][0].x, v[j][0].y));
      r.y = __uint_as_float(packF16(v[j][1].x, v[j][1].y));
      r.z = __uint_as_float(packF16(v[j][2].x, v[j][2].y));
      r.w = __uint_as_float(packF16(v[j][3].x, v[j][3].y));
      storeHint(img + (size_t)dst[j] * 16, r, policy);
    }
  }
}

// ---------------------------------------------------------------- launch 2: products

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

// valid pixels before grid position q
static __device__ __forceinline__ int compactIndex(int q) {
  const int y = q / QW;
  const int x = q - y * QW;
  return y >= OUTW ? OUTHW : y * OUTW + (x < OUTW ? x : OUTW);
}

extern "C" __global__ void __launch_bounds__(THREADS2, 1)
conv(const unsigned char *__restrict__ img, const unsigned char *__restrict__ wpk,
     const float *__restrict__ bias, float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  unsigned char *sW = smem;
  unsigned char *sStage = smem + W_BYTES;
  float *sRing = (float *)(smem + W_BYTES + 2 * STAGE_BYTES);
  float *sBias = (float *)(smem + W_BYTES + 2 * STAGE_BYTES + OUT_BYTES);
  u64 *bars = (u64 *)(smem + W_BYTES + 2 * STAGE_BYTES + OUT_BYTES + 384);
  u64 *wBar = bars;
  u64 *outFull = bars + 1;  // 2: tile of warpgroup 0 and 1 is in the ring
  u64 *outEmpty = bars + 3; // 2: permission of warpgroup 0 and 1 to write the ring
  u64 *full = bars + 5;     // 2 stages x 3 parts
  u64 *empty = bars + 11;   // 2 stages x 3 parts

  const int tid = (int)threadIdx.x;
  const int warp = (int)warpIndex();
  const int lane = tid & 31;

  const int tile0 = (int)blockIdx.x * TILES / GRID;
  const int tile1 = ((int)blockIdx.x + 1) * TILES / GRID;
  const int count = tile1 - tile0;

  if (tid < OUTC)
    sBias[tid] = bias[tid];
  if (tid == 0) {
    mbarInit(wBar, 1);
    mbarInit(outFull + 0, 128);
    mbarInit(outFull + 1, 128);
    mbarInit(outEmpty + 0, STORE_WARPS * 32);
    mbarInit(outEmpty + 1, STORE_WARPS * 32);
    for (int s = 0; s < 6; ++s) {
      mbarInit(full + s, 1);
      mbarInit(empty + s, 4);
    }
    mbarInitFence();
  }
  __syncthreads();

  if (warp < 8) {
    // two consumer warpgroups, alternate tiles; stage wg belongs to warpgroup wg
    const int wg = warp >> 2;
    const int t = tid & 127;
    const int c4 = t & 3;
    const u64 bDesc = wgmmaDesc(smemAddr(sW), 1536, 128, 0);
    const u64 aDesc = wgmmaDesc(smemAddr(sStage) + (u32)(wg * STAGE_BYTES), PIECE, 128, 0);
    u64 *const myFull = full + wg * 3;
    u64 *const myEmpty = empty + wg * 3;
    float *const r0 = sRing + (2 * c4) * PITCH;

    mbarWait(wBar, 0);
    for (int i = wg; i < count; i += 2) {
      const int k = i >> 1;
      float d0[48], d1[48];
#pragma unroll
      for (int j = 0; j < 12; ++j) {
        const float2 b = *(const float2 *)(sBias + 8 * j + 2 * c4);
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
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        mbarWait(myFull + c, (u32)(k & 1));
        __syncwarp();
        wgmmaFence();
#pragma unroll
        for (int tap = 0; tap < 9; ++tap) {
          const u64 a = aDesc + (u64)((tap / 3) * QW + tap % 3 + 2 * c * SPAN);
          const u64 b = bDesc + (u64)((tap * 6 + 2 * c) * OUTC);
          wgmma96(d0, a, b);
          wgmma96(d1, a + 64, b);
        }
        wgmmaCommit();
#if EARLY_FREE
        if (c > 0) {
          wgmmaWait<1>();
          if (lane == 0)
            mbarArrive(myEmpty + (c - 1));
          __syncwarp();
        }
#endif
      }
      wgmmaWait<0>();
      hold48(d0);
      hold48(d1);
      if (lane == 0) {
#if !EARLY_FREE
        mbarArrive(myEmpty + 0);
        mbarArrive(myEmpty + 1);
#endif
        mbarArrive(myEmpty + 2);
      }
      __syncwarp();

      // places of the four pixels of this thread in the rings
      const int tile = tile0 + i;
      const int n = tile / TILES_IMG;
      const int q0 = (tile - n * TILES_IMG) * TILE_Q + 16 * (t >> 5) + (lane >> 2);
      int place[4];
      bool ok[4];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int q = q0 + 8 * (r & 1) + 64 * (r >> 1);
        const int y = q / QW;
        const int x = q - y * QW;
        ok[r] = x < OUTW && y < OUTW;
        place[r] = y * OUTW + x + n * IMG_STEP + 2 * (c4 & 1);
      }

#if DOUBLE_RING
      // the tile before the last one (of this warpgroup) has been stored
      mbarWait(outEmpty + wg, (u32)((k & 1) ^ 1));
#else
      // the last tile (of the other warpgroup) has been stored
      mbarWait(outEmpty + wg, (u32)((k & 1) ^ (wg ^ 1)));
#endif
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        if (ok[r]) {
          float *const pe0 = r0 + (place[r] & (RING - 1));
          float *const pe1 = r0 + PITCH + ((place[r] + 1) & (RING - 1));
#pragma unroll
          for (int j = 0; j < 12; ++j) {
            const int at = 4 * j + 2 * (r & 1);
            pe0[8 * j * PITCH] = (r < 2) ? d0[at] : d1[at];
            pe1[8 * j * PITCH] = (r < 2) ? d0[at + 1] : d1[at + 1];
          }
        }
      }
      mbarArrive(outFull + wg);
    }
  } else if (warp < 8 + STORE_WARPS) {
    // store warps
    const int sw = warp - 8;
    for (int i = 0; i < count; ++i) {
      const int tile = tile0 + i;
      const int n = tile / TILES_IMG;
      const int rem = tile - n * TILES_IMG;
      const bool first = i == 0 || rem == 0;
      const bool last = i == count - 1 || rem == TILES_IMG - 1;
      const int ps = compactIndex(rem * TILE_Q);
      const int pe = compactIndex(rem * TILE_Q + TILE_Q);
      const int startAdd = first ? 3 : 0;
      const int startMask = first ? ~3 : ~(GRAN - 1);
      const int endMask = last ? ~3 : ~(GRAN - 1);
      const int shift = n * IMG_STEP;
      float *const base = out + (size_t)n * (OUTC * OUTHW);

      mbarWait(outFull + (i & 1), (u32)((i >> 1) & 1));
      __syncwarp();

#pragma unroll 1
      for (int k = 0; k < OUTC / STORE_WARPS; k += 8) {
        float4 v[8];
        int at[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
          const int ch = sw + STORE_WARPS * (k + u);
          const int g = ch * OUTHW;
          const int m0 = (ps + g + startAdd) & startMask;
          const int m1 = (pe + g) & endMask;
          const int a = m0 + 4 * lane;
          at[u] = a < m1 ? a : -1;
          v[u] = *(const float4 *)(sRing + ch * PITCH + ((a - g + (ch & 3) + shift) & (RING - 1)));
        }
#pragma unroll
        for (int u = 0; u < 8; ++u) {
          if (at[u] >= 0)
            *(float4 *)(base + at[u]) = v[u];
        }
      }

      if (first || last) {
        // unaligned ends of the range of this block in this image
#pragma unroll 1
        for (int k = 0; k < OUTC / STORE_WARPS; k += 8) {
          const int ch = sw + STORE_WARPS * (k + (lane >> 2));
          const int g = ch * OUTHW;
          const float *const ring = sRing + ch * PITCH;
          const int move = (ch & 3) + shift - g;
          if (first) {
            const int a = ps + g + (lane & 3);
            if (a < ((ps + g + 3) & ~3))
              base[a] = ring[(a + move) & (RING - 1)];
          }
          if (last) {
            const int a = ((pe + g) & ~3) + (lane & 3);
            if (a < pe + g)
              base[a] = ring[(a + move) & (RING - 1)];
          }
        }
      }
      if (last) {
        // more than 128 floats: only where left-over floats meet the end of the range
#pragma unroll 1
        for (int k = 0; k < OUTC / STORE_WARPS; ++k) {
          const int ch = sw + STORE_WARPS * k;
          const int g = ch * OUTHW;
          const int m0 = (ps + g + startAdd) & startMask;
          const int m1 = (pe + g) & endMask;
          const int a = m0 + 128 + 4 * lane;
          if (a < m1)
            *(float4 *)(base + a) =
                *(const float4 *)(sRing + ch * PITCH + ((a - g + (ch & 3) + shift) & (RING - 1)));
        }
      }
#if DOUBLE_RING
      mbarArrive(outEmpty + (i & 1));
#else
      mbarArrive(outEmpty + ((i + 1) & 1));
#endif
    }
  } else {
    // producer
    if (electOne()) {
      waitPrevious();
      fenceAsyncGlobal();
      mbarExpectTx(wBar, W_BYTES);
      for (int tap = 0; tap < 9; ++tap)
        bulkLoad(sW + tap * 9216, wpk + tap * 9216, 9216, wBar);
#if DEAD_FIRST
      const u64 dead = policyEvictFirst();
      const u64 live = policyEvictLast();
#endif
      for (int i = 0; i < count; ++i) {
        const int s = i & 1;
        const int tile = tile0 + i;
        const int n = tile / TILES_IMG;
        const int q0 = (tile - n * TILES_IMG) * TILE_Q;
        const unsigned char *src = img + ((size_t)n * 6 * PLANE + (size_t)q0) * 16;
        unsigned char *dst = sStage + s * STAGE_BYTES;
#pragma unroll 1
        for (int c = 0; c < 3; ++c) {
          u64 *const bar = full + s * 3 + c;
          mbarWait(empty + s * 3 + c, (u32)(((i >> 1) & 1) ^ 1));
          mbarExpectTx(bar, PART_BYTES);
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const unsigned char *from = src + (size_t)(2 * c + h) * (PLANE * 16);
            unsigned char *to = dst + (2 * c + h) * PIECE;
#if DEAD_FIRST
            // the next tile begins 128 pieces later: these are read for the last time
            bulkLoadHint(to, from, DEAD_BYTES, bar, dead);
            bulkLoadHint(to + DEAD_BYTES, from + DEAD_BYTES, LIVE_BYTES, bar, live);
#else
            bulkLoad(to, from, PIECE, bar);
#endif
          }
        }
      }
    }
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in2","ws0","ws1"],"block":["PACK_THREADS"],"grid":["ceildiv(W_CHUNKS, PACK_THREADS) + ceildiv(PACK_TOTAL, PACK_THREADS * PACK_ITEMS)"],
// fastk-plan: "launch":"pack"},{"arguments":["ws0","ws1","in1","out0"],"block":["256 + STORE_WARPS * 32 + 32"],
// fastk-plan: "grid":[132],"launch":"conv","overlaps_previous":true,"shared_bytes":"W_BYTES + 2 * STAGE_BYTES + OUT_BYTES + TAIL_BYTES"}],
// fastk-plan: "workspaces":[{"bytes":31260672},{"bytes":82944}]}
