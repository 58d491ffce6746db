// Sums of products of 16-bit operands on tensor cores. One warpgroup loads tiles by TMA, CONSUMERS warpgroups multiply
// 64 rows each, persistent blocks walk over the tiles.

#define BN 256 // tune: 64, 128, 192, 256
#define CONSUMERS 2 // tune: 1, 2, 3
#define CLUSTER 2 // tune: 1, 2
#define SHARES_A 0 // tune: 0, 1
#define SPLIT 1 // tune: 1, 2, 4, 8, 16, 32, 64
#define K_PARTS 1 // tune: 1, 2, 4, 8
#define GROUP_ROWS 8 // tune: 2, 4, 8, 16

// Tiles of BM rows, BN columns and 64 terms.
#define BM (64 * CONSUMERS)
#define K_STEP 64
#define K_STEPS ((K + K_STEP - 1) / K_STEP)
#define PARTS (SPLIT * K_PARTS)
// Tensor cores cut off bits of what they add up, which an f32 shows after thousands of terms: it is a sum of their sums.
#define FEW_STEPS 32
#define SUMS_FEW (OUT_BITS == 32 && K_STEPS > FEW_STEPS * PARTS)
#define CLUSTER_BLOCKS (CLUSTER * K_PARTS)
// Blocks of a cluster lie above each other and share B, or side by side and share A.
#define CLUSTER_ROWS (SHARES_A ? 1 : CLUSTER)
#define CLUSTER_COLUMNS (SHARES_A ? CLUSTER : 1)
#define TILE_ROWS ((M + BM * CLUSTER_ROWS - 1) / (BM * CLUSTER_ROWS))
#define TILE_COLUMNS ((N + BN * CLUSTER_COLUMNS - 1) / (BN * CLUSTER_COLUMNS))
#define TILES (BATCH * SPLIT * TILE_ROWS * TILE_COLUMNS)
#define TILE_ROWS_ALONE ((M + BM - 1) / BM)
#define TILE_COLUMNS_ALONE ((N + BN - 1) / BN)
#define TILES_ALONE (BATCH * TILE_ROWS_ALONE * TILE_COLUMNS_ALONE)
// Where tiles leave nothing over, no row and no column need be asked for.
#define ROWS_FIT (M % (BM * CLUSTER_ROWS) == 0)
#define COLUMNS_FIT (N % (BN * CLUSTER_COLUMNS) == 0)
#define CLUSTERS (MULTIPROCESSORS / CLUSTER_BLOCKS)
#define GRID ((TILES < CLUSTERS ? TILES : CLUSTERS) * CLUSTER_BLOCKS)
#define MULTICAST_A (SHARES_A && CLUSTER > 1)
#define MULTICAST_B (!SHARES_A && CLUSTER > 1)
#define ALL_BLOCKS (u16)((1 << CLUSTER) - 1)

// Operands as the tensor maps see them, packed where they do not lie so.
#define A_INNER (A_K_MAJOR ? K : M)
#define A_OUTER (A_K_MAJOR ? M : K)
#define A_PITCH ((A_INNER + 63) / 64 * 64)
#define A_BATCHES (A_BATCHED ? BATCH : 1)
#define A_PACKED (A_BATCHES * A_OUTER * A_PITCH)
#define A_BOX_ROWS ((A_K_MAJOR ? BM : 64) / (MULTICAST_A ? CLUSTER : 1))
#define B_INNER (B_K_MAJOR ? K : N)
#define B_OUTER (B_K_MAJOR ? N : K)
#define B_PITCH ((B_INNER + 63) / 64 * 64)
#define B_BATCHES (B_BATCHED ? BATCH : 1)
#define B_PACKED (B_BATCHES * B_OUTER * B_PITCH)
#define B_BOX_ROWS ((B_K_MAJOR ? BN : 64) / (MULTICAST_B ? CLUSTER : 1))
// Whether the 128 bytes of a box's row lie in two lines of the cache: then twice as much goes to a multiprocessor, and
// what is fetched beyond them is of no use.
#define A_STRADDLES (A_ALIGNED && A_ROW_STRIDE % 64 != 0)
#define B_STRADDLES (B_ALIGNED && B_ROW_STRIDE % 64 != 0)
#define OVERLAPS (!A_ALIGNED || !B_ALIGNED)

