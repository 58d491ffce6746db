#define STAGES 4 // tune: 4, 3
#define CLUSTERS 32 // tune: 32, 26, 128
#define LOAD_POLICY 0 // tune: 0, 1
#define STORE_POLICY 1 // tune: 1, 0

#define K_STEPS 64
#define CLUSTER_TILES 128
#define A_BYTES 16384
#define B_BOX_BYTES 8192
#define STAGE_BYTES 49152
#define STAGING_BYTES 32768

static __device__ __forceinline__ void loadCross(void *dst, const CUtensorMap *map, u64 *bar, i32 x, i32 y,
                                                 u16 mask, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%0], [%1, {%4, %5}], [%2], %3, %6;"
      :
      : "r"(smemAddr(dst)), "l"(reinterpret_cast<u64>(map)), "r"(smemAddr(bar)), "h"(mask), "r"(x), "r"(y),
        "l"(policy)
      : "memory");
}

static __device__ __forceinline__ void storeTile(const CUtensorMap *map, const void *src, i32 x, i32 y,
                                                 u64 policy) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%2, %3}], [%1], %4;"
               :
               : "l"(reinterpret_cast<u64>(map)), "r"(smemAddr(src)), "r"(x), "r"(y), "l"(policy)
               : "memory");
}

// Cluster tile t (256 x 512): quadrants of 2048 x 2048 in the order (0,0), (0,1), (1,1), (1,0).
static __device__ __forceinline__ void tileOrigin(int t, int &row, int &col) {
  const int q = t >> 5, c = t & 31;
  const int qm = q >> 1, qn = (q ^ (q >> 1)) & 1;
  row = (qm * 8 + (c & 7)) * 256;
  col = (qn * 4 + (c >> 3)) * 512;
}

extern __shared__ __align__(1024) unsigned char smem[];

