// Sums of products of f32 (or mixed f32, f16, bf16) operands by three f16 products of scaled halves:
// a * 2^(14 - e) = hi + lo * 2^-11, with e the largest exponent of a row's chunk of KC terms.

#define BN 128 // tune: 64, 128
#define CONSUMERS 2 // tune: 1, 2
#define CLUSTER_M 1 // tune: 1, 2
#define CLUSTER_N 2 // tune: 1, 2
#define KC 256 // tune: 128, 256, 512
#define SPLIT 3 // tune: 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32
#define GROUP_ROWS 8 // tune: 2, 4, 8, 16
#define STAGGER 40 // tune: 0, 20, 40, 80

#define BM (64 * CONSUMERS)
// Operands of 16 bits are exact in one f16 (bf16: where their exponents are near enough).
#define A_LO A_IS_F32
#define B_LO B_IS_F32
#define CROSS (A_LO || B_LO)

#define K_STEP 64
#define K_STEPS ((K + K_STEP - 1) / K_STEP)
#define K_PAD (K_STEPS * K_STEP)
#define CHUNK_STEPS (KC / K_STEP)
#define CHUNKS ((K + KC - 1) / KC)

#define CLUSTER (CLUSTER_M * CLUSTER_N)
#define ARRIVALS (CLUSTER_M + CLUSTER_N - 1)
#define TILE_ROWS ((M + BM * CLUSTER_M - 1) / (BM * CLUSTER_M))
#define TILE_COLUMNS ((N + BN * CLUSTER_N - 1) / (BN * CLUSTER_N))
// Tiles of clusters. Those of the last wave are split into parts of K.
#define TILES (BATCH * TILE_ROWS * TILE_COLUMNS)
#define CLUSTERS (CLUSTER == 4 ? MULTIPROCESSORS / 4 - 1 : MULTIPROCESSORS / CLUSTER)
#define FULL_TILES (SPLIT > 1 ? TILES / CLUSTERS * CLUSTERS : TILES)
#define TAIL_TILES (TILES - FULL_TILES)
#define ITEMS (FULL_TILES + TAIL_TILES * SPLIT)
#define GRID ((ITEMS < CLUSTERS ? ITEMS : CLUSTERS) * CLUSTER)

// Split operands: rows of K_PAD halves, first all hi, then all lo; exponents and infos of padded rows.
#define A_BATCHES (A_BATCHED ? BATCH : 1)
#define B_BATCHES (B_BATCHED ? BATCH : 1)
#define A_ROWS (TILE_ROWS * BM * CLUSTER_M)
#define B_ROWS (TILE_COLUMNS * BN * CLUSTER_N)
#define A_GROUPS (A_ROWS / 32)
#define B_GROUPS (B_ROWS / 32)
#define A_SPLIT_BLOCKS (A_BATCHES * A_GROUPS * CHUNKS)
#define B_SPLIT_BLOCKS (B_BATCHES * B_GROUPS * CHUNKS)
#define A_BOX_ROWS (BM / CLUSTER_N)
#define B_BOX_ROWS (BN / CLUSTER_M)
// Whether the pre-pass may load 16 bytes of the operand itself.
#define A_VECTOR (A_IS_F32 && A_ALIGNED && A_K_MAJOR)
#define B_VECTOR (B_IS_F32 && B_ALIGNED && B_K_MAJOR)

#define A_TILE (BM * 128)
#define B_TILE (BN * 128)
#define A_STAGE (A_TILE * (1 + A_LO))
#define B_STAGE (B_TILE * (1 + B_LO))
#define STAGE_BYTES (A_STAGE + B_STAGE)
// One buffer of exponents more than stages: see the consumer.
#define EXP_BUFFERS 9
#define EXP_INTS (BM + BN)
#define EXP_BYTES (EXP_BUFFERS * EXP_INTS * 4)
// Where a warp stores whole lines, it turns its sums here.
#define STORES_LINES (OUT_ALIGNED && OUT_IS_F32 && N % 4 == 0)
#define LINE_BYTES (STORES_LINES ? CONSUMERS * 4096 : 0)
#define MOST_STAGES ((SHARED_LIMIT - EXP_BYTES - LINE_BYTES - 2048) / STAGE_BYTES)
#define STAGES (MOST_STAGES > 8 ? 8 : MOST_STAGES)
#define EXP_OFFSET (STAGES * STAGE_BYTES)
#define LINE_OFFSET (EXP_OFFSET + EXP_BYTES)
#define BARRIER_OFFSET (LINE_OFFSET + LINE_BYTES)
#define SHARED_BYTES (BARRIER_OFFSET + STAGES * 16 + 1024)
#define COMBINE_BLOCKS (TAIL_TILES * CLUSTER * (BM * BN / 1024))

