// Sums of products of f32 that may be rounded to TF32, on operands as they lie: TMA rounds what it loads. Two
// warpgroups multiply 64 rows each, a thread of theirs loads ahead, blocks walk over the tiles. Tensor cores take from
// shared memory what lies along its terms alone; rows that do not go through registers.

#define BN 128 // tune: 64, 128, 192, 256
// Two blocks of a multiprocessor store and multiply in turns; one has more stages.
#define BLOCKS 2 // tune: 1, 2
#define SPLIT 1 // tune: 1, 2, 4, 8, 16, 32
#define BAND 8 // tune: 4, 8, 16

// Where B's terms do not lie together, or the result has few rows, the rows of a tile are the result's columns.
#define TURNED (!B_K_MAJOR || A_K_MAJOR && M <= 64 && N > M)
#define ROWS (TURNED ? N : M)
#define COLUMNS (TURNED ? M : N)
#define ROWS_K_MAJOR (TURNED ? B_K_MAJOR : A_K_MAJOR)

#define BM 128
#define K_STEP 32
#define K_STEPS ((K + K_STEP - 1) / K_STEP)
#define TILE_ROWS ((ROWS + BM - 1) / BM)
#define TILE_COLUMNS ((COLUMNS + BN - 1) / BN)
#define LAST_BAND (TILE_ROWS % BAND == 0 ? BAND : TILE_ROWS % BAND)
#define TILES_ALONE (BATCH * TILE_ROWS * TILE_COLUMNS)
#define TILES (TILES_ALONE * SPLIT)

#define GRID (TILES < BLOCKS * MULTIPROCESSORS ? TILES : BLOCKS * MULTIPROCESSORS)

// Operands as the tensor maps see them.
#define ROWS_INNER (ROWS_K_MAJOR ? K : ROWS)
#define ROWS_OUTER (ROWS_K_MAJOR ? ROWS : K)
#define A_BATCHES (A_BATCHED ? BATCH : 1)
#define B_BATCHES (B_BATCHED ? BATCH : 1)

// Shared memory: stages, lines to store from, barriers.
#define STORES_LINES (!TURNED && SPLIT == 1 && OUT_ALIGNED && OUT_BITS == 32)
#define LINE_BYTES (STORES_LINES ? 8192 : 0)
#define ROWS_STAGE (BM * 128)
#define STAGE_BYTES (ROWS_STAGE + BN * 128)
#define MOST_STAGES ((SHARED_LIMIT / BLOCKS - LINE_BYTES - 3072) / STAGE_BYTES)
#define STAGES (MOST_STAGES > 8 ? 8 : MOST_STAGES)
#define LINE_OFFSET (STAGES * STAGE_BYTES)
#define BARRIER_OFFSET (LINE_OFFSET + LINE_BYTES)
#define SHARED_BYTES (BARRIER_OFFSET + STAGES * 16 + 1024)

// The prelude has no product of TF32 whose rows are in registers.
#define WGMMA_ROWS_IN_REGISTERS(R, A0, A1, A2, A3, B, KEEP, shape)                                                     \
  static FASTK_DEVICE void multiplyRegisters(float (&d)[R], const u32 *a, u64 b, u32 keep) {                           \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #KEEP ", 0;\nwgmma.mma_async.sync.aligned." shape                \
                 ".f32.tf32.tf32 {" FASTK_REGS_##R "}, {%" #A0 ",%" #A1 ",%" #A2 ",%" #A3 "}, %" #B ", p, 1, 1;\n}"    \
                 : FASTK_ACC_##R(d) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));                  \
  }
#if BN == 64
WGMMA_ROWS_IN_REGISTERS(32, 32, 33, 34, 35, 36, 37, "m64n64k8")
#elif BN == 128
WGMMA_ROWS_IN_REGISTERS(64, 64, 65, 66, 67, 68, 69, "m64n128k8")
#elif BN == 192
WGMMA_ROWS_IN_REGISTERS(96, 96, 97, 98, 99, 100, 101, "m64n192k8")
#else
WGMMA_ROWS_IN_REGISTERS(128, 128, 129, 130, 131, 132, 133, "m64n256k8")
#endif

