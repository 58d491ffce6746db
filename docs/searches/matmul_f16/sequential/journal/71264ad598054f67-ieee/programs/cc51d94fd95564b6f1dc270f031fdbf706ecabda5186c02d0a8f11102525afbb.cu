#define LAG1 1 // tune: 0, 1
#define LAG2 0 // tune: 0, 1

#define STAGES 3
#define K_TILES 64
#define CLUSTERS 66
#define BIG_TILES 132
#define ALL_TILES 190
#define A_BYTES 24576
#define STAGE_BYTES 57344
#define STAGING_OFFSET (STAGES * STAGE_BYTES)
#define BARRIER_OFFSET (STAGING_OFFSET + 49152)

#if LAG1 >= STAGES - 1 || LAG2 >= STAGES - 1
#error "the lags have to be less than STAGES - 1"
#endif

// Cluster tile t: first row and first column of the output. Tiles below BIG_TILES are
// 384 x 256, the others 256 x 256.
static __device__ __forceinline__ void tileOf(u32 t, u32 &row, u32 &column) {
  if (t < 112) {
    column = (t >> 3) * 256;
    row = (t & 7) * 384;
  } else if (t < BIG_TILES) {
    const u32 u = t - 112;
    const u32 c = u >= 10 ? 1u : 0u;
    column = (14 + c) * 256;
    row = (u - c * 10) * 384;
  } else {
    const u32 j = t - BIG_TILES;
    if (j < 56) {
      column = (j >> 2) * 256;
      row = 3072 + (j & 3) * 256;
    } else {
      column = (14 + (j - 56)) * 256;
      row = 3840;
    }
  }
}

// Arrival (where signal is not 0) on a barrier of any block of the cluster (address already
// mapped), without a fence at cluster scope and without a branch.
static __device__ __forceinline__ void arriveMappedIf(u32 addr, u32 signal) {
  asm volatile("{\n"
               ".reg .pred q;\n"
               "setp.ne.b32 q, %1, 0;\n"
               "@q mbarrier.arrive.shared::cluster.b64 _, [%0];\n"
               "}\n" ::"r"(addr), "r"(signal)
               : "memory");
}

#define ACC_LIST                                                                              \
  "{%0, %1, %2, %3, %4, %5, %6, %7, "                                                         \
  "%8, %9, %10, %11, %12, %13, %14, %15, "                                                    \
  "%16, %17, %18, %19, %20, %21, %22, %23, "                                                  \
  "%24, %25, %26, %27, %28, %29, %30, %31, "                                                  \
  "%32, %33, %34, %35, %36, %37, %38, %39, "                                                  \
  "%40, %41, %42, %43, %44, %45, %46, %47, "                                                  \
  "%48, %49, %50, %51, %52, %53, %54, %55, "                                                  \
  "%56, %57, %58, %59, %60, %61, %62, %63, "                                                  \
  "%64, %65, %66, %67, %68, %69, %70, %71, "                                                  \
  "%72, %73, %74, %75, %76, %77, %78, %79, "                                                  \
  "%80, %81, %82, %83, %84, %85, %86, %87, "                                                  \
  "%88, %89, %90, %91, %92, %93, %94, %95, "                                                  \
  "%96, %97, %98, %99, %100, %101, %102, %103, "                                              \
  "%104, %105, %106, %107, %108, %109, %110, %111, "                                          \
  "%112, %113, %114, %115, %116, %117, %118, %119, "                                          \
  "%120, %121, %122, %123, %124, %125, %126, %127}"

#define ACC8(i)                                                                               \
  "+f"(d[(i) + 0]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3]), "+f"(d[(i) + 4]),   \
      "+f"(d[(i) + 5]), "+f"(d[(i) + 6]), "+f"(d[(i) + 7])

#define WGMMA_OP "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "

// One K step of 64: d (64 x 256) += A (64 x 64, K-major) B (64 x 256, N-major), one group.
static __device__ __forceinline__ void kStep(float (&d)[128], u64 a, u64 b) {
  asm volatile("{\n"
               ".reg .pred q;\n"
               ".reg .b64 a1, a2, a3, b1, b2, b3;\n"
               "setp.ne.b32 q, %130, 0;\n"
               "add.s64 a1, %128, 2;\n"
               "add.s64 a2, %128, 4;\n"
               "add.s64 a3, %128, 6;\n"
               "add.s64 b1, %129, 128;\n"
               "add.s64 b2, %129, 256;\n"
               "add.s64 b3, %129, 384;\n"
               "wgmma.fence.sync.aligned;\n"
               WGMMA_OP ACC_LIST ", %128, %129, q, 1, 1, 0, 1;\n"
               WGMMA_OP ACC_LIST ", a1, b1, q, 1, 1, 0, 1;\n"
               WGMMA_OP ACC_LIST ", a2, b2, q, 1, 1, 0, 1;\n"
               WGMMA_OP ACC_LIST ", a3, b3, q, 1, 1, 0, 1;\n"
               "wgmma.commit_group.sync.aligned;\n"
               "}\n"
               : ACC8(0), ACC8(8), ACC8(16), ACC8(24), ACC8(32), ACC8(40), ACC8(48), ACC8(56),
                 ACC8(64), ACC8(72), ACC8(80), ACC8(88), ACC8(96), ACC8(104), ACC8(112),
                 ACC8(120)
               : "l"(a), "l"(b), "r"(1)
               : "memory");
}