// 2^e, -126 <= e <= 127.
static FASTK_DEVICE float powerOf2(i32 e) { return __int_as_float((e + 127) << 23); }

// ---------------------------------------------------------------------------------------------------------------------
// The pre-pass: a block splits 32 rows of one chunk, a warp four of them.

// Where the terms of a row do not lie together, they are turned in shared memory, of which 48 KB need not be asked for.
#define TURNED_PITCH (KC + 4)
#define TURNED_BYTES (32 * TURNED_PITCH * 4)
#define TURNS_A (!A_K_MAJOR && TURNED_BYTES <= 48 * 1024)
#define TURNS_B (!B_K_MAJOR && TURNED_BYTES <= 48 * 1024)

template <bool OF_B>
static FASTK_DEVICE float elementOf(i32 b, i32 row, i32 k, OPERAND_PARAMETERS) {
  if constexpr (OF_B)
    return float(elementB(OPERANDS, b, row, k));
  else
    return float(elementA(OPERANDS, b, row, k));
}

// A warp loads lines of eight rows at four terms. With this pitch lanes meet different banks, and four terms of a row can
// be read at once.
template <bool OF_B>
static FASTK_DEVICE void turnGroup(float *turned, i32 b, i32 firstRow, i32 firstK, OPERAND_PARAMETERS) {
  constexpr i32 rows = OF_B ? N : M;
  const i32 lane = (i32)(threadIdx.x & 31), warp = (i32)(threadIdx.x >> 5);
  // So many are on their way before any is stored.
  constexpr int together = 16;
#pragma unroll 1
  for (int first = 0; first < KC / 8; first += together) {
    float x[together];
#pragma unroll
    for (int i = 0; i < together; ++i) {
      const i32 row = firstRow + 8 * (i & 3) + (lane & 7), k = firstK + 4 * (warp + 8 * ((first + i) >> 2)) + (lane >> 3);
      x[i] = row < rows && k < K ? elementOf<OF_B>(b, row, k, OPERANDS) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < together; ++i)
      turned[(8 * (i & 3) + (lane & 7)) * TURNED_PITCH + 4 * (warp + 8 * ((first + i) >> 2)) + (lane >> 3)] = x[i];
  }
  __syncthreads();
}

template <bool OF_B>
static FASTK_DEVICE void splitGroup(u32 index, u16 *to, i32 *exponents, u32 *info, const float *plain, float *turned,
                                    OPERAND_PARAMETERS) {
  constexpr i32 rows = OF_B ? N : M;
  constexpr i32 paddedRows = OF_B ? B_ROWS : A_ROWS;
  constexpr u32 groups = OF_B ? B_GROUPS : A_GROUPS;
  constexpr i64 batches = OF_B ? B_BATCHES : A_BATCHES;
  constexpr bool hasLo = OF_B ? B_LO : A_LO;
  constexpr bool isHalf = OF_B ? B_IS_F16 : A_IS_F16;
  constexpr bool vector = OF_B ? B_VECTOR : A_VECTOR;
  constexpr i64 loOffset = batches * rows * K_PAD;
  constexpr i32 pieces = KC / 128;
  // Elements further below the largest are not exact enough.
  constexpr u32 limit = hasLo ? 28 : 31;

  const i32 chunk = (i32)(index % CHUNKS);
  const u32 outer = index / CHUNKS;
  const u32 group = outer % groups;
  const i32 b = (i32)(outer / groups);
  const i32 lane = (i32)(threadIdx.x & 31), warp = (i32)(threadIdx.x >> 5);
  const i32 row0 = (i32)(group * 32) + warp * 4;
  const i32 k0 = chunk * KC + lane * 4;

  constexpr bool isTurned = OF_B ? TURNS_B : TURNS_A;
  if constexpr (isTurned)
    turnGroup<OF_B>(turned, b, (i32)(group * 32), chunk * KC, OPERANDS);

  float v[4][pieces][4];
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int q = 0; q < pieces; ++q) {
      const i32 row = row0 + r, k = k0 + q * 128;
      if constexpr (isTurned) {
        const float4 x = *(const float4 *)(turned + (warp * 4 + r) * TURNED_PITCH + lane * 4 + q * 128);
        v[r][q][0] = x.x;
        v[r][q][1] = x.y;
        v[r][q][2] = x.z;
        v[r][q][3] = x.w;
        continue;
      }
      if constexpr (vector) {
        if (row < rows && k + 4 <= K) {
          i64 offset = 0;
#if A_VECTOR
          if constexpr (!OF_B)
            offset = (A_BATCHED ? (i64)b * A_BATCH_STRIDE : (i64)0) + (i64)row * A_ROW_STRIDE + k;
#endif
#if B_VECTOR
          if constexpr (OF_B)
            offset = (B_BATCHED ? (i64)b * B_BATCH_STRIDE : (i64)0) + (i64)row * B_ROW_STRIDE + k;
#endif
          const float4 x = loadStream(plain + offset);
          v[r][q][0] = x.x;
          v[r][q][1] = x.y;
          v[r][q][2] = x.z;
          v[r][q][3] = x.w;
          continue;
        }
      }
#pragma unroll
      for (int j = 0; j < 4; ++j)
        v[r][q][j] = row < rows && k + j < K ? elementOf<OF_B>(b, row, k + j, OPERANDS) : 0.0f;
    }

  bool exact = false, wide = false;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const i32 row = row0 + r;
    u32 top = 141;
    float scale0 = 1.0f, scale1 = 1.0f;
    if constexpr (!isHalf) {
      u32 most = 0;
#pragma unroll
      for (int q = 0; q < pieces; ++q)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const u32 bits = __float_as_uint(v[r][q][j]) & 0x7fffffffu;
          if (bits < 0x7f800000u && bits > most)
            most = bits;
        }