struct Tile {
  i32 batch, row, column, part, firstStep, endStep;
};

// Bands of rows: what neighbours in time load stays in L2.
static FASTK_DEVICE Tile tileOf(u32 t) {
  Tile tile;
  const u32 inBatch = t % (TILE_ROWS * TILE_COLUMNS), outer = t / (TILE_ROWS * TILE_COLUMNS);
  const u32 band = inBatch / (BAND * TILE_COLUMNS), inBand = inBatch % (BAND * TILE_COLUMNS);
  // Divided by constants: where there are few terms, tiles come often.
  const bool isShort = band == TILE_ROWS / BAND;
  tile.row = (i32)(band * BAND + (isShort ? inBand % LAST_BAND : inBand % BAND)) * BM;
  tile.column = (i32)(isShort ? inBand / LAST_BAND : inBand / BAND) * BN;
  tile.batch = (i32)(outer % BATCH);
  tile.part = (i32)(outer / BATCH);
  tile.firstStep = tile.part * K_STEPS / SPLIT;
  tile.endStep = (tile.part + 1) * K_STEPS / SPLIT;
  return tile;
}

// An element of the result, of the last row or column where there is none; a sum that is a part stays as it is.
#if SPLIT > 1
typedef float Made;
static FASTK_DEVICE Made make(OPERAND_PARAMETERS, const Tile &tile, i32 m, i32 n, float x, const Kept &kept) {
  return x;
}
#else
typedef OUT_TYPE Made;
static FASTK_DEVICE Made make(OPERAND_PARAMETERS, const Tile &tile, i32 m, i32 n, float x, const Kept &kept) {
  return finish(OPERANDS, tile.batch, m < M ? m : M - 1, n < N ? n : N - 1, x, kept);
}
#endif

static FASTK_DEVICE void store(OUT_TYPE *out, float *parts, const Tile &tile, i32 m, i32 n, Made made) {
  if (m >= M || n >= N)
    return;
#if SPLIT > 1
  parts[(((i64)tile.part * BATCH + tile.batch) * M + m) * N + n] = made;
#else
  out[outOffset(tile.batch, m, n)] = made;
#endif
}

// What sums of a row or a column of the result need, whose last neighbours may be none: of one that is multiplied as a
// row, and of one that is multiplied as a column.
#define KEPT_OF_MULTIPLIED_ROWS (TURNED == KEPT_OF_COLUMNS)
static FASTK_DEVICE Kept keepOf(OPERAND_PARAMETERS, i32 b, i32 row, i32 column) {
  const i32 m = TURNED ? column : row, n = TURNED ? row : column;
  return keep(OPERANDS, b, m < M ? m : M - 1, n < N ? n : N - 1);
}

// Stores the elements of columns n, which is even, and n + 1.
static FASTK_DEVICE void storePair(OUT_TYPE *out, float *parts, const Tile &tile, i32 m, i32 n, Made x, Made y) {
#if SPLIT == 1 && OUT_ALIGNED
  if (m >= M || n >= N)
    return;
  OUT_TYPE *to = out + outOffset(tile.batch, m, n);
#if OUT_BITS == 32
  *(float2 *)to = make_float2(x, y);
#else
  *(u32 *)to = (u32)x.bits | (u32)y.bits << 16;
#endif
#else
  store(out, parts, tile, m, n, x);
  store(out, parts, tile, m, n + 1, y);
#endif
}

// The row of the tile that a thread has as row g of its warp's 16 rows. Of 32 rows in shared memory that do not lie
// along their terms, each term has 128 bytes, whose pieces of 16 are swizzled. Neighbours are rows g and g + 8 of the
// product; which ones is such that no two of half a warp meet in a bank.
static FASTK_DEVICE u32 pieceOf(u32 warp, u32 g) { return 2 * (warp & 1) + (g >> 2) + 4 * (g >> 1 & 1); }
static FASTK_DEVICE i32 rowOf(u32 warp, u32 g) {
  return (i32)(ROWS_K_MAJOR ? 16 * warp + g : (warp >> 1) * 32 + pieceOf(warp, g) * 4 + (g & 1) * 2);
}

