#define STAGES 3 // tune: 2, 3
#define AHEAD 24 // tune: 16, 24, 40, 128
#define POLL_NS 40 // tune: 20, 40, 100
#define READ_FIRST 1 // tune: 0, 1

#define BATCH 100
#define QW 57
#define PLANE 3256
#define W_BYTES 82944
// scratch: 600 planes of 3256 pieces of 16 bytes, and slack for the last tile
#define IMG_BYTES 31260672
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
#define PACK_WARPS 3
#define THREADS_ALL 512
// a unit of packing: 4 rows of one channel of one image, 57 x 2 pieces of 16 bytes
#define UNIT_BYTES 3584
#define PACKED_BYTES 1824
#define RUN_BYTES 912
#define UNITS_IMG 171
#define UNITS 17100
#define UNIT_STEP 396
#define IN_SLOTS (8 - 2 * STAGES)
#define PACK_REGION (IN_SLOTS * UNIT_BYTES + PACKED_BYTES)

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

// one lane: start the load of unit u (rows 4 by - 2 to 4 by + 1 of one channel) into a slot
static __device__ __forceinline__ void issueUnit(int u, const float *in, unsigned char *slot, u64 *bar,
                                                 volatile int *prog) {
  const int n = u / UNITS_IMG;
  const int r = u - n * UNITS_IMG;
  const int by = r / 3;
  const int c = r - by * 3;
  while (n > *prog + AHEAD)
    __nanosleep(200);
  int row = 4 * by - 2;
  u32 bytes = UNIT_BYTES;
  if (by == 0) {
    row = 0;
    slot += UNIT_BYTES / 2;
    bytes = UNIT_BYTES / 2;
  }
  if (by == 56)
    bytes = UNIT_BYTES / 2;
  const float *src = in + ((n * 3 + c) * 50176 + row * 224);
  mbarExpectTx(bar, bytes);
#if READ_FIRST
  bulkLoadHint(slot, src, bytes, bar, policyEvictFirst());
#else
  bulkLoad(slot, src, bytes, bar);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS_ALL, 1)