#pragma unroll
      for (int o = 16; o; o >>= 1) {
        const u32 other = __shfl_xor_sync(0xffffffffu, most, o);
        most = other > most ? other : most;
      }
      top = most >> 23;
      if (top == 0)
        top = 141;
      const u32 lowest = top > limit ? (top - limit) << 23 : 0u;
#pragma unroll
      for (int q = 0; q < pieces; ++q)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const u32 bits = __float_as_uint(v[r][q][j]) & 0x7fffffffu;
          // What is not finite leaves nothing finite of the products of halves.
          exact = exact || (bits >= 0x00800000u && bits < lowest) || bits >= 0x7f800000u;
        }
      const i32 e = (i32)top - 127;
      wide = wide || e >= 48 || e <= -48;
      const i32 t = 141 - (i32)top;
      scale0 = powerOf2(t >> 1);
      scale1 = powerOf2(t - (t >> 1));
    } else {
#pragma unroll
      for (int q = 0; q < pieces; ++q)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          exact = exact || (__float_as_uint(v[r][q][j]) & 0x7fffffffu) >= 0x7f800000u;
    }
    // As a float this is 2^(e - 14), if that is normal.
    if (lane == 0)
      exponents[((i64)b * CHUNKS + chunk) * paddedRows + row] = ((i32)top - 14) * 8388608;
    if (row < rows) {
      u16 *line = to + ((i64)b * rows + row) * K_PAD;
#pragma unroll
      for (int q = 0; q < pieces; ++q) {
        const i32 k = k0 + q * 128;
        if (k < K_PAD) {
          float x[4];
#pragma unroll
          for (int j = 0; j < 4; ++j)
            x[j] = v[r][q][j] * scale0 * scale1;
          uint2 hi;
          hi.x = packF16(x[0], x[1]);
          hi.y = packF16(x[2], x[3]);
          *(uint2 *)(line + k) = hi;
          if constexpr (hasLo) {
            const float2 h0 = unpackF16(hi.x), h1 = unpackF16(hi.y);
            uint2 lo;
            lo.x = packF16((x[0] - h0.x) * 2048.0f, (x[1] - h0.y) * 2048.0f);
            lo.y = packF16((x[2] - h1.x) * 2048.0f, (x[3] - h1.y) * 2048.0f);
            *(uint2 *)(line + loOffset + k) = lo;
          }
        }
      }
    }
  }
  const int anyExact = __syncthreads_or(exact ? 1 : 0);
  const int anyWide = __syncthreads_or(wide ? 1 : 0);
  if (threadIdx.x == 0)
    info[((i64)b * groups + group) * CHUNKS + chunk] = (anyExact ? 1u : 0u) | (anyWide ? 2u : 0u);
}

