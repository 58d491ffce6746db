#define STAGES 3 // tune: 3, 4
#define BAND 4 // tune: 4, 8, 16
#define PRODUCER_REGS 40 // tune: 24, 40
#define CONSUMER_REGS (252 - PRODUCER_REGS / 2)

#define SIZE 4096
#define BK 64
#define K_STEPS (SIZE / BK)
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

static __device__ __forceinline__ void tileOrigin(int tile, int &row, int &column) {
  const int band = tile / (BAND * TILE_COLUMNS);
  const int inside = tile % (BAND * TILE_COLUMNS);
  row = (band * BAND + inside % BAND) * 256;
  column = (inside / BAND) * 256;
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
        u32 slot = 0, phase = 0;
        for (int tile = cluster; tile < TILES; tile += CLUSTERS) {
          int row, column;
          tileOrigin(tile, row, column);
          row += (int)rank * 128;
          column += (int)rank * 128;
#pragma unroll 1
          for (int k = 0; k < K_STEPS; ++k) {
            mbarWaitCluster(&empty[slot], phase ^ 1u);
            unsigned char *a = base + slot * STAGE_BYTES;
            unsigned char *b = a + A_BYTES + rank * (2 * B_BOX_BYTES);
            mbarExpectTx(&full[slot], STAGE_BYTES);
            tmaLoad2DMulticast(b, &mapB, &full[slot], column, k * BK, (u16)3);
            tmaLoad2DMulticast(b + B_BOX_BYTES, &mapB, &full[slot], column + 64, k * BK, (u16)3);
            tmaLoad2D(a, &mapA, &full[slot], k * BK, row);
            if (++slot == STAGES) {
              slot = 0;
              phase ^= 1u;
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

    // This warp's two store buffers: 16 rows of 64 columns, swizzle 128B.
    unsigned char *buffers = staging + warp * (2 * STORE_BUFFER);
    const u32 rowOffset = (lane & 15u) * 128u;
    const u32 rowXor = lane & 7u;
    const u32 pieceHigh = lane >> 4;

    u32 slot = 0, phase = 0;
#pragma unroll 1
    for (int tile = cluster; tile < TILES; tile += CLUSTERS) {
      int row, column;
      tileOrigin(tile, row, column);
      row += (int)(rank * 128u + warp * 16u);

      float d[128];
      u32 previous = 0;
#pragma unroll 1
      for (int k = 0; k < K_STEPS; ++k) {
        mbarWait(&full[slot], phase);
        const u64 a = descA + (u64)(slot * (STAGE_BYTES / 16));
        const u64 b = descB + (u64)(slot * (STAGE_BYTES / 16));
        wgmmaFence();
        wgmmaF16<0, 1>(d, a, b, k != 0 ? 1u : 0u);
        wgmmaF16<0, 1>(d, a + 2, b + 128, 1u);
        wgmmaF16<0, 1>(d, a + 4, b + 256, 1u);
        wgmmaF16<0, 1>(d, a + 6, b + 384, 1u);
        wgmmaCommit();
        wgmmaWait<1>();
        // The products of the step before are done: give its slot back to both producers.
        if (k != 0 && lane < 2)
          mbarArriveRemote(&empty[previous], lane);
        previous = slot;
        if (++slot == STAGES) {
          slot = 0;
          phase ^= 1u;
        }
      }
      wgmmaWait<0>();
      wgmmaHold(d);
      if (lane < 2)
        mbarArriveRemote(&empty[previous], lane);
      __syncwarp();

      // Four chunks of 64 columns, two buffers in turn; each warp on its own.
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        unsigned char *buffer = buffers + (c & 1) * STORE_BUFFER;
        if (lane == 0)
          bulkWaitRead<1>();
        __syncwarp();
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int j = 8 * c + 2 * q;
          const u32 piece = (u32)(2 * q) + pieceHigh;
          stmatrix4(buffer + rowOffset + ((piece ^ rowXor) * 16u),
                    packF16(d[4 * j + 0], d[4 * j + 1]), packF16(d[4 * j + 2], d[4 * j + 3]),
                    packF16(d[4 * j + 4], d[4 * j + 5]), packF16(d[4 * j + 6], d[4 * j + 7]));
        }
        fenceAsyncShared();
        __syncwarp();
        if (lane == 0) {
          tmaStore2D(&mapC, buffer, column + 64 * c, row);
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
