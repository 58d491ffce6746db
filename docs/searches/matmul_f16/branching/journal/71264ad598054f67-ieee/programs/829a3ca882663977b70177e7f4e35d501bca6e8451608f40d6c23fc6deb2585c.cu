#define STAGES 4 // tune: 4, 3
#define BAND 8 // tune: 2, 4, 8, 16

#define DIM 4096
#define BK 64
#define K_BLOCKS 64
#define TILES_N 16
#define TILES 256
#define CLUSTERS 66
#define A_BYTES 16384
#define STAGE_BYTES 49152
#define STAGING_OFFSET (STAGES * STAGE_BYTES)
#define BARRIER_OFFSET (STAGING_OFFSET + 32768)

// tile index -> row and column (elements) of the 256 x 256 cluster tile
static __device__ __forceinline__ void tileOrigin(int tile, int &m0, int &n0) {
  const int band = tile / (BAND * TILES_N);
  const int r = tile % (BAND * TILES_N);
  m0 = (band * BAND + r % BAND) * 256;
  n0 = (r / BAND) * 256;
}

extern "C" __global__ void __launch_bounds__(384, 1)
product(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
        const __grid_constant__ CUtensorMap mapC) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *full = (u64 *)(smem + BARRIER_OFFSET);
  u64 *empty = full + STAGES;

  const u32 rank = ctaRank();
  const int firstTile = (int)(blockIdx.x >> 1);
  const u32 group = warpIndex() / 4;

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapA);
    tmaPrefetchMap(&mapB);
    tmaPrefetchMap(&mapC);
#pragma unroll
    for (int s = 0; s < STAGES; ++s) {
      mbarInit(&full[s], 1);
      mbarInit(&empty[s], 16); // 2 blocks x 2 warpgroups x 4 warps
    }
    mbarInitFence();
  }
  __syncthreads();
  clusterSync();

  if (group == 0) {
    // ---------------- producer ----------------
    registersDown<40>();
    if (threadIdx.x == 0) {
      u32 stage = 0, phase = 0;
      for (int tile = firstTile; tile < TILES; tile += CLUSTERS) {
        int m0, n0;
        tileOrigin(tile, m0, n0);
        const int row = m0 + (int)rank * 128;
        const int col = n0 + (int)rank * 128;
#pragma unroll 1
        for (int kb = 0; kb < K_BLOCKS; ++kb) {
          mbarWaitCluster(&empty[stage], phase ^ 1);
          mbarExpectTx(&full[stage], STAGE_BYTES);
          unsigned char *a = smem + stage * STAGE_BYTES;
          unsigned char *b = a + A_BYTES + rank * 16384;
          tmaLoad2DMulticast(b, &mapB, &full[stage], col, kb * BK, (u16)3);
          tmaLoad2DMulticast(b + 8192, &mapB, &full[stage], col + 64, kb * BK, (u16)3);
          tmaLoad2D(a, &mapA, &full[stage], kb * BK, row);
          if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
          }
        }
      }
    }
    __syncwarp();
  } else {
    // ---------------- consumers ----------------
    registersUp<232>();
    const u32 wg = group - 1;
    const u32 lane = laneId();
    const u32 warpInGroup = warpIndex() % 4;
    const bool leader = (threadIdx.x % 128) == 0;

    float acc[128];
#pragma unroll
    for (int i = 0; i < 128; ++i)
      acc[i] = 0.0f;

    const u64 descA0 = wgmmaDesc128B(smemAddr(smem) + wg * 8192);
    const u64 descB0 = wgmmaDesc(smemAddr(smem) + A_BYTES, 8192, 1024, 1);

    unsigned char *staging = smem + STAGING_OFFSET + wg * 16384;
    // stmatrix: lane i gives row i % 8 of matrix i / 8; matrices: (rows 0-7, piece 0),
    // (rows 8-15, piece 0), (rows 0-7, piece 1), (rows 8-15, piece 1)
    const u32 mat = lane / 8;
    const u32 localRow = warpInGroup * 16 + (mat & 1) * 8 + (lane & 7);
    const u32 rowOffset = localRow * 128;
    const u32 pieceHigh = mat >> 1;
    const u32 rowXor = lane & 7;

    u32 stage = 0, phase = 0;
    for (int tile = firstTile; tile < TILES; tile += CLUSTERS) {
      int m0, n0;
      tileOrigin(tile, m0, n0);
      u32 previous = 0;
#pragma unroll 1
      for (int kb = 0; kb < K_BLOCKS; ++kb) {
        mbarWait(&full[stage], phase);
        const u64 da = descA0 + (u64)(stage * (STAGE_BYTES / 16));
        const u64 db = descB0 + (u64)(stage * (STAGE_BYTES / 16));
        wgmmaFence();
        wgmmaF16<0, 1>(acc, da, db, kb != 0 ? 1u : 0u);
        wgmmaF16<0, 1>(acc, da + 2, db + 128, 1u);
        wgmmaF16<0, 1>(acc, da + 4, db + 256, 1u);
        wgmmaF16<0, 1>(acc, da + 6, db + 384, 1u);
        wgmmaCommit();
        wgmmaWait<1>();
        // the products of the previous slot are done: release it in both blocks
        if (kb > 0 && lane < 2)
          mbarArriveRemote(&empty[previous], lane);
        __syncwarp();
        previous = stage;
        if (++stage == STAGES) {
          stage = 0;
          phase ^= 1;
        }
      }
      wgmmaWait<0>();
      wgmmaHold(acc);
      if (lane < 2)
        mbarArriveRemote(&empty[previous], lane);
      __syncwarp();

      const int outRow = m0 + (int)rank * 128 + (int)wg * 64;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        unsigned char *buffer = staging + (c & 1) * 8192;
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int j = c * 8 + q * 2;
          const u32 v0 = packF16(acc[4 * j + 0], acc[4 * j + 1]);
          const u32 v1 = packF16(acc[4 * j + 2], acc[4 * j + 3]);
          const u32 v2 = packF16(acc[4 * j + 4], acc[4 * j + 5]);
          const u32 v3 = packF16(acc[4 * j + 6], acc[4 * j + 7]);
          const u32 piece = (u32)(q * 2) + pieceHigh;
          stmatrix4(buffer + rowOffset + ((piece ^ rowXor) * 16), v0, v1, v2, v3);
        }
        fenceAsyncShared();
        // the store before this one has read the other buffer, which all write after the barrier
        if (leader)
          bulkWaitRead<0>();
        __syncwarp();
        barSync(1 + wg, 128);
        if (leader) {
          tmaStore2D(&mapC, buffer, n0 + c * 64, outRow);
          bulkCommit();
        }
        __syncwarp();
      }
    }
    if (leader)
      bulkWait<0>();
    __syncwarp();
  }

  // nobody leaves while the other block may still write here or arrive on these barriers
  clusterSync();
}
// fastk-plan: {"format":1,"steps":[{"arguments":["map0","map1","map2"],"block":[384],"cluster":[2],"grid":[132],
// fastk-plan: "launch":"product","shared_bytes":"STAGES * 49152 + 33024"}],"tensor_maps":[{"box":[64,
// fastk-plan: 128],"buffer":"in0","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],"swizzle":"128B",
// fastk-plan: "type":"f16"},{"box":[64,64],"buffer":"in1","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],
// fastk-plan: "swizzle":"128B","type":"f16"},{"box":[64,64],"buffer":"out0","dims":[4096,4096],"l2_promotion":"none",
// fastk-plan: "strides":[8192],"swizzle":"128B","type":"f16"}]}