// Shared memory: stages, boxes to store from, barriers.
#define STAGES_TILES (OUT_BITS == 16 && PARTS == 1)
// A lane keeps what columns need where it stores rows: so that it computes that once for many of them.
#define STORES_TILES (OUT_ALIGNED && STAGES_TILES && !FINISH_LOADS && !(KEPT_OF_COLUMNS && KEPT > 1))
#define A_STAGE (BM * 128)
#define B_STAGE (BN * 128)
#define STAGE_BYTES (A_STAGE + B_STAGE)
// Boxes that a warpgroup stores from by turns; large tiles leave room for one.
#define BOXES (BM * BN >= 36864 ? 1 : 2)
#define STAGING_BYTES (STORES_TILES ? CONSUMERS * BOXES * 8192 : STAGES_TILES ? CONSUMERS * 16384 : 0)
#define MOST_STAGES ((SHARED_LIMIT - STAGING_BYTES - 2048) / STAGE_BYTES)
#define STAGES (MOST_STAGES > 8 ? 8 : MOST_STAGES)
#define STAGING_OFFSET (STAGES * STAGE_BYTES)
#define BARRIER_OFFSET (STAGING_OFFSET + STAGING_BYTES)
#define SHARED_BYTES (BARRIER_OFFSET + STAGES * 16 + 1024)
#define SUM_PITCH (BN + 8)
#define SUM_BYTES (BM * SUM_PITCH * 4)

#if A_IS_F16
#define WGMMA wgmmaF16
#else
#define WGMMA wgmmaBF16
#endif

struct Tile {
  i32 batch, row, column, firstStep, endStep, part;
};

static FASTK_DEVICE Tile tileOf(u32 t, u32 kPart) {
  Tile tile;
  const u32 perPart = TILE_ROWS * TILE_COLUMNS;
  u32 rest = t % perPart, outer = t / perPart;
  tile.part = (i32)(outer % SPLIT);
  tile.batch = (i32)(outer / SPLIT);
  const u32 band = rest / (GROUP_ROWS * TILE_COLUMNS);
  const u32 within = rest % (GROUP_ROWS * TILE_COLUMNS);
  const u32 left = TILE_ROWS - band * GROUP_ROWS;
  const u32 rows = left < GROUP_ROWS ? left : GROUP_ROWS;
  tile.row = (i32)(band * GROUP_ROWS + within % rows);
  tile.column = (i32)(within / rows);
  const i32 part = tile.part * K_PARTS + (i32)kPart;
  tile.firstStep = part * K_STEPS / PARTS;
  tile.endStep = (part + 1) * K_STEPS / PARTS;
  return tile;
}

// Arrival on a barrier of any block of the cluster, without a fence at cluster scope: nothing is published through it.
static FASTK_DEVICE void arriveMapped(u32 addr) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(addr) : "memory");
}

static FASTK_DEVICE float4 loadCluster4(u32 remote) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(remote) : "memory");
  return v;
}

#if STAGES_TILES && !STORES_TILES
// The elements of columns n, which is even, and n + 1, as two halves; beyond the last row and column there are any.
static FASTK_DEVICE u32 finishPair(OPERAND_PARAMETERS, i32 b, i32 m, i32 n, float x, float y, const Kept &ofFirst,
                                   const Kept &ofSecond) {
  m = ROWS_FIT || m < M ? m : M - 1;
  const i32 first = COLUMNS_FIT || n < N ? n : N - 1, second = COLUMNS_FIT || n + 1 < N ? n + 1 : N - 1;
  return (u32)finish(OPERANDS, b, m, first, x, ofFirst).bits |
         (u32)finish(OPERANDS, b, m, second, y, ofSecond).bits << 16;
}