extern "C" __global__ void __launch_bounds__(256)
split(u16 *toA, u16 *toB, i32 *exponentsA, i32 *exponentsB, u32 *infoA, u32 *infoB,
#if A_VECTOR
      const float *plainA,
#endif
#if B_VECTOR
      const float *plainB,
#endif
      OPERAND_PARAMETERS) {
  __shared__ __align__(16) float turned[TURNS_A || TURNS_B ? TURNED_BYTES / 4 : 4];
  const u32 block = blockIdx.x;
  if (block < (u32)(A_SPLIT_BLOCKS)) {
#if A_VECTOR
    const float *plain = (const float *)((const unsigned char *)plainA + A_OFFSET);
#else
    const float *plain = nullptr;
#endif
    splitGroup<false>(block, toA, exponentsA, infoA, plain, turned, OPERANDS);
  } else {
#if B_VECTOR
    const float *plain = (const float *)((const unsigned char *)plainB + B_OFFSET);
#else
    const float *plain = nullptr;
#endif
    splitGroup<true>(block - (u32)(A_SPLIT_BLOCKS), toB, exponentsB, infoB, plain, turned, OPERANDS);
  }
  launchNext();
}

// ---------------------------------------------------------------------------------------------------------------------
// The product.

struct Tile {
  i32 batch, row, column, firstChunk, endChunk, partial;
};

static FASTK_DEVICE Tile tileOf(u32 item) {
  Tile tile;
  u32 t = item;
  tile.firstChunk = 0;
  tile.endChunk = CHUNKS;
  tile.partial = -1;
#if SPLIT > 1
  if (item >= (u32)(FULL_TILES)) {
    const u32 rest = item - (u32)(FULL_TILES);
    const i32 part = (i32)(rest % SPLIT);
    t = (u32)(FULL_TILES) + rest / SPLIT;
    tile.partial = (i32)rest;
    tile.firstChunk = part * CHUNKS / SPLIT;
    tile.endChunk = (part + 1) * CHUNKS / SPLIT;
  }
#endif
  const u32 perBatch = TILE_ROWS * TILE_COLUMNS;
  const u32 within = t % perBatch;
  tile.batch = (i32)(t / perBatch);
  const u32 band = within / (GROUP_ROWS * TILE_COLUMNS);
  const u32 place = within % (GROUP_ROWS * TILE_COLUMNS);
  const u32 left = TILE_ROWS - band * GROUP_ROWS;
  const u32 rows = left < GROUP_ROWS ? left : GROUP_ROWS;
  tile.row = (i32)(band * GROUP_ROWS + place % rows);
  tile.column = (i32)(place / rows);
  return tile;
}

// Bit i of the masks is for chunk + i: sums to be computed exactly, large exponents. The same in all blocks of a cluster.
static FASTK_DEVICE void chunkMasks(const u32 *infoA, const u32 *infoB, const Tile &tile, i32 chunk, u32 &exact,
                                    u32 &wide) {
  u32 v = 0;
  const i32 c = chunk + (i32)(threadIdx.x & 31);
  if (c < tile.endChunk) {
    const u32 *a = infoA + ((i64)(A_BATCHED ? tile.batch : 0) * A_GROUPS + (i64)tile.row * (BM * CLUSTER_M / 32)) * CHUNKS + c;
    const u32 *b = infoB + ((i64)(B_BATCHED ? tile.batch : 0) * B_GROUPS + (i64)tile.column * (BN * CLUSTER_N / 32)) * CHUNKS + c;
#pragma unroll
    for (int g = 0; g < BM * CLUSTER_M / 32; ++g)
      v |= a[(i64)g * CHUNKS];
#pragma unroll
    for (int g = 0; g < BN * CLUSTER_N / 32; ++g)
      v |= b[(i64)g * CHUNKS];
  }
  __syncwarp();
  exact = __ballot_sync(0xffffffffu, (v & 1u) != 0);
  wide = __ballot_sync(0xffffffffu, (v & 2u) != 0);
}

// Arrival on a barrier of any block of the cluster, without a fence at cluster scope: nothing is published through it.
static FASTK_DEVICE void arriveMapped(u32 addr) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(addr) : "memory");
}