extern "C" __global__ void __launch_bounds__(384, 1)
product(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
        const __grid_constant__ CUtensorMap mapC) {
  unsigned char *base = smem + ((1024u - (smemAddr(smem) & 1023u)) & 1023u);
  u64 *full = (u64 *)(base + STAGES * STAGE_BYTES + STAGING_BYTES);
  u64 *empty = full + STAGES;

  const u32 warp = warpIndex(), lane = laneId(), rank = ctaRank();
  const u32 m = rank & 1, n = rank >> 1;
  const int cluster = (int)(blockIdx.x / 4);

  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], 24); // 8 consumer warps of each of the three blocks this one writes to
    }
    mbarInitFence();
  }
  __syncthreads();
  clusterSync();

  if (warp >= 8) {
    registersDown<40>();
    if (warp == 8 && lane == 0) {
      tmaPrefetchMap(&mapA);
      tmaPrefetchMap(&mapB);
#if LOAD_POLICY
      const u64 policy = policyEvictLast();
#else
      const u64 policy = policyEvictNormal();
#endif
      const u16 maskA = (u16)((1u << m) | (1u << (m + 2)));
      const u16 maskB = (u16)(3u << (2 * n));
      u32 s = 0, parity = 1;
      for (int t = cluster; t < CLUSTER_TILES; t += CLUSTERS) {
        int row, col;
        tileOrigin(t, row, col);
        const int yA = row + (int)m * 128 + (int)n * 64;
        const int xB = col + (int)n * 256 + (int)m * 128;
#pragma unroll 1
        for (int k = 0; k < K_STEPS; ++k) {
          unsigned char *slot = base + s * STAGE_BYTES;
          mbarWaitCluster(&empty[s], parity);
          mbarExpectTx(&full[s], STAGE_BYTES);
          loadCross(slot + n * 8192, &mapA, &full[s], k * 64, yA, maskA, policy);
          unsigned char *slotB = slot + A_BYTES + m * (2 * B_BOX_BYTES);
          loadCross(slotB, &mapB, &full[s], xB, k * 64, maskB, policy);
          loadCross(slotB + B_BOX_BYTES, &mapB, &full[s], xB + 64, k * 64, maskB, policy);
          if (++s == STAGES) {
            s = 0;
            parity ^= 1;
          }
        }
      }
    }
    __syncwarp();
  } else {
    registersUp<232>();
    const u32 wg = warp >> 2;
    // lanes 0, 1, 2 release a slot to the three producers that write into it
    const u32 target = lane == 0 ? rank : (lane == 1 ? (rank ^ 1) : (rank ^ 2));
    const u32 stageAddr = smemAddr(base);
    unsigned char *staging = base + STAGES * STAGE_BYTES + warp * 4096;
    const u32 r = ((lane >> 3) & 1) * 8 + (lane & 7);
    const u32 half = lane >> 4;
#if STORE_POLICY
    const u64 storePolicy = policyEvictFirst();
#else
    const u64 storePolicy = policyEvictNormal();
#endif

    float acc[128];
#pragma unroll
    for (int i = 0; i < 128; ++i)
      acc[i] = 0.0f;

    u32 s = 0, parity = 0, previous = 0;
#pragma unroll 1
    for (int t = cluster; t < CLUSTER_TILES; t += CLUSTERS) {
#pragma unroll 1
      for (int k = 0; k < K_STEPS; ++k) {
        mbarWait(&full[s], parity);
        const u32 slot = stageAddr + s * STAGE_BYTES;
        const u64 a = wgmmaDesc128B(slot + wg * 8192);
        const u64 b = wgmmaDesc(slot + A_BYTES, 8192, 1024, 1);
        wgmmaFence();
#pragma unroll
        for (int kk = 0; kk < 4; ++kk)
          wgmmaF16<0, 1>(acc, a + (u64)(kk * 2), b + (u64)(kk * 128), (u32)((k | kk) != 0));
        wgmmaCommit();
        wgmmaWait<1>();
        if (k > 0 && lane < 3)
          mbarArriveRemote(&empty[previous], target);
        previous = s;
        if (++s == STAGES) {
          s = 0;
          parity ^= 1;
        }
      }
      wgmmaWait<0>();
      wgmmaHold(acc);
      if (lane < 3)
        mbarArriveRemote(&empty[previous], target);
      __syncwarp();

      int row, col;
      tileOrigin(t, row, col);
      const int y = row + (int)m * 128 + (int)warp * 16;
      const int x = col + (int)n * 256;
#pragma unroll
      for (int box = 0; box < 4; ++box) {
        unsigned char *buffer = staging + (box & 1) * 2048;
        if (lane == 0)
          bulkWaitRead<1>();
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int i = 4 * (box * 8 + 2 * j);
          const u32 piece = (u32)(2 * j) + half;
          stmatrix4(buffer + r * 128 + ((piece ^ (r & 7)) << 4), packF16(acc[i], acc[i + 1]),
                    packF16(acc[i + 2], acc[i + 3]), packF16(acc[i + 4], acc[i + 5]),
                    packF16(acc[i + 6], acc[i + 7]));
        }
        fenceAsyncShared();
        __syncwarp();
        if (lane == 0) {
          storeTile(&mapC, buffer, x + box * 64, y, storePolicy);
          bulkCommit();
        }
        __syncwarp();
      }
    }
    if (lane == 0)
      bulkWait<0>();
    __syncwarp();
  }
  clusterSync();
}
// fastk-plan: {"format":1,"steps":[{"arguments":["map0","map1","map2"],"block":[384],"cluster":[4],"grid":["CLUSTERS * 4"],
// fastk-plan: "launch":"product","shared_bytes":"STAGES * STAGE_BYTES + STAGING_BYTES + 2048"}],"tensor_maps":[{"box":[64,
// fastk-plan: 64],"buffer":"in0","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],"swizzle":"128B",
// fastk-plan: "type":"f16"},{"box":[64,64],"buffer":"in1","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],
// fastk-plan: "swizzle":"128B","type":"f16"},{"box":[64,16],"buffer":"out0","dims":[4096,4096],"l2_promotion":"none",
// fastk-plan: "strides":[8192],"swizzle":"128B","type":"f16"}]}