static FASTK_DEVICE void storePair(OUT_TYPE *out, i32 b, i32 m, i32 n, u32 both) {
  if (!ROWS_FIT && m >= M || !COLUMNS_FIT && n >= N)
    return;
  u16 *const first = (u16 *)out + outOffset(b, m, n), *const second = (u16 *)out + outOffset(b, m, n + 1);
  if (OUT_ALIGNED || n + 1 < N && second == first + 1 && ((u64)first & 3) == 0) {
    *(u32 *)first = both;
    return;
  }
  *first = (u16)both;
  if (n + 1 < N)
    *second = (u16)(both >> 16);
}
#endif

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
contraction(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
#if STORES_TILES
            const __grid_constant__ CUtensorMap mapOut,
#elif SPLIT > 1
            float *partials,
#endif
            OUT_TYPE *out, OPERAND_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  unsigned char *smem = raw + ((1024 - (smemAddr(raw) & 1023)) & 1023);
  u64 *full = (u64 *)(smem + BARRIER_OFFSET);
  u64 *empty = full + STAGES;

  // Blocks of a cluster share columns and load their part of B for all, or share a tile and take a part of K each.
  const u32 rank = CLUSTER > 1 ? ctaRank() : 0, kPart = K_PARTS > 1 ? ctaRank() : 0;
  const u32 first = blockIdx.x / CLUSTER_BLOCKS, stride = gridDim.x / CLUSTER_BLOCKS;
  const u32 warp = warpIndex(), group = warp >> 2;

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapA);
    tmaPrefetchMap(&mapB);
#if STORES_TILES
    tmaPrefetchMap(&mapOut);
#endif
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], 4 * CONSUMERS * CLUSTER);
    }
    mbarInitFence();
  }
  __syncthreads();
#if CLUSTER_BLOCKS > 1
  clusterSync();