// What is to be loaded next, of the tiles of a block.
struct Loads {
  Tile tile;
  u32 t, stage, parity;
  i32 step;
  FASTK_DEVICE Loads() : tile(tileOf(blockIdx.x)), t(blockIdx.x), stage(0), parity(1), step(tile.firstStep) {}
};

static FASTK_DEVICE void loadNext(Loads &next, unsigned char *smem, const CUtensorMap *mapRows,
                                  const CUtensorMap *mapColumns) {
  if (next.t >= TILES)
    return;
  const Tile &tile = next.tile;
  const i32 bRows = (TURNED ? B_BATCHED : A_BATCHED) ? tile.batch : 0;
  const i32 bColumns = (TURNED ? A_BATCHED : B_BATCHED) ? tile.batch : 0;
  u64 *full = (u64 *)(smem + BARRIER_OFFSET) + next.stage;
  unsigned char *rows = smem + next.stage * STAGE_BYTES;
  const i32 k0 = next.step * K_STEP;
  mbarWait(full + STAGES, next.parity);
  mbarExpectTx(full, STAGE_BYTES);
  if (ROWS_K_MAJOR) {
    tmaLoad3D(rows, mapRows, full, k0, tile.row, bRows);
  } else {
#pragma unroll
    for (int i = 0; i < BM / 32; ++i)
      tmaLoad3D(rows + i * 4096, mapRows, full, tile.row + 32 * i, k0, bRows);
  }
  tmaLoad3D(rows + ROWS_STAGE, mapColumns, full, k0, tile.column, bColumns);
  if (++next.stage == STAGES) {
    next.stage = 0;
    next.parity ^= 1;
  }
  if (++next.step == tile.endStep) {
    next.t += gridDim.x;
    next.tile = tileOf(next.t);
    next.step = next.tile.firstStep;
  }
}

extern "C" __global__ void __launch_bounds__(256, BLOCKS)
contraction(const __grid_constant__ CUtensorMap mapRows, const __grid_constant__ CUtensorMap mapColumns, OUT_TYPE *out,
            float *parts, OPERAND_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  unsigned char *smem = raw + ((1024 - (smemAddr(raw) & 1023)) & 1023);
  u64 *full = (u64 *)(smem + BARRIER_OFFSET);
  u64 *empty = full + STAGES;
  const u32 warp = warpIndex();

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapRows);
    tmaPrefetchMap(&mapColumns);
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&empty[i], 8);
    }
    mbarInitFence();
  }
  __syncthreads();

  Loads next;
  if (threadIdx.x == 0)