// Adds the products of terms k to kEnd as they are.
static FASTK_DEVICE void exactChunk(float (&sum)[BN / 2], i32 b, i32 m, i32 n, i32 k, i32 kEnd, OPERAND_PARAMETERS) {
  const i32 mA = m < M ? m : M - 1, mB = m + 8 < M ? m + 8 : M - 1;
#pragma unroll 1
  for (; k < kEnd; ++k) {
    const float x0 = float(elementA(OPERANDS, b, mA, k));
    const float x1 = float(elementA(OPERANDS, b, mB, k));
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        i32 column = n + 8 * j + e;
        column = column < N ? column : N - 1;
        const float y = float(elementB(OPERANDS, b, column, k));
        sum[4 * j + e] = fmaf(x0, y, sum[4 * j + e]);
        sum[4 * j + 2 + e] = fmaf(x1, y, sum[4 * j + 2 + e]);
      }
  }
}

// acc * 2^(a + b) where the exponents may be far from 0.
static FASTK_DEVICE float scaleWide(float acc, i32 a, i32 b) {
  i32 s = (a >> 23) + (b >> 23) - 254;
  s = s < -252 ? -252 : s;
  const i32 h = s >> 1;
  return acc * powerOf2(h) * powerOf2(s - h);
}

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
product(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, const i32 *exponentsA,
        const i32 *exponentsB, const u32 *infoA, const u32 *infoB,
#if SPLIT > 1
        float *partials,
#endif
        OUT_TYPE *out, OPERAND_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  unsigned char *smem = raw + ((1024 - (smemAddr(raw) & 1023)) & 1023);
  i32 *exps = (i32 *)(smem + EXP_OFFSET);
  u64 *full = (u64 *)(smem + BARRIER_OFFSET);
  u64 *empty = full + STAGES;

  // Blocks of a cluster with the same inM have the same rows and share A, those with the same inN share B.
  const u32 rank = CLUSTER > 1 ? ctaRank() : 0;
  const u32 inM = rank % CLUSTER_M, inN = rank / CLUSTER_M;
  const u32 first = blockIdx.x / CLUSTER, stride = gridDim.x / CLUSTER;
  const u32 warp = warpIndex(), group = warp >> 2;
  const u32 lane = threadIdx.x & 31;

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapA);
    tmaPrefetchMap(&mapB);
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], 4 * CONSUMERS * ARRIVALS);
    }
    mbarInitFence();
  }
  __syncthreads();
#if CLUSTER > 1
  clusterSync();