extern "C" __global__ void __launch_bounds__(512, 1)
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
#pragma unroll 1
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], 24); // 12 consumer warps in each of 2 blocks
    }
    mbarInitFence();
  }
  __syncthreads();
  clusterSync();

  if (group == 0) {
    registersDown<32>();
    if (warp == 0) {
      if (electOne()) {
        u32 s = 0, parity = 1;
#pragma unroll 1
        for (u32 t = cluster; t < ALL_TILES; t += CLUSTERS) {
          u32 row, column;
          tileOf(t, row, column);
          const bool big = t < BIG_TILES;
          const i32 m0 = (i32)(row + rank * (big ? 192u : 128u));
          const i32 n0 = (i32)(column + rank * 128);
          const u32 bytes = big ? (u32)STAGE_BYTES : (u32)(STAGE_BYTES - 8192);
#pragma unroll 1
          for (i32 k = 0; k < K_TILES * 64; k += 64) {
            mbarWait(&empty[s], parity);
            unsigned char *a = smem + s * STAGE_BYTES;
            unsigned char *b = a + A_BYTES + rank * 16384;
            mbarExpectTx(&full[s], bytes);
            tmaLoad2D(a, &mapA, &full[s], k, m0);
            tmaLoad2DMulticast(b, &mapB, &full[s], n0, k, (u16)3);
            tmaLoad2DMulticast(b + 8192, &mapB, &full[s], n0 + 64, k, (u16)3);
            tmaLoad2D(a + 8192, &mapA, &full[s], k, m0 + 64);
            if (bytes == (u32)STAGE_BYTES)
              tmaLoad2D(a + 16384, &mapA, &full[s], k, m0 + 128);
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
    registersUp<160>();
    const u32 w = group - 1;
    const u32 lane = threadIdx.x & 31;
    const u32 thread = threadIdx.x & 127;
    const u32 base = smemAddr(smem);
    const u64 descA = wgmmaDesc128B(base + w * 8192);
    const u64 descB = wgmmaDesc(base + A_BYTES, 8192, 1024, 1);

    // The empty barriers of the block that this lane signals (lanes 0 and 1 only).
    const u32 emptyMapped = mapaShared(smemAddr(empty), lane & 1);
    const u32 signal = lane < 2 ? 1u : 0u;

    // One-time lags. That stage cannot be refilled before this consumer releases it.
    if (LAG1 > 0 && w == 1)
      mbarWait(&full[LAG1], 0);
    if (LAG2 > 0 && w == 2)
      mbarWait(&full[LAG2], 0);
    __syncwarp();

    // Consumer 2 has no rows in the small tiles.
    const u32 limit = w == 2 ? (u32)BIG_TILES : (u32)ALL_TILES;
    u32 s = 0, parity = 0;
    u32 t = cluster;
#pragma unroll 1
    for (; t < limit; t += CLUSTERS) {
      float d[128];
#pragma unroll
      for (int i = 0; i < 128; ++i)
        d[i] = 0.0f;

      u32 previous = s;
#pragma unroll 1
      for (u32 kt = 0; kt < K_TILES; ++kt) {
        mbarWait(&full[s], parity);
        const u64 offset = (u64)(s * (STAGE_BYTES / 16));
        kStep(d, descA + offset, descB + offset);
        wgmmaWait<1>();
        arriveMappedIf(emptyMapped + previous * 8, kt != 0 ? signal : 0u);
        previous = s;
        if (++s == STAGES) {
          s = 0;
          parity ^= 1;
        }
      }
      wgmmaWait<0>();
      wgmmaHold(d);
      arriveMappedIf(emptyMapped + previous * 8, signal);
      __syncwarp();

      u32 row, column;
      tileOf(t, row, column);
      const i32 m0 = (i32)(row + rank * (t < BIG_TILES ? 192u : 128u) + w * 64);
      const i32 n0 = (i32)column;

      // Staging: two boxes of 64 rows x 64 columns f16, 128B swizzle, for each consumer.
      unsigned char *staging = smem + STAGING_OFFSET + w * 16384;
      unsigned char *stageRow = staging + (16 * (warp & 3) + (lane & 15)) * 128;
      const u32 piece = ((lane >> 4) ^ (lane & 7)) * 16;

#pragma unroll
      for (int q = 0; q < 4; ++q) {
        // The store of two steps ago has read the box that is now written.
        if (thread == 0)
          bulkWaitRead<1>();
        __syncwarp();
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

    // The cluster's small tile, if it has one: consumer 2 only releases the stages.
    if (t < ALL_TILES) {
#pragma unroll 1
      for (u32 kt = 0; kt < K_TILES; ++kt) {
        mbarWait(&full[s], parity);
        __syncwarp();
        arriveMappedIf(emptyMapped + s * 8, signal);
        if (++s == STAGES) {
          s = 0;
          parity ^= 1;
        }
      }
    }
    if (thread == 0)
      bulkWait<0>();
    __syncwarp();
  }
  clusterSync();
}
// fastk-plan: {"format":1,"steps":[{"arguments":["map0","map1","map2"],"block":[512],"cluster":[2],"grid":[132],
// fastk-plan: "launch":"matmul","shared_bytes":"STAGES * 57344 + 49152 + 256"}],"tensor_maps":[{"box":[64,
// fastk-plan: 64],"buffer":"in0","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],"swizzle":"128B",
// fastk-plan: "type":"f16"},{"box":[64,64],"buffer":"in1","dims":[4096,4096],"l2_promotion":"256B","strides":[8192],
// fastk-plan: "swizzle":"128B","type":"f16"},{"box":[64,64],"buffer":"out0","dims":[4096,4096],"l2_promotion":"none",
// fastk-plan: "strides":[8192],"swizzle":"128B","type":"f16"}]}