#endif

  if (group == 0) {
#if CONSUMERS == 2
    registersDown<40>();
#elif CONSUMERS == 3
    registersDown<32>();
#endif
    // The producer's four warps, for cluster barriers, and of the first one lane.
    if (warp == 0 || K_PARTS > 1) {
      const bool loads = warp == 0 && electOne();
      if (loads || K_PARTS > 1) {
#if OVERLAPS
        if (loads)
          waitPrevious();
#endif
        u32 s = 0, parity = 1;
        for (u32 t = first; t < TILES; t += stride) {
          const Tile tile = tileOf(t, kPart);
          const i32 m0 = (tile.row * CLUSTER_ROWS + (SHARES_A ? 0 : (i32)rank)) * BM;
          const i32 n0 = (tile.column * CLUSTER_COLUMNS + (SHARES_A ? (i32)rank : 0)) * BN;
          const i32 bA = A_BATCHED ? tile.batch : 0, bB = B_BATCHED ? tile.batch : 0;
#pragma unroll 1
          for (i32 step = loads ? tile.firstStep : tile.endStep; step < tile.endStep; ++step) {
            const i32 k0 = step * K_STEP;
            mbarWait(&empty[s], parity);
            unsigned char *a = smem + s * STAGE_BYTES, *b = a + A_STAGE;
            mbarExpectTx(&full[s], STAGE_BYTES);
#if A_K_MAJOR && MULTICAST_A
            tmaLoad3DMulticast(a + rank * (A_STAGE / CLUSTER), &mapA, &full[s], k0, m0 + (i32)rank * (BM / CLUSTER), bA,
                               ALL_BLOCKS);
#elif A_K_MAJOR
            tmaLoad3D(a, &mapA, &full[s], k0, m0, bA);
#else
#pragma unroll
            for (int i = 0; i < CONSUMERS; ++i)
#if MULTICAST_A
              tmaLoad3DMulticast(a + i * 8192 + rank * (8192 / CLUSTER), &mapA, &full[s], m0 + i * 64,
                                 k0 + (i32)rank * (64 / CLUSTER), bA, ALL_BLOCKS);
#else
              tmaLoad3D(a + i * 8192, &mapA, &full[s], m0 + i * 64, k0, bA);
#endif
#endif
#if B_K_MAJOR && MULTICAST_B
            tmaLoad3DMulticast(b + rank * (B_STAGE / CLUSTER), &mapB, &full[s], k0, n0 + (i32)rank * (BN / CLUSTER), bB,
                               ALL_BLOCKS);
#elif B_K_MAJOR
            tmaLoad3D(b, &mapB, &full[s], k0, n0, bB);
#else
#pragma unroll
            for (int i = 0; i < BN / 64; ++i)
#if MULTICAST_B
              tmaLoad3DMulticast(b + i * 8192 + rank * (8192 / CLUSTER), &mapB, &full[s], n0 + i * 64,
                                 k0 + (i32)rank * (64 / CLUSTER), bB, ALL_BLOCKS);
#else
              tmaLoad3D(b + i * 8192, &mapB, &full[s], n0 + i * 64, k0, bB);
#endif
#endif
            if (++s == STAGES) {
              s = 0;
              parity ^= 1;
            }
          }
#if K_PARTS > 1
          // The sums lie in the stages until all blocks have read them.
          __syncwarp();
          clusterSync();
          clusterSync();
#endif
        }
      }
      __syncwarp();
    }
  } else {
#if CONSUMERS == 2
    registersUp<232>();
#elif CONSUMERS == 3
    registersUp<160>();
#endif
    const u32 w = group - 1;
    const u32 lane = threadIdx.x & 31, thread = threadIdx.x & 127;
    const u32 base = smemAddr(smem);
    const u64 descA = A_K_MAJOR ? wgmmaDesc128B(base + w * 8192) : wgmmaDesc(base + w * 8192, 8192, 1024, 1);
    const u64 descB = B_K_MAJOR ? wgmmaDesc128B(base + A_STAGE) : wgmmaDesc(base + A_STAGE, 8192, 1024, 1);
    constexpr u32 stepA = A_K_MAJOR ? 2 : 128, stepB = B_K_MAJOR ? 2 : 128;
    const u32 emptyMapped = CLUSTER > 1 ? mapaShared(smemAddr(empty), lane % CLUSTER) : smemAddr(empty);

#if STORES_TILES
    // Boxes of 64 rows by 64 columns, 128B swizzle, for each consumer.
    unsigned char *staging = smem + STAGING_OFFSET + w * (BOXES * 8192);
    unsigned char *stageRow = staging + (16 * (warp & 3) + (lane & 15)) * 128;
    const u32 piece = ((lane >> 4) ^ (lane & 7)) * 16;
#elif STAGES_TILES
    unsigned char *staging = smem + STAGING_OFFSET + (warp - 4) * 4096;
#endif

    float d[BN / 2];
#pragma unroll
    for (int i = 0; i < BN / 2; ++i)
      d[i] = 0.0f;
#if SUMS_FEW
    float sum[BN / 2];
#endif

#if STORES_TILES
    u32 box = 0;
#endif

    u32 s = 0, parity = 0;
    for (u32 t = first; t < TILES; t += stride) {
      const Tile tile = tileOf(t, kPart);
      const i32 m0 = (tile.row * CLUSTER_ROWS + (SHARES_A ? 0 : (i32)rank)) * BM + (i32)w * 64;
      const i32 n0 = (tile.column * CLUSTER_COLUMNS + (SHARES_A ? (i32)rank : 0)) * BN;
      u32 previous = s;
#if SUMS_FEW
#pragma unroll
      for (int i = 0; i < BN / 2; ++i)
        sum[i] = 0.0f;
#endif
#pragma unroll 1
      for (i32 step = tile.firstStep; step < tile.endStep; ++step) {
        mbarWait(&full[s], parity);
#if SUMS_FEW
        const bool begins = (step - tile.firstStep) % FEW_STEPS == 0;
        if (begins && step != tile.firstStep) {
          wgmmaWait<0>();
          wgmmaHold(d);
#pragma unroll
          for (int i = 0; i < BN / 2; ++i)
            sum[i] += d[i];
        }
#else
        const bool begins = step == tile.firstStep;
#endif
        const u64 a = descA + (u64)(s * (STAGE_BYTES / 16));
        const u64 b = descB + (u64)(s * (STAGE_BYTES / 16));
        wgmmaFence();
#pragma unroll
        for (int i = 0; i < 4; ++i)
          WGMMA<!A_K_MAJOR, !B_K_MAJOR>(d, a + i * stepA, b + i * stepB, i > 0 || !begins ? 1u : 0u);
        wgmmaCommit();
        wgmmaWait<1>();
        if (step != tile.firstStep && lane < CLUSTER)
          arriveMapped(emptyMapped + previous * 8);
        previous = s;
        if (++s == STAGES) {
          s = 0;
          parity ^= 1;
        }
      }
      wgmmaWait<0>();
      wgmmaHold(d);
#if SUMS_FEW
#pragma unroll
      for (int i = 0; i < BN / 2; ++i)
        d[i] += sum[i];
#endif
      if (lane < CLUSTER && tile.firstStep < tile.endStep)
        arriveMapped(emptyMapped + previous * 8);
      __syncwarp();

      const i32 mRow = m0 + 16 * (i32)(warp & 3) + (i32)(lane >> 2);
      const i32 nColumn = n0 + 2 * (i32)(lane & 3);
#if STORES_TILES
      i32 ofRow[2];
#if !KEPT_OF_COLUMNS
      Kept kept[2];
#endif
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        ofRow[half] = mRow + half * 8;
        if (!ROWS_FIT)
          ofRow[half] = ofRow[half] < M ? ofRow[half] : M - 1;
#if !KEPT_OF_COLUMNS
        kept[half] = keep(OPERANDS, tile.batch, ofRow[half], 0);
#endif
      }
#pragma unroll
      for (int q = 0; q < BN / 64; ++q) {
        // The last store of this box has been read.
        if (thread == 0)
          bulkWaitRead<BOXES - 1>();
        barSync(1 + w, 128);
#pragma unroll
        for (int g = 0; g < 4; ++g) {
          const int i = q * 32 + g * 8;
          u32 r[4];
#pragma unroll
          for (int p = 0; p < 4; ++p) {
            i32 n = nColumn + q * 64 + g * 16 + (p >> 1) * 8;
            if (!COLUMNS_FIT)
              n = n < N ? n : N - 2;
#if KEPT_OF_COLUMNS
            r[p] = finish2(OPERANDS, tile.batch, ofRow[p & 1], n, d[i + 2 * p], d[i + 2 * p + 1]);
#else
            r[p] = finish2(OPERANDS, tile.batch, ofRow[p & 1], n, d[i + 2 * p], d[i + 2 * p + 1], kept[p & 1], kept[p & 1]);
#endif
          }
          stmatrix4(stageRow + box * 8192 + (piece ^ (u32)(g * 32)), r[0], r[1], r[2], r[3]);
        }
        fenceAsyncShared();
        barSync(1 + w, 128);
        if (thread == 0) {
          tmaStore3D(&mapOut, staging + box * 8192, n0 + q * 64, m0, tile.batch);
          bulkCommit();
        }
        __syncwarp();
        box = (box + 1) % BOXES;
      }
#elif STAGES_TILES
      // A warp turns its sums into rows of 64 columns, so that it loads and stores what lies together.
      const i32 row0 = m0 + 16 * (i32)(warp & 3);
#if !KEPT_OF_COLUMNS
      const i32 ofLane = row0 + (i32)(lane & 15);
      const Kept mine = keep(OPERANDS, tile.batch, ofLane < M ? ofLane : M - 1, 0);
#endif
#pragma unroll
      for (int q = 0; q < BN / 64; ++q) {
        __syncwarp();
#pragma unroll
        for (u32 i = 0; i < 16; ++i) {
          const u32 r = (lane >> 2) + i % 2 * 8, quad = i / 2 * 2 + (lane >> 1 & 1);
          *(float2 *)(staging + r * 256 + ((quad ^ (r & 3) * 2) << 4) + (lane & 1) * 8) =
              make_float2(d[q * 32 + 2 * i], d[q * 32 + 2 * i + 1]);
        }
        __syncwarp();
        // What is loaded beside the sums is on its way before any result is stored.
        const i32 n = n0 + q * 64 + 2 * (i32)lane;
#if KEPT_OF_COLUMNS
        const Kept ofFirst = keep(OPERANDS, tile.batch, 0, n < N ? n : N - 1);
        const Kept ofSecond = keep(OPERANDS, tile.batch, 0, n + 1 < N ? n + 1 : N - 1);
#endif
        constexpr u32 together = BN == 256 ? 8 : 16;
#pragma unroll
        for (u32 r0 = 0; r0 < 16; r0 += together) {
          u32 both[together];
#pragma unroll
          for (u32 i = 0; i < together; ++i) {
            const u32 r = r0 + i;
            const float2 sum = *(const float2 *)(staging + r * 256 + ((lane >> 1 ^ (r & 3) * 2) << 4) + (lane & 1) * 8);
#if !KEPT_OF_COLUMNS
            const Kept ofFirst = keptOf(mine, r), ofSecond = ofFirst;
#endif
            both[i] = finishPair(OPERANDS, tile.batch, row0 + (i32)r, n, sum.x, sum.y, ofFirst, ofSecond);
          }
#pragma unroll
          for (u32 i = 0; i < together; ++i)
            storePair(out, tile.batch, row0 + (i32)(r0 + i), n, both[i]);
        }
      }
#elif K_PARTS > 1
      float *sums = (float *)smem;
      // All loads have come, those that the other consumers wait for too.
      barSync(1, 128 * CONSUMERS);
#pragma unroll
      for (int i = 0; i < BN / 2; i += 2) {
        const i32 row = mRow - tile.row * BM + (i & 2) * 4, column = 2 * (i32)(lane & 3) + (i / 4) * 8;
        *(float2 *)(sums + row * SUM_PITCH + column) = make_float2(d[i], d[i + 1]);
      }
      clusterSync();
      // Each block adds up its share of the rows, always in the same order.
      constexpr i32 perRow = BN / 4;
      const u32 from = smemAddr(sums);
      for (i32 i = (i32)(w * 128 + thread); i < BM / K_PARTS * perRow; i += 128 * CONSUMERS) {
        const i32 row = (i32)kPart * (BM / K_PARTS) + i / perRow, column = i % perRow * 4;
        float4 part[K_PARTS];
#pragma unroll
        for (int p = 0; p < K_PARTS; ++p)
          part[p] = loadCluster4(mapaShared(from + (u32)(row * SUM_PITCH + column) * 4, p));
#pragma unroll
        for (int p = 1; p < K_PARTS; ++p) {
          part[0].x += part[p].x;
          part[0].y += part[p].y;
          part[0].z += part[p].z;
          part[0].w += part[p].w;
        }
        const i32 m = tile.row * BM + row, n = n0 + column;
        if (m >= M || n >= N)
          continue;
#if OUT_ALIGNED && OUT_BITS == 32
        *(float4 *)(out + outOffset(tile.batch, m, n)) =
            make_float4(finish(OPERANDS, tile.batch, m, n, part[0].x), finish(OPERANDS, tile.batch, m, n + 1, part[0].y),
                        finish(OPERANDS, tile.batch, m, n + 2, part[0].z), finish(OPERANDS, tile.batch, m, n + 3, part[0].w));
#elif OUT_ALIGNED
        *(uint2 *)(out + outOffset(tile.batch, m, n)) =
            make_uint2(finish2(OPERANDS, tile.batch, m, n, part[0].x, part[0].y),
                       finish2(OPERANDS, tile.batch, m, n + 2, part[0].z, part[0].w));
#else
        const float sum[4] = {part[0].x, part[0].y, part[0].z, part[0].w};
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (n + j < N)
            out[outOffset(tile.batch, m, n + j)] = finish(OPERANDS, tile.batch, m, n + j, sum[j]);
#endif
      }
      clusterSync();
      // The next tile is loaded where the sums were.
      fenceAsyncShared();
#else
#pragma unroll
      for (int i = 0; i < BN / 2; i += 4)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const i32 m = mRow + half * 8, n = nColumn + i * 2;
          const float x = d[i + 2 * half], y = d[i + 2 * half + 1];
#if SPLIT > 1
          if (m < M && n < N) {
            float *to = partials + (((i64)tile.part * BATCH + tile.batch) * M + m) * N + n;
            if (N % 2 == 0)
              *(float2 *)to = make_float2(x, y);
            else {
              to[0] = x;
              if (n + 1 < N)
                to[1] = y;
            }
          }
#else
#if OUT_ALIGNED && OUT_BITS == 32
          if (m < M && n < N)
            *(float2 *)(out + outOffset(tile.batch, m, n)) =
                make_float2(finish(OPERANDS, tile.batch, m, n, x), finish(OPERANDS, tile.batch, m, n + 1, y));
#else
          if (m < M && n < N) {
            out[outOffset(tile.batch, m, n)] = finish(OPERANDS, tile.batch, m, n, x);
            if (n + 1 < N)
              out[outOffset(tile.batch, m, n + 1)] = finish(OPERANDS, tile.batch, m, n + 1, y);
          }
#endif
#endif
        }