#endif
  waitPrevious();

  if (group == 0) {
#if CONSUMERS == 2
    registersDown<40>();
#endif
    if (warp == 0) {
      fenceAsyncGlobal();
      u32 s = 0, parity = 1, buffer = 0;
#if CLUSTER_N > 1
      u16 maskA = 0;
      for (int i = 0; i < CLUSTER_N; ++i)
        maskA = (u16)(maskA | (1u << (inM + CLUSTER_M * i)));
#endif
#if CLUSTER_M > 1
      u16 maskB = 0;
      for (int i = 0; i < CLUSTER_M; ++i)
        maskB = (u16)(maskB | (1u << (i + CLUSTER_M * inN)));
#endif
#pragma unroll 1
      for (u32 item = first; item < (u32)(ITEMS); item += stride) {
        const Tile tile = tileOf(item);
        const i32 m0 = (tile.row * CLUSTER_M + (i32)inM) * BM;
        const i32 n0 = (tile.column * CLUSTER_N + (i32)inN) * BN;
        const i32 bA = A_BATCHED ? tile.batch : 0, bB = B_BATCHED ? tile.batch : 0;
        u32 exact = 0, wide = 0;
#pragma unroll 1
        for (i32 chunk = tile.firstChunk; chunk < tile.endChunk; ++chunk) {
          const u32 bit = (u32)(chunk - tile.firstChunk) & 31;
          if (bit == 0)
            chunkMasks(infoA, infoB, tile, chunk, exact, wide);
          if ((exact >> bit) & 1)
            continue;
          const i32 firstStep = chunk * CHUNK_STEPS;
          const i32 endStep = firstStep + CHUNK_STEPS < K_STEPS ? firstStep + CHUNK_STEPS : K_STEPS;
#pragma unroll 1
          for (i32 step = firstStep; step < endStep; ++step) {
            if (lane == 0) {
              const i32 k0 = step * K_STEP;
              const bool last = step + 1 == endStep;
              mbarWait(&empty[s], parity);
              unsigned char *a = smem + s * STAGE_BYTES, *b = a + A_STAGE;
              mbarExpectTx(&full[s], STAGE_BYTES + (last ? EXP_INTS * 4 : 0));
#if CLUSTER_N > 1
              tmaLoad3DMulticast(a + inN * (A_TILE / CLUSTER_N), &mapA, &full[s], k0, m0 + (i32)inN * A_BOX_ROWS, bA,
                                 maskA);
#else
              tmaLoad3D(a, &mapA, &full[s], k0, m0, bA);
#endif
#if CLUSTER_M > 1
              tmaLoad3DMulticast(b + inM * (B_TILE / CLUSTER_M), &mapB, &full[s], k0, n0 + (i32)inM * B_BOX_ROWS, bB,
                                 maskB);
#else
              tmaLoad3D(b, &mapB, &full[s], k0, n0, bB);
#endif
#if A_LO
#if CLUSTER_N > 1
              tmaLoad3DMulticast(a + A_TILE + inN * (A_TILE / CLUSTER_N), &mapA, &full[s], k0,
                                 m0 + (i32)inN * A_BOX_ROWS, bA + A_BATCHES, maskA);
#else
              tmaLoad3D(a + A_TILE, &mapA, &full[s], k0, m0, bA + A_BATCHES);
#endif
#endif
#if B_LO
#if CLUSTER_M > 1
              tmaLoad3DMulticast(b + B_TILE + inM * (B_TILE / CLUSTER_M), &mapB, &full[s], k0,
                                 n0 + (i32)inM * B_BOX_ROWS, bB + B_BATCHES, maskB);
#else
              tmaLoad3D(b + B_TILE, &mapB, &full[s], k0, n0, bB + B_BATCHES);
#endif
#endif
              if (last) {
                i32 *to = exps + buffer * EXP_INTS;
                bulkLoad(to, exponentsA + ((i64)bA * CHUNKS + chunk) * A_ROWS + m0, BM * 4, &full[s]);
                bulkLoad(to + BM, exponentsB + ((i64)bB * CHUNKS + chunk) * B_ROWS + n0, BN * 4, &full[s]);
              }
            }
            if (++s == STAGES) {
              s = 0;
              parity ^= 1;
            }
          }
          if (++buffer == EXP_BUFFERS)
            buffer = 0;
        }
        __syncwarp();
      }
      __syncwarp();
    }
  } else {
#if CONSUMERS == 2
    registersUp<232>();
#endif
    const u32 w = group - 1;
    const u32 base = smemAddr(smem);
    const u64 descA = wgmmaDesc128B(base + w * 8192);
    const u64 descB = wgmmaDesc128B(base + A_STAGE);
    // The blocks that load into this one's stages.
    u32 target = rank;
    if (lane < CLUSTER_M)
      target = lane + CLUSTER_M * inN;
    else if (lane < ARRIVALS) {
      const u32 i = lane - CLUSTER_M;
      target = inM + CLUSTER_M * (i + (i >= inN ? 1 : 0));
    }
    const u32 emptyMapped = CLUSTER > 1 ? mapaShared(smemAddr(empty), target) : smemAddr(empty);
    const i32 rowInTile = (i32)(w * 64 + 16 * (warp & 3) + (lane >> 2));
    const i32 columnInTile = 2 * (i32)(lane & 3);

    float high[BN / 2], sum[BN / 2];
#if CROSS
    float cross[BN / 2];
#endif

    u32 s = 0, parity = 0, buffer = 0;
#pragma unroll 1
    for (u32 item = first; item < (u32)(ITEMS); item += stride) {
      const Tile tile = tileOf(item);
      const i32 m = (tile.row * CLUSTER_M + (i32)inM) * BM + rowInTile;
      const i32 n = (tile.column * CLUSTER_N + (i32)inN) * BN + columnInTile;
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) {
        high[i] = 0.0f;
        sum[i] = 0.0f;
#if CROSS
        cross[i] = 0.0f;
#endif
      }
#if CONSUMERS == 2 && STAGGER > 0
      // The consumers should not promote at the same time.
      if (w == 1) {
        float x = 1.0f;
#pragma unroll 1
        for (int i = 0; i < STAGGER; ++i)
          asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x));
      }
#endif
      u32 exact = 0, wide = 0;
