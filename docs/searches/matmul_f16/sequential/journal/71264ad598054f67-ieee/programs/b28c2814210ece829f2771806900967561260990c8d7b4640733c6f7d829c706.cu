#define STAGES 4 // tune: 3, 4
#define GROUP_ROWS 16 // tune: 2, 4, 8, 16
#define LAG 1 // tune: 0, 1, 2

#if LAG >= STAGES
#error "LAG has to be less than STAGES"
#endif

#define K_TILES 64
#define CLUSTERS 66
#define CLUSTER_TILES 256
#define TILE_COLUMNS 16
#define A_BYTES 16384
#define STAGE_BYTES 49152
#define STAGING_OFFSET (STAGES * STAGE_BYTES)
#define BARRIER_OFFSET (STAGING_OFFSET + 32768)

// Cluster tile t (256 x 256 of the output): its row and column of tiles.
static __device__ __forceinline__ void tileOf(u32 t, u32 &row, u32 &column) {
  const u32 group = t / (GROUP_ROWS * TILE_COLUMNS);
  const u32 within = t % (GROUP_ROWS * TILE_COLUMNS);
  row = group * GROUP_ROWS + within % GROUP_ROWS;
  column = within / GROUP_ROWS;
}

// Arrival on a barrier of any block of the cluster (address already mapped), without a
// fence at cluster scope: no generic writes are published through it.
static __device__ __forceinline__ void arriveMapped(u32 addr) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(addr) : "memory");
}