#endif
    }
#if STORES_TILES
    if (thread == 0)
      bulkWait<0>();
    __syncwarp();
#endif
  }
#if SPLIT > 1
  // One thread starts the next launch for a block. Those with nothing to do would start it too early: its blocks would
  // crowd the multiprocessors that have none of these.
  if (group > 0)
    launchNext();
#endif
#if CLUSTER_BLOCKS > 1
  clusterSync();
#endif
}

#if SPLIT > 1
// Adds up the parts of each sum.
extern "C" __global__ void __launch_bounds__(256) combine(const float *partials, OUT_TYPE *out, OPERAND_PARAMETERS) {
  waitPrevious();
  constexpr i64 count = (i64)BATCH * M * N;
  i64 i = ((i64)blockIdx.x * 256 + threadIdx.x);
  if (i >= count)
    return;
  float sum[SPLIT];
#pragma unroll
  for (int part = 0; part < SPLIT; ++part)
    sum[part] = partials[part * count + i];
#pragma unroll
  for (int width = SPLIT / 2; width > 0; width /= 2)
#pragma unroll
    for (int part = 0; part < width; ++part)
      sum[part] += sum[part + width];
  const i32 n = (i32)(i % N), m = (i32)(i / N % M), b = (i32)(i / N / M);
  out[outOffset(b, m, n)] = finish(OPERANDS, b, m, n, sum[0]);
}
#endif