#pragma unroll 1
      for (i32 chunk = tile.firstChunk; chunk < tile.endChunk; ++chunk) {
        const u32 bit = (u32)(chunk - tile.firstChunk) & 31;
        if (bit == 0)
          chunkMasks(infoA, infoB, tile, chunk, exact, wide);
        if ((exact >> bit) & 1) {
          const i32 kBegin = chunk * KC;
          exactChunk(sum, tile.batch, m, n, kBegin, kBegin < K - KC ? kBegin + KC : K, OPERANDS);
          __syncwarp();
          // Not live meanwhile.
#pragma unroll
          for (int i = 0; i < BN / 2; ++i) {
            high[i] = 0.0f;
#if CROSS
            cross[i] = 0.0f;
#endif
          }
          continue;
        }
        const i32 firstStep = chunk * CHUNK_STEPS;
        const i32 endStep = firstStep + CHUNK_STEPS < K_STEPS ? firstStep + CHUNK_STEPS : K_STEPS;
        u32 previous = s;
#pragma unroll 1
        for (i32 step = firstStep; step < endStep; ++step) {
          mbarWait(&full[s], parity);
          const u64 a = descA + (u64)(s * (STAGE_BYTES / 16));
          const u64 b = descB + (u64)(s * (STAGE_BYTES / 16));
          wgmmaFence();
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const u32 keep = i > 0 || step != firstStep ? 1u : 0u;
            wgmmaF16<0, 0>(high, a + i * 2, b + i * 2, keep);
#if A_LO
            wgmmaF16<0, 0>(cross, a + A_TILE / 16 + i * 2, b + i * 2, keep);
#endif
#if B_LO
            wgmmaF16<0, 0>(cross, a + i * 2, b + B_TILE / 16 + i * 2, A_LO ? 1u : keep);
#endif
          }
          wgmmaCommit();
          wgmmaWait<1>();
          if (step != firstStep && lane < ARRIVALS)
            arriveMapped(emptyMapped + previous * 8);
          previous = s;
          if (++s == STAGES) {
            s = 0;
            parity ^= 1;
          }
        }
        wgmmaWait<0>();
        wgmmaHold(high);
#if CROSS
        wgmmaHold(cross);
#endif
        if (lane < ARRIVALS)
          arriveMapped(emptyMapped + previous * 8);
        __syncwarp();

        // The exponents came with the last stage. Their buffer is written again when EXP_BUFFERS > STAGES chunks later
        // a stage is free that was multiplied after this.
        const i32 *ofRows = exps + buffer * EXP_INTS + rowInTile;
        const i32 *ofColumns = exps + buffer * EXP_INTS + BM + columnInTile;
        const i32 row0 = ofRows[0], row1 = ofRows[8];
        if ((wide >> bit) & 1) {
#pragma unroll
          for (int j = 0; j < BN / 8; ++j) {
            const int2 column = *(const int2 *)(ofColumns + 8 * j);
#pragma unroll
            for (int h = 0; h < 2; ++h) {
              const int i = 4 * j + 2 * h;
              float x = high[i], y = high[i + 1];
#if CROSS
              x = fmaf(cross[i], 0x1p-11f, x);
              y = fmaf(cross[i + 1], 0x1p-11f, y);
#endif
              sum[i] += scaleWide(x, h ? row1 : row0, column.x);
              sum[i + 1] += scaleWide(y, h ? row1 : row0, column.y);
            }
          }
        } else {
          const float factor0 = __int_as_float(row0), factor1 = __int_as_float(row1);
#pragma unroll
          for (int j = 0; j < BN / 8; ++j) {
            const float2 column = *(const float2 *)(ofColumns + 8 * j);
#pragma unroll
            for (int h = 0; h < 2; ++h) {
              const int i = 4 * j + 2 * h;
              float x = high[i], y = high[i + 1];
#if CROSS
              x = fmaf(cross[i], 0x1p-11f, x);
              y = fmaf(cross[i + 1], 0x1p-11f, y);
#endif
              sum[i] = fmaf(x * column.x, h ? factor1 : factor0, sum[i]);
              sum[i + 1] = fmaf(y * column.y, h ? factor1 : factor0, sum[i + 1]);
            }
          }
        }
        // All lanes have read them before one arrives for a later stage.
        __syncwarp();
        if (++buffer == EXP_BUFFERS)
          buffer = 0;
      }

#if SPLIT > 1
      if (tile.partial >= 0) {
        float *to = partials + ((i64)tile.partial * CLUSTER + rank) * (BM * BN) + rowInTile * BN + columnInTile;
#pragma unroll
        for (int j = 0; j < BN / 8; ++j)
#pragma unroll
          for (int h = 0; h < 2; ++h)
            *(float2 *)(to + h * (8 * BN) + 8 * j) = make_float2(sum[4 * j + 2 * h], sum[4 * j + 2 * h + 1]);
        __syncwarp();
        continue;
      }