conv(const float *__restrict__ in, const float *__restrict__ bias, const float *__restrict__ wt,
     unsigned char *img, u32 *ready, float *__restrict__ out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  unsigned char *sW = smem;
  unsigned char *sStage = smem + W_BYTES;
  float *sOut = (float *)(smem + W_BYTES + STAGES * STAGE_BYTES);
  float *sBias = (float *)(smem + W_BYTES + STAGES * STAGE_BYTES + OUT_BYTES);
  u64 *bars = (u64 *)(smem + W_BYTES + STAGES * STAGE_BYTES + OUT_BYTES + 384);
  unsigned char *sPack = smem + W_BYTES + STAGES * STAGE_BYTES + OUT_BYTES + TAIL_BYTES;
  volatile int *prog = (volatile int *)bars; // image of the tile that the producer is at
  u64 *outFull = bars + 1;
  u64 *outEmpty = bars + 2;                // 2: permission of warpgroup 0 and 1 to write sOut
  u64 *full = bars + 4;                    // STAGES
  u64 *empty = bars + 4 + STAGES;          // STAGES
  u64 *packBars = bars + 4 + 2 * STAGES;   // PACK_WARPS * IN_SLOTS

  const int tid = (int)threadIdx.x;
  const int warp = (int)warpIndex();
  const int lane = tid & 31;
  const int block = (int)blockIdx.x;

  const int count = (TILES - block + GRID - 1) / GRID;

  if (tid < OUTC)
    sBias[tid] = bias[tid];
  if (tid == 0) {
    *prog = 0;
    mbarInit(outFull, 128);
    mbarInit(outEmpty + 0, STORE_WARPS * 32);
    mbarInit(outEmpty + 1, STORE_WARPS * 32);
    for (int s = 0; s < STAGES; ++s) {
      mbarInit(full + s, 1);
      mbarInit(empty + s, 4);
    }
    for (int s = 0; s < PACK_WARPS * IN_SLOTS; ++s)
      mbarInit(packBars + s, 1);
    mbarInitFence();
  }
  __syncthreads();

  if (warp < 8 + STORE_WARPS) {
    // weights to f16 in shared memory; warp w does the output channels 8 w to 8 w + 7
    const int o = warp * 8 + ((lane >> 1) & 7);
    const int dyl = (lane & 1) | ((lane >> 4) << 1);
    const float *wrow = wt + o * 363 + dyl * 11;
    unsigned char *wdst = sW + (dyl >> 1) * 1536 + o * 16 + (dyl & 1) * 8;
#pragma unroll 1
    for (int c = 0; c < 3; ++c) {
      float v[3][12];
#pragma unroll
      for (int q = 0; q < 3; ++q) {
        const bool real = q < 2 || dyl < 3;
#pragma unroll
        for (int dx = 0; dx < 12; ++dx) {
          v[q][dx] = 0.0f;
          if (dx < 11 && real)
            v[q][dx] = __ldg(wrow + c * 121 + q * 44 + dx);
        }
      }
#pragma unroll
      for (int q = 0; q < 3; ++q) {
#pragma unroll
        for (int t = 0; t < 3; ++t) {
          uint2 r;
          r.x = packF16(v[q][4 * t + 0], v[q][4 * t + 1]);
          r.y = packF16(v[q][4 * t + 2], v[q][4 * t + 3]);
          *(uint2 *)(wdst + ((q * 3 + t) * 6 + 2 * c) * 1536) = r;
        }
      }
    }
    fenceAsyncShared();
  }

  if (warp < 8) {
    // two consumer warpgroups, alternate tiles
    const int wg = warp >> 2;
    const int t = tid & 127;
    const u64 bDesc = wgmmaDesc(smemAddr(sW), 1536, 128, 0);
    float *const o0 = sOut + (2 * (t & 3)) * PITCH + 16 * (t >> 5) + (lane >> 2);

    barSync(1, 384);
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
    // store warps
    barArrive(1, 384);
    const int sw = warp - 8;
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
  } else if (warp == 8 + STORE_WARPS) {
    // producer of the tiles
    if (electOne()) {
      for (int i = 0; i < count; ++i) {
        const int s = i % STAGES;
        const int tile = i * GRID + block;
        const int n = tile / TILES_IMG;
        const int q0 = (tile - n * TILES_IMG) * TILE_Q;
        *prog = n;
        mbarWait(empty + s, (u32)(((i / STAGES) & 1) ^ 1));
        while (loadAcquire(ready + n) != UNITS_IMG)
          __nanosleep(POLL_NS);
        fenceAsyncGlobal();
        mbarExpectTx(full + s, STAGE_BYTES);
        const unsigned char *src = img + ((size_t)n * 6 * PLANE + (size_t)q0) * 16;
        unsigned char *dst = sStage + s * STAGE_BYTES;
#pragma unroll
        for (int c = 0; c < 6; ++c)
          bulkLoad(dst + c * PIECE, src + (size_t)c * (PLANE * 16), PIECE, full + s);
      }
      *prog = 1000;
    }
  } else {
    // pack warps: f32 rows in by bulk copies, f16 pieces out by bulk stores
    const int pw = warp - (9 + STORE_WARPS);
    unsigned char *const region = sPack + pw * PACK_REGION;
    unsigned char *const packed = region + IN_SLOTS * UNIT_BYTES;
    u64 *const pBar = packBars + pw * IN_SLOTS;
    const int first = pw * GRID + block;
    const int units = (UNITS - first + UNIT_STEP - 1) / UNIT_STEP;

    if (lane == 0) {
      for (int k = 0; k < IN_SLOTS; ++k)
        issueUnit(first + k * UNIT_STEP, in, region + k * UNIT_BYTES, pBar + k, prog);
    }
    __syncwarp();

    int before = 0;
#pragma unroll 1
    for (int k = 0; k < units; ++k) {
      const int s = k % IN_SLOTS;
      const int u = first + k * UNIT_STEP;
      const int n = u / UNITS_IMG;
      const int r = u - n * UNITS_IMG;
      const int by = r / 3;
      const int c = r - by * 3;
      unsigned char *const slot = region + s * UNIT_BYTES;

      if (lane == 0 && k > 0)
        bulkWaitRead<0>(); // the packed buffer has been read
      __syncwarp();
      mbarWait(pBar + s, (u32)((k / IN_SLOTS) & 1));

#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const bool rowOk = h ? (by <= 55) : (by >= 1);
#pragma unroll
        for (int it = 0; it < 2; ++it) {
          const int bx = lane + 32 * it;
          if (bx < QW) {
            const float *p = (const float *)slot + (2 * h * 224 + 4 * bx - 2);
            float2 a = make_float2(0.0f, 0.0f), b = a, d = a, e = a;
            if (rowOk && bx >= 1) {
              a = *(const float2 *)(p);
              d = *(const float2 *)(p + 224);
            }
            if (rowOk && bx <= 55) {
              b = *(const float2 *)(p + 2);
              e = *(const float2 *)(p + 226);
            }
            uint4 w;
            w.x = packF16(a.x, a.y);
            w.y = packF16(b.x, b.y);
            w.z = packF16(d.x, d.y);
            w.w = packF16(e.x, e.y);
            *(uint4 *)(packed + (h * QW + bx) * 16) = w;
          }
        }
      }
      fenceAsyncShared();
      __syncwarp();
      if (lane == 0) {
        unsigned char *const dst = img + ((size_t)(n * 6 + 2 * c) * PLANE + (size_t)(by * QW)) * 16;
        bulkStore(dst, packed, RUN_BYTES);
        bulkStore(dst + (size_t)PLANE * 16, packed + RUN_BYTES, RUN_BYTES);
        bulkCommit();
        if (k > 0) {
          bulkWait<1>(); // the unit before is in memory
          fenceAsyncGlobal();
          addRelease(ready + before, 1);
        }
        if (k + IN_SLOTS < units)
          issueUnit(u + IN_SLOTS * UNIT_STEP, in, slot, pBar + s, prog);
      }
      before = n;
      __syncwarp();
    }
    if (lane == 0) {
      bulkWait<0>();
      fenceAsyncGlobal();
      addRelease(ready + before, 1);
    }
  }
}
// fastk-plan: {"format":1,"steps":[{"arguments":["in0","in1","in2","ws0","ws1","out0"],"block":[512],
// fastk-plan: "cooperative":true,"grid":[132],"launch":"conv","shared_bytes":"W_BYTES + STAGES * STAGE_BYTES + OUT_BYTES + TAIL_BYTES + PACK_WARPS * ((8 - 2 * STAGES) * UNIT_BYTES + PACKED_BYTES)"}],
// fastk-plan: "workspaces":[{"bytes":31260672},{"bytes":512,"zero":true}]}