// Writes eight neighbours of an operand, from element 8 * i on of rows of Pitch.
template <int Inner, int Outer, int Pitch, class Element>
static FASTK_DEVICE void packEight(u16 *to, u32 i, Element element) {
  const i32 x = (i32)(i % (Pitch / 8)) * 8, y = (i32)(i / (Pitch / 8) % Outer), b = (i32)(i / (Pitch / 8) / Outer);
  u32 pairs[4] = {};
#pragma unroll
  for (i32 j = 0; j < 8; ++j)
    if (x + j < Inner)
      pairs[j / 2] |= (u32)element(b, y, x + j).bits << (j % 2 * 16);
  *(uint4 *)(to + (i64)i * 8) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

#if !A_ALIGNED
// The operand with rows at multiples of 16 bytes.
extern "C" __global__ void __launch_bounds__(256) packA(u16 *to, OPERAND_PARAMETERS) {
  const u32 i = blockIdx.x * 256 + threadIdx.x;
  if (i < A_PACKED / 8)
    packEight<A_INNER, A_OUTER, A_PITCH>(to, i, [&](i32 b, i32 y, i32 x) {
      return elementA(OPERANDS, b, A_K_MAJOR ? y : x, A_K_MAJOR ? x : y);
    });
  launchNext();
}
#endif
#if !B_ALIGNED
extern "C" __global__ void __launch_bounds__(256) packB(u16 *to, OPERAND_PARAMETERS) {
  const u32 i = blockIdx.x * 256 + threadIdx.x;
  if (i < B_PACKED / 8)
    packEight<B_INNER, B_OUTER, B_PITCH>(to, i, [&](i32 b, i32 y, i32 x) {
      return elementB(OPERANDS, b, B_K_MAJOR ? y : x, B_K_MAJOR ? x : y);
    });
  launchNext();
}
#endif
