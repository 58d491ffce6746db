#define BAND 8 // tune: 4, 8, 16
#define ARRIVE_RELAXED 0 // tune: 0, 1
#define FENCE_CHUNKS 2 // tune: 1, 2
#define PRODUCER_REGS 40 // tune: 24, 40
#define STAGES 4
#define CONSUMER_REGS (252 - PRODUCER_REGS / 2)

#define SIZE 4096
#define BK 64
#define K_STEPS (SIZE / BK)
#define PASSES (K_STEPS / STAGES)
#define A_BYTES 16384
#define B_BYTES 32768
#define B_BOX_BYTES 8192
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define STORE_BUFFER 2048
#define STAGING_BYTES (8 * 2 * STORE_BUFFER)
#define CLUSTERS 66
#define TILE_COLUMNS 16
#define TILES 256

#if 16 % BAND != 0
#error "BAND has to divide the 16 tile rows"
#endif
#if K_STEPS % STAGES != 0 || PASSES % 2 != 0
#error "every tile has to begin with slot 0 and parity 0"
#endif

static __device__ __forceinline__ void tileOrigin(int tile, int &row, int &column) {
  const int band = tile / (BAND * TILE_COLUMNS);
  const int inside = tile % (BAND * TILE_COLUMNS);
  row = (band * BAND + inside % BAND) * 256;
  column = (inside / BAND) * 256;
}

// Wait for a phase of a barrier of this block, no cluster-wide acquire.
static __device__ __forceinline__ void waitCta(u32 bar, u32 parity) {
  u32 done;
  do {
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.b32 %0, 1, 0, p;\n\t"
                 "}"
                 : "=r"(done)
                 : "r"(bar), "r"(parity)
                 : "memory");
  } while (done == 0u);
}

// Is the phase over for all lanes? Never suspends the warp.
static __device__ __forceinline__ bool testCta(u32 bar, u32 parity) {
  u32 done;
  asm volatile("{\n\t"
               ".reg .pred p;\n\t"
               "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
               "selp.b32 %0, 1, 0, p;\n\t"
               "}"
               : "=r"(done)
               : "r"(bar), "r"(parity)
               : "memory");
  return __all_sync(0xffffffffu, done != 0u) != 0;
}

// Give a slot back. Its readers are finished wgmmas only, so no fence is needed.
static __device__ __forceinline__ void releaseSlot(u32 remoteBar) {
#if ARRIVE_RELAXED
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(remoteBar) : "memory");
#else
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remoteBar) : "memory");
#endif
}

// One pass over all slots: STAGES steps of k, slots are constants.
template <bool FIRST>
static __device__ __forceinline__ void consumePass(float (&d)[128], u64 descA, u64 descB, u32 fullAddr,
                                                   u32 remoteEmpty, bool releases, u32 parity, bool &ready) {
#pragma unroll
  for (int u = 0; u < STAGES; ++u) {
    if (!ready)
      waitCta(fullAddr + (u32)(u * 8), parity);
    const u64 a = descA + (u64)(u * (STAGE_BYTES / 16));
    const u64 b = descB + (u64)(u * (STAGE_BYTES / 16));
    wgmmaFence();
    wgmmaF16<0, 1>(d, a, b, (FIRST && u == 0) ? 0u : 1u);
    wgmmaF16<0, 1>(d, a + 2, b + 128, 1u);
    wgmmaF16<0, 1>(d, a + 4, b + 256, 1u);
    wgmmaF16<0, 1>(d, a + 6, b + 384, 1u);
    wgmmaCommit();
    // Look at the next slot while the products run.
    ready = testCta(fullAddr + (u32)(((u + 1) % STAGES) * 8), (u + 1 == STAGES) ? (parity ^ 1u) : parity);
    if (!(FIRST && u == 0)) {
      wgmmaWait<1>();
      // The products of the step before are done: give its slot back to both producers.
      if (releases)
        releaseSlot(remoteEmpty + (u32)(((u + STAGES - 1) % STAGES) * 8));
    }
  }
}

