#define STAGES 4 // tune: 3, 4
#define CLUSTER_N 2 // tune: 1, 2
#define LOAD_LAST 1 // tune: 0, 1
#define STORE_FIRST 1 // tune: 0, 1

#define KDIM 4096
#define BM 128
#define BN 256
#define BK 64
#define KSTEPS (KDIM / BK)
#define CLUSTER_SIZE (2 * CLUSTER_N)
#define A_ROWS (BM / CLUSTER_N)
#define A_BYTES (BM * BK * 2)
#define B_BYTES (BN * BK * 2)
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define STAGING_OFFSET (STAGES * STAGE_BYTES)
#define STAGING_BYTES 32768
#define BARRIER_OFFSET (STAGING_OFFSET + STAGING_BYTES)
#define SHARED_BYTES (BARRIER_OFFSET + 256)
#define EMPTY_ARRIVALS (8 * (CLUSTER_N + 1))

static __device__ __forceinline__ void loadTileMulticast(void *dst, const CUtensorMap *map, u64 *bar, i32 x, i32 y,
                                                         u16 mask, u64 policy) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
               ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;"
               :
               : "r"(smemAddr(dst)), "l"((unsigned long long)map), "r"(x), "r"(y), "r"(smemAddr(bar)), "h"(mask),
                 "l"(policy)
               : "memory");
}

static __device__ __forceinline__ void storeTileHint(const CUtensorMap *map, const void *src, i32 x, i32 y,
                                                     u64 policy) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%1, %2}], [%3], %4;"
               :
               : "l"((unsigned long long)map), "r"(x), "r"(y), "r"(smemAddr(src)), "l"(policy)
               : "memory");
}

// Top left corner of the tile of this block in round t: quadrants (0,0), (0,1), (1,1), (1,0).
static __device__ __forceinline__ void tileOf(int t, int cluster, int m, int n, int &row, int &column) {
  const int qm = t >> 1;
  const int qn = (t ^ (t >> 1)) & 1;
  row = qm * 2048 + (cluster & 7) * (2 * BM) + m * BM;
  column = qn * 2048 + (cluster >> 3) * (CLUSTER_N * BN) + n * BN;
}