extern "C" __global__ void __launch_bounds__(384, 1)
matmul(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
       const __grid_constant__ CUtensorMap mapC) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *full = (u64 *)(smem + BARRIER_OFFSET);
  u64 *empty = full + STAGES;

  const u32 rank = ctaRank();
  const u32 cluster = blockIdx.x >> 1;
  const u32 warp = warpIndex();
  const u32 group = warp >> 2;

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapA);
    tmaPrefetchMap(&mapB);
    tmaPrefetchMap(&mapC);
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], 16); // 8 consumer warps in each of 2 blocks
    }
    mbarInitFence();
  }
  __syncthreads();
  clusterSync();

  if (group == 0) {
    registersDown<40>();
    if (warp == 0) {
      if (electOne()) {
        u32 s = 0, parity = 1;
        for (u32 t = cluster; t < CLUSTER_TILES; t += CLUSTERS) {
          u32 row, column;
          tileOf(t, row, column);
          const i32 m0 = (i32)(row * 256 + rank * 128);
          const i32 n0 = (i32)(column * 256 + rank * 128);
#pragma unroll 1
          for (i32 kt = 0; kt < K_TILES; ++kt) {
            mbarWait(&empty[s], parity);
            unsigned char *a = smem + s * STAGE_BYTES;
            unsigned char *b = a + A_BYTES + rank * 16384;
            mbarExpectTx(&full[s], STAGE_BYTES);
            tmaLoad2D(a, &mapA, &full[s], kt * 64, m0);
            tmaLoad2DMulticast(b, &mapB, &full[s], n0, kt * 64, (u16)3);
            tmaLoad2DMulticast(b + 8192, &mapB, &full[s], n0 + 64, kt * 64, (u16)3);
            if (++s == STAGES) {
              s = 0;
              parity ^= 1;
            }
          }
        }
      }
      __syncwarp();
    }
  } else {
    registersUp<232>();
    const u32 w = group - 1;
    const u32 lane = threadIdx.x & 31;
    const u32 thread = threadIdx.x & 127;
    const u32 base = smemAddr(smem);
    const u64 descA = wgmmaDesc128B(base + w * 8192);
    const u64 descB = wgmmaDesc(base + A_BYTES, 8192, 1024, 1);

    // The empty barriers of the block that this lane signals (lanes 0 and 1 only).
    const u32 emptyMapped = mapaShared(smemAddr(empty), lane & 1);

    // Staging: two boxes of 64 rows x 64 columns f16, 128B swizzle, for each consumer.
    unsigned char *staging = smem + STAGING_OFFSET + w * 16384;
    const u32 tileRow = 16 * (warp & 3) + (lane & 15);
    unsigned char *stageRow = staging + tileRow * 128;
    const u32 piece = ((lane >> 4) ^ (lane & 7)) * 16;

    float d[128];
#pragma unroll
    for (int i = 0; i < 128; ++i)
      d[i] = 0.0f;

    // One-time lag of consumer 1. Stage LAG cannot be refilled before consumer 1 releases it.
    if (LAG > 0 && w == 1)
      mbarWait(&full[LAG], 0);

    u32 s = 0, parity = 0;
    for (u32 t = cluster; t < CLUSTER_TILES; t += CLUSTERS) {
      u32 row, column;
      tileOf(t, row, column);
      const i32 m0 = (i32)(row * 256 + rank * 128 + w * 64);
      const i32 n0 = (i32)(column * 256);

      u32 previous = s;
#pragma unroll 1
      for (u32 kt = 0; kt < K_TILES; ++kt) {
        mbarWait(&full[s], parity);
        const u64 a = descA + (u64)(s * (STAGE_BYTES / 16));
        const u64 b = descB + (u64)(s * (STAGE_BYTES / 16));
        wgmmaFence();
        wgmmaF16<0, 1>(d, a, b, kt != 0 ? 1u : 0u);
        wgmmaF16<0, 1>(d, a + 2, b + 128, 1u);
        wgmmaF16<0, 1>(d, a + 4, b + 256, 1u);
        wgmmaF16<0, 1>(d, a + 6, b + 384, 1u);
        wgmmaCommit();
        wgmmaWait<1>();
        if (kt != 0 && lane < 2)
          arriveMapped(emptyMapped + previous * 8);
        previous = s;
        if (++s == STAGES) {
          s = 0;
          parity ^= 1;
        }
      }
      wgmmaWait<0>();
      wgmmaHold(d);
      if (lane < 2)
        arriveMapped(emptyMapped + previous * 8);
      __syncwarp();

#pragma unroll
      for (int q = 0; q < 4; ++q) {
        // The store of two steps ago has read the box that is now written.
        if (thread == 0)
          bulkWaitRead<1>();
        barSync(1 + w, 128);
#pragma unroll
        for (int g = 0; g < 4; ++g) {
          const int i = q * 32 + g * 8;
          stmatrix4(stageRow + (q & 1) * 8192 + (piece ^ (u32)(g * 32)),
                    packF16(d[i + 0], d[i + 1]), packF16(d[i + 2], d[i + 3]),
                    packF16(d[i + 4], d[i + 5]), packF16(d[i + 6], d[i + 7]));
        }
        fenceAsyncShared();
        barSync(1 + w, 128);
        if (thread == 0) {
          tmaStore2D(&mapC, staging + (q & 1) * 8192, n0 + q * 64, m0);
          bulkCommit();
        }
        __syncwarp();
      }
    }
    if (thread == 0)
      bulkWait<0>();
    __syncwarp();
  }
  clusterSync();
}
// fastk-plan: {"format":1,"steps":[{"arguments":["map0","map1","map2"],"block":[384],"cluster":[2],"grid":[132],
// fastk-plan: "launch":"matmul","shared_bytes":"STAGES * 49152 + 33024"}],"tensor_maps":[{"box":[64,
// fastk-plan: 128],"buffer":"in0","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],"swizzle":"128B",
// fastk-plan: "type":"f16"},{"box":[64,64],"buffer":"in1","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],
// fastk-plan: "swizzle":"128B","type":"f16"},{"box":[64,64],"buffer":"out0","dims":[4096,4096],"l2_promotion":"none",
// fastk-plan: "strides":[8192],"swizzle":"128B","type":"f16"}]}