#pragma unroll 1
    for (int i = 0; i < STAGES; ++i)
      loadNext(next, smem, &mapRows, &mapColumns);
  __syncwarp();

  const u32 w = warp >> 2, lane = threadIdx.x & 31, g = lane >> 2, c = lane & 3;
  const u32 base = smemAddr(smem);
  const u64 descRows = wgmmaDesc128B(base + w * 8192), descColumns = wgmmaDesc128B(base + ROWS_STAGE);
  const u32 piece = pieceOf(warp, g), ofRows = (2 * w + (warp >> 1 & 1)) * 4096;
  const u32 low0 = ofRows + c * 128 + ((piece ^ c) << 4) + (g & 1) * 8;
  const u32 high0 = ofRows + (c + 4) * 128 + ((piece ^ (c + 4)) << 4) + (g & 1) * 8;
  // From row g to row g + 8.
  const i32 toNext = ROWS_K_MAJOR ? 8 : 1;

  float d[BN / 2];
  u32 s = 0, parity = 0;
  // A stage is loaded again while the next one is multiplied.
  bool isFirst = true;
  for (u32 t = blockIdx.x; t < TILES; t += gridDim.x) {
    const Tile tile = tileOf(t);
#pragma unroll 1
    for (i32 step = tile.firstStep; step < tile.endStep; ++step) {
      mbarWait(&full[s], parity);
      const u64 at = (u64)(s * (STAGE_BYTES / 16));
      if (ROWS_K_MAJOR) {
        wgmmaFence();
#pragma unroll
        for (int k = 0; k < 4; ++k)
          wgmmaTF32(d, descRows + at + 2 * k, descColumns + at + 2 * k, k > 0 || step > tile.firstStep ? 1u : 0u);
        wgmmaCommit();
        if (threadIdx.x == 0 && !isFirst)
          loadNext(next, smem, &mapRows, &mapColumns);
        __syncwarp();
        wgmmaWait<0>();
      } else {
        u32 rows[16];
        const unsigned char *from = smem + s * STAGE_BYTES;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const uint2 low = *(const uint2 *)(from + low0 + k * 1024), high = *(const uint2 *)(from + high0 + k * 1024);
          rows[4 * k] = low.x;
          rows[4 * k + 1] = low.y;
          rows[4 * k + 2] = high.x;
          rows[4 * k + 3] = high.y;
        }
        wgmmaFence();
#pragma unroll
        for (int k = 0; k < 4; ++k)
          multiplyRegisters(d, rows + 4 * k, descColumns + at + 2 * k, k > 0 || step > tile.firstStep ? 1u : 0u);
        wgmmaCommit();
        if (threadIdx.x == 0 && !isFirst)
          loadNext(next, smem, &mapRows, &mapColumns);
        __syncwarp();
        wgmmaWait<0>();
        // They were read until now.
#pragma unroll
        for (int k = 0; k < 16; ++k)
          asm volatile("" : "+r"(rows[k])::"memory");
      }
      isFirst = false;
      if (lane == 0)
        mbarArrive(&empty[s]);
      if (++s == STAGES) {
        s = 0;
        parity ^= 1;
      }
    }
    wgmmaHold(d);

#if STORES_LINES
    // Eight rows of 32 columns at a time, so that a warp stores whole lines.
    float4 *lines = (float4 *)(smem + LINE_OFFSET + warp * 1024);
    Kept kept[4];
#if !KEPT_OF_COLUMNS
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      kept[i] = keepOf(OPERANDS, tile.batch, tile.row + rowOf(warp, i / 2 * 4 + (lane >> 3)) + (i32)(i % 2) * toNext, 0);
#endif
#pragma unroll
    for (int i = 0; i < BN / 16; ++i) {
      const int first = i / 2 * 16 + i % 2 * 2;
#if KEPT_OF_COLUMNS
      if (i % 2 == 0)
#pragma unroll
        for (i32 x = 0; x < 4; ++x)
          kept[x] = keepOf(OPERANDS, tile.batch, 0, tile.column + i / 2 * 32 + (i32)(lane & 7) * 4 + x);
#endif
      __syncwarp();
#pragma unroll
      for (u32 j = 0; j < 4; ++j)
        ((float2 *)(lines + g * 8 + (2 * j + (c >> 1) ^ g)))[c & 1] =
            make_float2(d[first + 4 * j], d[first + 4 * j + 1]);
      __syncwarp();
      float4 made[2];
#pragma unroll
      for (u32 j = 0; j < 2; ++j) {
        const u32 line = 4 * j + (lane >> 3);
        const float4 x = lines[line * 8 + (lane & 7 ^ line)];
        const i32 m = tile.row + rowOf(warp, line) + i % 2 * toNext, n = tile.column + i / 2 * 32 + (i32)(lane & 7) * 4;
        const Kept *const of = kept + (KEPT_OF_COLUMNS ? 0 : 2 * j + i % 2);
        constexpr u32 next = KEPT_OF_COLUMNS;
        made[j] =
            make_float4(make(OPERANDS, tile, m, n, x.x, of[0]), make(OPERANDS, tile, m, n + 1, x.y, of[next]),
                        make(OPERANDS, tile, m, n + 2, x.z, of[2 * next]), make(OPERANDS, tile, m, n + 3, x.w, of[3 * next]));
      }
#pragma unroll
      for (u32 j = 0; j < 2; ++j) {
        const i32 m = tile.row + rowOf(warp, 4 * j + (lane >> 3)) + i % 2 * toNext,
                  n = tile.column + i / 2 * 32 + (i32)(lane & 7) * 4;
        if (m < M && n < N)
          *(float4 *)(out + outOffset(tile.batch, m, n)) = made[j];
      }
    }