extern "C" __global__ void __launch_bounds__(384, 1)
product(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
        const __grid_constant__ CUtensorMap mapC) {
  extern __shared__ __align__(1024) unsigned char smem[];
  u64 *full = (u64 *)(smem + BARRIER_OFFSET);
  u64 *empty = full + STAGES;

  const int rank = (int)ctaRank();
  const int cluster = (int)(blockIdx.x / CLUSTER_SIZE);
  const int m = rank & 1, n = rank >> 1;
  const int warp = (int)warpIndex();
  const int lane = (int)(threadIdx.x & 31);
  const int group = warp >> 2;

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapA);
    tmaPrefetchMap(&mapB);
    tmaPrefetchMap(&mapC);
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], EMPTY_ARRIVALS);
    }
    mbarInitFence();
  }
  __syncthreads();
  clusterSync();

  if (group == 0) {
    registersDown<40>();
    if (warp == 0) {
      if (lane == 0) {
#if LOAD_LAST
        const u64 policy = policyEvictLast();
#else
        const u64 policy = policyEvictNormal();
#endif
#if CLUSTER_N == 2
        const u16 maskA = (u16)((1 << m) | (1 << (m + 2)));
#else
        const u16 maskA = (u16)(1 << m);
#endif
        const u16 maskB = (u16)(3 << (2 * n));
        int s = 0;
        u32 phase = 0;
#pragma unroll 1
        for (int t = 0; t < 4; ++t) {
          int row, column;
          tileOf(t, cluster, m, n, row, column);
          const int rowA = row + n * A_ROWS;
          const int columnB = column + m * 128;
#pragma unroll 1
          for (int kt = 0; kt < KSTEPS; ++kt) {
            mbarWaitCluster(&empty[s], phase ^ 1);
            mbarExpectTx(&full[s], STAGE_BYTES);
            unsigned char *slot = smem + s * STAGE_BYTES;
            loadTileMulticast(slot + n * (A_ROWS * 128), &mapA, &full[s], kt * BK, rowA, maskA, policy);
            unsigned char *slotB = slot + A_BYTES + m * 16384;
            loadTileMulticast(slotB, &mapB, &full[s], columnB, kt * BK, maskB, policy);
            loadTileMulticast(slotB + 8192, &mapB, &full[s], columnB + 64, kt * BK, maskB, policy);
            if (++s == STAGES) {
              s = 0;
              phase ^= 1;
            }
          }
        }
      }
      __syncwarp();
    }
  } else {
    registersUp<232>();
    const int consumer = group - 1;
    const int warpInGroup = warp & 3;
    const u32 base = smemAddr(smem);
    unsigned char *staging = smem + STAGING_OFFSET + (consumer * 4 + warpInGroup) * 4096;
#if STORE_FIRST
    const u64 storePolicy = policyEvictFirst();
#else
    const u64 storePolicy = policyEvictNormal();
#endif
    // stmatrix: lane i addresses row i % 8 of matrix i / 8; matrices (j, h): (0,0), (0,1), (1,0), (1,1)
    const int stRow = (lane & 7) + ((lane >> 3) & 1) * 8;
    const int stPiece = lane >> 4;
    const int stSwizzle = lane & 7;

    float d[128];
    int s = 0;
    u32 phase = 0;
#pragma unroll 1
    for (int t = 0; t < 4; ++t) {
      int row, column;
      tileOf(t, cluster, m, n, row, column);
      int previous = 0;
#pragma unroll 1
      for (int kt = 0; kt < KSTEPS; ++kt) {
        mbarWait(&full[s], phase);
        const u32 slot = base + s * STAGE_BYTES;
        const u64 a = wgmmaDesc128B(slot + consumer * 8192);
        const u64 b = wgmmaDesc(slot + A_BYTES, 8192, 1024, 1);
        const u32 first = kt > 0 ? 1u : 0u;
        wgmmaFence();
        wgmmaF16<0, 1>(d, a, b, first);
        wgmmaF16<0, 1>(d, a + 2, b + 128, 1u);
        wgmmaF16<0, 1>(d, a + 4, b + 256, 1u);
        wgmmaF16<0, 1>(d, a + 6, b + 384, 1u);
        wgmmaCommit();
        wgmmaWait<1>();
        if (kt > 0 && lane <= CLUSTER_N)
          mbarArriveRemote(&empty[previous], (u32)(rank ^ lane));
        __syncwarp();
        previous = s;
        if (++s == STAGES) {
          s = 0;
          phase ^= 1;
        }
      }
      wgmmaWait<0>();
      wgmmaHold(d);
      if (lane <= CLUSTER_N)
        mbarArriveRemote(&empty[previous], (u32)(rank ^ lane));
      __syncwarp();

      const int outRow = row + consumer * 64 + warpInGroup * 16;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        unsigned char *buffer = staging + (c & 1) * 2048;
        if (lane == 0)
          bulkWaitRead<1>();
        __syncwarp();
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int j = c * 8 + q * 2;
          const u32 r0 = packF16(d[4 * j + 0], d[4 * j + 1]);
          const u32 r1 = packF16(d[4 * j + 2], d[4 * j + 3]);
          const u32 r2 = packF16(d[4 * j + 4], d[4 * j + 5]);
          const u32 r3 = packF16(d[4 * j + 6], d[4 * j + 7]);
          stmatrix4(buffer + stRow * 128 + (((q * 2 + stPiece) ^ stSwizzle) * 16), r0, r1, r2, r3);
        }
        fenceAsyncShared();
        __syncwarp();
        if (lane == 0) {
          storeTileHint(&mapC, buffer, column + c * 64, outRow, storePolicy);
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
// fastk-plan: {"format":1,"steps":[{"arguments":["map0","map1","map2"],"block":[384],"cluster":["CLUSTER_SIZE"],
// fastk-plan: "grid":[128],"launch":"product","shared_bytes":"SHARED_BYTES"}],"tensor_maps":[{"box":[64,
// fastk-plan: "A_ROWS"],"buffer":"in0","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],"swizzle":"128B",
// fastk-plan: "type":"f16"},{"box":[64,64],"buffer":"in1","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],
// fastk-plan: "swizzle":"128B","type":"f16"},{"box":[64,16],"buffer":"out0","dims":[4096,4096],"l2_promotion":"none",
// fastk-plan: "strides":[8192],"swizzle":"128B","type":"f16"}]}