extern "C" __global__ void __launch_bounds__(384, 1)
product(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
        const __grid_constant__ CUtensorMap mapC) {
  extern __shared__ __align__(1024) unsigned char smem[];
  unsigned char *base = smem + ((1024u - (smemAddr(smem) & 1023u)) & 1023u);
  unsigned char *staging = base + STAGES * STAGE_BYTES;
  u64 *full = (u64 *)(staging + STAGING_BYTES);
  u64 *empty = full + STAGES;

  const u32 warp = warpIndex();
  const u32 lane = threadIdx.x % 32;
  const u32 rank = ctaRank();
  const int cluster = (int)(blockIdx.x / 2);

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapA);
    tmaPrefetchMap(&mapB);
    tmaPrefetchMap(&mapC);
    for (int s = 0; s < STAGES; ++s) {
      mbarInit(&full[s], 1);
      mbarInit(&empty[s], 16); // 8 consumer warps of each of the two blocks
    }
    mbarInitFence();
  }
  __syncthreads();
  clusterSync();

  if (warp >= 8) {
    // Producer warpgroup: one thread issues all copies.
    registersDown<PRODUCER_REGS>();
    if (warp == 8) {
      if (lane == 0) {
        const u32 emptyAddr = smemAddr(empty);
#pragma unroll 1
        for (int tile = cluster; tile < TILES; tile += CLUSTERS) {
          int row, column;
          tileOrigin(tile, row, column);
          row += (int)rank * 128;
          column += (int)rank * 128;
          int k = 0;
#pragma unroll 1
          for (int p = 0; p < PASSES; ++p) {
            const u32 parity = ((u32)p & 1u) ^ 1u;
#pragma unroll
            for (int u = 0; u < STAGES; ++u) {
              unsigned char *a = base + u * STAGE_BYTES;
              unsigned char *b = a + A_BYTES + rank * (2 * B_BOX_BYTES);
              waitCta(emptyAddr + (u32)(u * 8), parity);
              mbarExpectTx(&full[u], STAGE_BYTES);
              tmaLoad2DMulticast(b, &mapB, &full[u], column, k, (u16)3);
              tmaLoad2DMulticast(b + B_BOX_BYTES, &mapB, &full[u], column + 64, k, (u16)3);
              tmaLoad2D(a, &mapA, &full[u], k, row);
              k += BK;
            }
          }
        }
      }
      __syncwarp();
    }
  } else {
    // Two consumer warpgroups, 64 rows x 256 columns each.
    registersUp<CONSUMER_REGS>();
    const u32 group = warp / 4;
    const u64 descA = wgmmaDesc128B(smemAddr(base) + group * 8192u);
    const u64 descB = wgmmaDesc(smemAddr(base) + A_BYTES, B_BOX_BYTES, 1024, 1);
    const u32 fullAddr = smemAddr(full);
    // Lane 0 releases slots of block 0, lane 1 those of block 1.
    const bool releases = lane < 2;
    const u32 remoteEmpty = mapaShared(smemAddr(empty), lane & 1u);

    // This warp's two store buffers: 16 rows of 64 columns, swizzle 128B.
    unsigned char *buffers = staging + warp * (2 * STORE_BUFFER);
    const u32 rowOffset = (lane & 15u) * 128u;
    const u32 rowXor = lane & 7u;
    const u32 pieceHigh = lane >> 4;

    bool ready = false; // the slot of the next step is known to be full
#pragma unroll 1
    for (int tile = cluster; tile < TILES; tile += CLUSTERS) {
      int row, column;
      tileOrigin(tile, row, column);
      row += (int)(rank * 128u + warp * 16u);

      float d[128];
      consumePass<true>(d, descA, descB, fullAddr, remoteEmpty, releases, 0u, ready);
#pragma unroll 1
      for (int p = 1; p < PASSES; ++p)
        consumePass<false>(d, descA, descB, fullAddr, remoteEmpty, releases, (u32)p & 1u, ready);
      wgmmaWait<0>();
      wgmmaHold(d);
      if (releases)
        releaseSlot(remoteEmpty + (u32)((STAGES - 1) * 8));
      __syncwarp();

      // Four chunks of 64 columns, two buffers; each warp on its own, one fence for FENCE_CHUNKS chunks.
#pragma unroll
      for (int c0 = 0; c0 < 4; c0 += FENCE_CHUNKS) {
        if (lane == 0)
          bulkWaitRead<2 / FENCE_CHUNKS - 1>();
        __syncwarp();
#pragma unroll
        for (int i = 0; i < FENCE_CHUNKS; ++i) {
          const int c = c0 + i;
          unsigned char *buffer = buffers + (c & 1) * STORE_BUFFER;
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            const int j = 8 * c + 2 * q;
            const u32 piece = (u32)(2 * q) + pieceHigh;
            stmatrix4(buffer + rowOffset + ((piece ^ rowXor) * 16u),
                      packF16(d[4 * j + 0], d[4 * j + 1]), packF16(d[4 * j + 2], d[4 * j + 3]),
                      packF16(d[4 * j + 4], d[4 * j + 5]), packF16(d[4 * j + 6], d[4 * j + 7]));
          }
        }
        fenceAsyncShared();
        __syncwarp();
        if (lane == 0) {
#pragma unroll
          for (int i = 0; i < FENCE_CHUNKS; ++i)
            tmaStore2D(&mapC, buffers + ((c0 + i) & 1) * STORE_BUFFER, column + 64 * (c0 + i), row);
          bulkCommit();
        }
      }
      __syncwarp();
    }
    if (lane == 0)
      bulkWait<0>();
    __syncwarp();
  }
  // No block leaves while its peer may still write to it or arrive on its barriers.
  clusterSync();
}
// fastk-plan: {"format":1,"steps":[{"arguments":["map0","map1","map2"],"block":[384],"cluster":[2],"grid":[132],
// fastk-plan: "launch":"product","shared_bytes":"STAGES * 49152 + 32768 + 2048"}],"tensor_maps":[{"box":[64,
// fastk-plan: 128],"buffer":"in0","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],"swizzle":"128B",
// fastk-plan: "type":"f16"},{"box":[64,64],"buffer":"in1","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],
// fastk-plan: "swizzle":"128B","type":"f16"},{"box":[64,16],"buffer":"out0","dims":[4096,4096],"l2_promotion":"none",
// fastk-plan: "strides":[8192],"swizzle":"128B","type":"f16"}]}