#endif
#if STORES_LINES
      // Eight rows of 32 columns at a time.
      float4 *const lines = (float4 *)(smem + LINE_OFFSET) + (warp - 4) * 64;
      const u32 inRow = lane >> 2, inColumn = lane & 3;
#pragma unroll
      for (int i = 0; i < BN / 16; ++i) {
        const int from = i / 2 * 16 + i % 2 * 2;
        __syncwarp();
#pragma unroll
        for (u32 j = 0; j < 4; ++j)
          ((float2 *)(lines + inRow * 8 + ((2 * j + (inColumn >> 1)) ^ inRow)))[inColumn & 1] =
              make_float2(sum[from + 4 * j], sum[from + 4 * j + 1]);
        __syncwarp();
#pragma unroll
        for (u32 j = 0; j < 2; ++j) {
          const u32 line = 4 * j + (lane >> 3), piece = lane & 7;
          const float4 x = lines[line * 8 + (piece ^ line)];
          const i32 row = m + (i32)line - (i32)inRow + i % 2 * 8;
          const i32 column = n + (i32)(4 * piece) - (i32)(2 * inColumn) + i / 2 * 32;
          if (row < M && column < N)
            *(float4 *)(out + outOffset(tile.batch, row, column)) =
                make_float4(finish(OPERANDS, tile.batch, row, column, x.x), finish(OPERANDS, tile.batch, row, column + 1, x.y),
                            finish(OPERANDS, tile.batch, row, column + 2, x.z), finish(OPERANDS, tile.batch, row, column + 3, x.w));
        }
      }
#else
#pragma unroll
      for (int j = 0; j < BN / 8; ++j)
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const i32 row = m + 8 * h, column = n + 8 * j + e;
            if (row < M && column < N)
              out[outOffset(tile.batch, row, column)] = finish(OPERANDS, tile.batch, row, column, sum[4 * j + 2 * h + e]);
          }
#endif
      __syncwarp();
    }
  }
  __syncwarp();
#if SPLIT > 1
  launchNext();
#endif
#if CLUSTER > 1
  clusterSync();
#endif
}

#if SPLIT > 1
// Adds up the parts of the tiles that were split.
extern "C" __global__ void __launch_bounds__(256) combine(const float *partials, OUT_TYPE *out, OPERAND_PARAMETERS) {
  waitPrevious();
  constexpr u32 quads = BM * BN / 4;
  const u32 i = blockIdx.x * 256 + threadIdx.x;
  const u32 quad = i % quads, block = i / quads;
  const u32 rank = block % CLUSTER, tail = block / CLUSTER;
  if (tail >= (u32)(TAIL_TILES))
    return;
  const Tile tile = tileOf((u32)(FULL_TILES) + tail * SPLIT);
  const i32 m = (tile.row * CLUSTER_M + (i32)(rank % CLUSTER_M)) * BM + (i32)(quad / (BN / 4));
  const i32 n = (tile.column * CLUSTER_N + (i32)(rank / CLUSTER_M)) * BN + (i32)(quad % (BN / 4)) * 4;
  if (m >= M || n >= N)
    return;
  const float *from = partials + ((i64)tail * SPLIT * CLUSTER + rank) * (BM * BN) + quad * 4;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int part = 0; part < SPLIT; ++part) {
    const float4 v = *(const float4 *)(from + (i64)part * (CLUSTER * BM * BN));
    sum.x += v.x;
    sum.y += v.y;
    sum.z += v.z;
    sum.w += v.w;
  }
#if OUT_ALIGNED && OUT_IS_F32 && N % 4 == 0
  *(float4 *)(out + outOffset(tile.batch, m, n)) =
      make_float4(finish(OPERANDS, tile.batch, m, n, sum.x), finish(OPERANDS, tile.batch, m, n + 1, sum.y),
                  finish(OPERANDS, tile.batch, m, n + 2, sum.z), finish(OPERANDS, tile.batch, m, n + 3, sum.w));
#else
  const float values[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
  for (int j = 0; j < 4; ++j)
    if (n + j < N)
      out[outOffset(tile.batch, m, n + j)] = finish(OPERANDS, tile.batch, m, n + j, values[j]);
#endif
}
#endif