#else
    const i32 row = tile.row + rowOf(warp, g), column = tile.column + 2 * (i32)c;
#if KEPT_OF_MULTIPLIED_ROWS
    const Kept kept[2] = {keepOf(OPERANDS, tile.batch, row, 0), keepOf(OPERANDS, tile.batch, row + toNext, 0)};
#endif
    // What is loaded beside 32 columns of sums is on its way before any result is stored.
#pragma unroll
    for (int q = 0; q < BN / 32; ++q) {
      // Sums 4 * i and 4 * i + 1 are of row g and neighbouring columns, the others of row g + 8.
      Made made[16];
#if !KEPT_OF_MULTIPLIED_ROWS
      // A lane keeps what one of 32 columns needs.
      const Kept mine = keepOf(OPERANDS, tile.batch, 0, tile.column + 32 * q + (i32)lane);
#endif
#if TURNED
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const i32 inGroup = i / 2 * 8 + i % 2, m = column + 32 * q + inGroup;
#if !KEPT_OF_MULTIPLIED_ROWS
        const Kept ofColumn = keptOf(mine, (u32)inGroup + 2 * c), kept[2] = {ofColumn, ofColumn};
#endif
        made[2 * i] = make(OPERANDS, tile, m, row, d[16 * q + i / 2 * 4 + i % 2], kept[0]);
        made[2 * i + 1] = make(OPERANDS, tile, m, row + toNext, d[16 * q + i / 2 * 4 + i % 2 + 2], kept[1]);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const i32 m = column + 32 * q + i / 2 * 8 + i % 2;
#if ROWS_K_MAJOR
        store(out, parts, tile, m, row, made[2 * i]);
        store(out, parts, tile, m, row + toNext, made[2 * i + 1]);
#else
        storePair(out, parts, tile, m, row, made[2 * i], made[2 * i + 1]);
#endif
      }
#else
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const i32 inGroup = i / 4 * 8 + i % 2;
#if KEPT_OF_MULTIPLIED_ROWS
        const Kept &of = kept[i % 4 / 2];
#else
        const Kept of = keptOf(mine, (u32)inGroup + 2 * c);
#endif
        made[i] = make(OPERANDS, tile, row + i % 4 / 2 * toNext, column + 32 * q + inGroup, d[16 * q + i], of);
      }
#pragma unroll
      for (int i = 0; i < 16; i += 2)
        storePair(out, parts, tile, row + i % 4 / 2 * toNext, column + 32 * q + i / 4 * 8, made[i], made[i + 1]);
#endif
    }
#endif
  }
#if SPLIT > 1
  launchNext();
#endif
}

#if SPLIT > 1
// Adds the parts of an element, in their order.
extern "C" __global__ void __launch_bounds__(256) addParts(const float *parts, OUT_TYPE *out, OPERAND_PARAMETERS) {
  waitPrevious();
  constexpr i64 count = (i64)BATCH * M * N;
  const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
  if (i >= count)
    return;
  float sum = 0.0f;
#pragma unroll
  for (i32 part = 0; part < SPLIT; ++part)
    sum += parts[part * count + i];
  const i32 n = (i32)(i % N), m = (i32)(i / N % M), b = (i32)(i / N / M);
  out[outOffset(b, m, n)] = finish(OPERANDS, b, m, n, sum);
}
#endif
