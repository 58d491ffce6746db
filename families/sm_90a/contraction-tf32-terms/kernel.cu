// Sums of products of f32 as exact as f32, by three products of TF32 terms: x = hi + lo, where hi is x rounded to TF32
// (of columns cut to it, as tensor cores cut what they read) and lo is what is left. One warp loads tiles by TMA as
// they lie, three write the low terms of columns beside them and turn columns whose terms do not lie together, two
// warpgroups multiply 64 rows each, whose terms go through registers. Tensor cores cut what they add, so that sums of
// few terms are added to f32 sums. An operand that tensor maps cannot describe is written out before.

#define BN 64 // tune: 64, 128
#define SPLIT 1 // tune: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64
#define BAND 8 // tune: 4, 8, 16

// The operand whose terms lie together has the columns of a tile, of two such the one of few rows. Of two whose terms
// do not the columns are turned in shared memory.
#define TURNED (A_K_MAJOR == B_K_MAJOR ? M <= 64 && N > M : A_K_MAJOR)
#define ROWS (TURNED ? N : M)
#define COLUMNS (TURNED ? M : N)
#define ROWS_K_MAJOR (TURNED ? B_K_MAJOR : A_K_MAJOR)
#define COLUMNS_K_MAJOR (A_K_MAJOR || B_K_MAJOR)

#define BM 128
#define K_STEP 32
#define K_STEPS ((K + K_STEP - 1) / K_STEP)
#define TILE_ROWS ((ROWS + BM - 1) / BM)
#define TILE_COLUMNS ((COLUMNS + BN - 1) / BN)
#define LAST_BAND (TILE_ROWS % BAND == 0 ? BAND : TILE_ROWS % BAND)
#define TILES_ALONE (BATCH * TILE_ROWS * TILE_COLUMNS)
#define TILES (TILES_ALONE * SPLIT)
#define GRID (TILES < MULTIPROCESSORS ? TILES : MULTIPROCESSORS)

// Operands as the tensor maps see them: lines, and elements from line to line and from batch to batch. What is written
// out has its lines at multiples of 16 bytes.
#define A_BATCHES (A_BATCHED ? BATCH : 1)
#define A_INNER (A_K_MAJOR ? K : M)
#define A_OUTER (A_K_MAJOR ? M : K)
#define A_LINE (A_ALIGNED ? A_ROW_STRIDE : (A_INNER + 3) / 4 * 4)
#define A_BATCH (!A_BATCHED ? A_LINE : A_ALIGNED ? A_BATCH_STRIDE : A_OUTER * A_LINE)
#define B_BATCHES (B_BATCHED ? BATCH : 1)
#define B_INNER (B_K_MAJOR ? K : N)
#define B_OUTER (B_K_MAJOR ? N : K)
#define B_LINE (B_ALIGNED ? B_ROW_STRIDE : (B_INNER + 3) / 4 * 4)
#define B_BATCH (!B_BATCHED ? B_LINE : B_ALIGNED ? B_BATCH_STRIDE : B_OUTER * B_LINE)

// A warp writes a piece of a line, eight elements a lane.
#define WRITES_OUT (!A_ALIGNED || !B_ALIGNED)
#define PIECE 256
#define A_PIECES (A_ALIGNED ? 0 : A_BATCHES * A_OUTER * ((A_INNER + PIECE - 1) / PIECE))
#define B_PIECES (B_ALIGNED ? 0 : B_BATCHES * B_OUTER * ((B_INNER + PIECE - 1) / PIECE))

// Where a block has many short tiles, it stores one while the next is multiplied, which takes registers.
#define OVERLAPS (TILES > MULTIPROCESSORS && K_STEPS <= 32)
#define STORES_TILES (SPLIT == 1 && OUT_ALIGNED && OUT_BITS == 32)

// Shared memory: stages of rows, columns and the columns' terms; of each warpgroup boxes of 32 columns of the result to
// store from; barriers.
#define OUT_BYTES (STORES_TILES ? BM * BN * 4 : 0)
#define ROWS_STAGE (BM * 128)
#define COLUMNS_STAGE (BN * 128)
#define LOADED_BYTES (ROWS_STAGE + COLUMNS_STAGE)
// High terms of columns are what was loaded, but where they are turned; low terms are behind.
#define HIGH_PLACE (COLUMNS_K_MAJOR ? ROWS_STAGE : LOADED_BYTES)
#define LOW_PLACE (HIGH_PLACE + COLUMNS_STAGE)
#define STAGE_BYTES (LOW_PLACE + COLUMNS_STAGE)
#define MOST_STAGES ((SHARED_LIMIT - OUT_BYTES - 3072) / STAGE_BYTES)
#define STAGES (MOST_STAGES > 8 ? 8 : MOST_STAGES)
#define OUT_PLACE (STAGES * STAGE_BYTES)
#define BARRIER_OFFSET (OUT_PLACE + OUT_BYTES)
#define SHARED_BYTES (BARRIER_OFFSET + STAGES * 24 + 1024)

// The prelude has no product of TF32 whose rows are in registers.
#define WGMMA_ROWS_IN_REGISTERS(R, A0, A1, A2, A3, B, KEEP, shape)                                                     \
  static FASTK_DEVICE void multiplyRegisters(float (&d)[R], const u32 *a, u64 b, u32 keep) {                           \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #KEEP ", 0;\nwgmma.mma_async.sync.aligned." shape                \
                 ".f32.tf32.tf32 {" FASTK_REGS_##R "}, {%" #A0 ",%" #A1 ",%" #A2 ",%" #A3 "}, %" #B ", p, 1, 1;\n}"    \
                 : FASTK_ACC_##R(d)                                                                                    \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));                                     \
  }
#if BN == 64
WGMMA_ROWS_IN_REGISTERS(32, 32, 33, 34, 35, 36, 37, "m64n64k8")
#else
WGMMA_ROWS_IN_REGISTERS(64, 64, 65, 66, 67, 68, 69, "m64n128k8")
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

// A place in the ring of stages.
struct Stage {
  u32 index = 0, parity = 0;
  FASTK_DEVICE void next() {
    if (++index == STAGES) {
      index = 0;
      parity ^= 1;
    }
  }
};

#if WRITES_OUT
template <i32 Inner, i32 Outer, i32 Line, typename ElementOf>
static FASTK_DEVICE void writePiece(float *to, u32 index, u32 lane, const ElementOf &elementOf) {
  constexpr u32 pieces = (Inner + PIECE - 1) / PIECE;
  const u32 line = index / pieces;
  const i32 first = (i32)(index % pieces * PIECE + lane);
  float x[PIECE / 32];
#pragma unroll
  for (i32 i = 0; i < PIECE; i += 32)
    if (first + i < Inner)
      x[i / 32] = elementOf((i32)(line / Outer), (i32)(line % Outer), first + i);
#pragma unroll
  for (i32 i = 0; i < PIECE; i += 32)
    if (first + i < Inner)
      to[(i64)line * Line + first + i] = x[i / 32];
}

// Writes out what tensor maps cannot describe as it lies.
extern "C" __global__ void __launch_bounds__(256) writeOut(float *writtenA, float *writtenB, OPERAND_PARAMETERS) {
  launchNext();
  const u32 index = blockIdx.x * 8 + warpIndex(), lane = threadIdx.x & 31;
#if !A_ALIGNED
  if (index < A_PIECES)
    writePiece<A_INNER, A_OUTER, A_LINE>(writtenA, index, lane, [&](i32 batch, i32 line, i32 i) {
      return (float)elementA(OPERANDS, batch, A_K_MAJOR ? line : i, A_K_MAJOR ? i : line);
    });
#endif
#if !B_ALIGNED
  if (index >= A_PIECES && index < A_PIECES + B_PIECES)
    writePiece<B_INNER, B_OUTER, B_LINE>(writtenB, index - A_PIECES, lane, [&](i32 batch, i32 line, i32 i) {
      return (float)elementB(OPERANDS, batch, B_K_MAJOR ? line : i, B_K_MAJOR ? i : line);
    });
#endif
}
#endif

static FASTK_DEVICE void loadTiles(unsigned char *smem, u64 *full, u64 *empty, const CUtensorMap *mapRows,
                                   const CUtensorMap *mapColumns) {
#if WRITES_OUT
  waitPrevious();
#endif
  Stage stage;
#pragma unroll 1
  for (u32 t = blockIdx.x; t < TILES; t += gridDim.x) {
    const Tile tile = tileOf(t);
    const i32 bRows = (TURNED ? B_BATCHED : A_BATCHED) ? tile.batch : 0;
    const i32 bColumns = (TURNED ? A_BATCHED : B_BATCHED) ? tile.batch : 0;
#pragma unroll 1
    for (i32 step = tile.firstStep; step < tile.endStep; ++step) {
      unsigned char *rows = smem + stage.index * STAGE_BYTES;
      u64 *bar = full + stage.index;
      const i32 k0 = step * K_STEP;
      mbarWait(empty + stage.index, stage.parity ^ 1);
      mbarExpectTx(bar, LOADED_BYTES);
      if (ROWS_K_MAJOR) {
        tmaLoad3D(rows, mapRows, bar, k0, tile.row, bRows);
      } else {
#pragma unroll
        for (int i = 0; i < BM / 32; ++i)
          tmaLoad3D(rows + i * 4096, mapRows, bar, tile.row + 32 * i, k0, bRows);
      }
      if (COLUMNS_K_MAJOR) {
        tmaLoad3D(rows + ROWS_STAGE, mapColumns, bar, k0, tile.column, bColumns);
      } else {
#pragma unroll
        for (int i = 0; i < BN / 32; ++i)
          tmaLoad3D(rows + ROWS_STAGE + i * 4096, mapColumns, bar, tile.column + 32 * i, k0, bColumns);
      }
      stage.next();
    }
  }
}

// What tensor cores make of x + half a unit of TF32 when they cut it is x rounded. Conversions are slower. What is not
// finite may become anything here: the other term is not finite then.
static FASTK_DEVICE u32 roundedWhenCut(float x) { return __float_as_uint(x) + 0x1000u; }
static FASTK_DEVICE float cut(u32 x) { return __uint_as_float(x & 0xffffe000u); }

static FASTK_DEVICE u32 lowOfCut(float x) { return roundedWhenCut(x - cut(__float_as_uint(x))); }

static FASTK_DEVICE uint4 lowOfCut(float4 x) {
  uint4 low;
  low.x = lowOfCut(x.x);
  low.y = lowOfCut(x.y);
  low.z = lowOfCut(x.z);
  low.w = lowOfCut(x.w);
  return low;
}

#if COLUMNS_K_MAJOR
// Low terms lie as what they are of, whose swizzle does not matter so.
static FASTK_DEVICE void writeTerms(unsigned char *stage, u32 warp, u32 lane) {
  constexpr u32 lines = BN / 4, each = (lines + 2) / 3;
  const float4 *from = (const float4 *)(stage + HIGH_PLACE) + lane;
  uint4 *to = (uint4 *)(stage + LOW_PLACE) + lane;
  float4 x[each];
#pragma unroll
  for (u32 i = 0; i < each; ++i)
    if (3 * i + warp < lines)
      x[i] = from[(3 * i + warp) * 32];
#pragma unroll
  for (u32 i = 0; i < each; ++i)
    if (3 * i + warp < lines)
      to[(3 * i + warp) * 32] = lowOfCut(x[i]);
}
#else
// Turns columns: a thread has four terms of four of them. Of eight neighbours no two have the same terms or the same
// columns, so that none meet in a bank, where they read and where they write.
static FASTK_DEVICE void writeTerms(unsigned char *stage, u32 warp, u32 lane) {
#pragma unroll
  for (u32 i = warp; i < BN / 16; i += 3) {
    const u32 ofK = lane & 7, ofN = ofK + (lane >> 3) + i % 2 * 4 & 7;
    const unsigned char *from = stage + ROWS_STAGE + i / 2 * 4096 + ofK * 512;
    float4 x[4];
#pragma unroll
    for (u32 k = 0; k < 4; ++k)
      x[k] = *(const float4 *)(from + k * 128 + ((ofN ^ (ofK * 4 + k & 7)) << 4));
    const float4 turned[4] = {make_float4(x[0].x, x[1].x, x[2].x, x[3].x), make_float4(x[0].y, x[1].y, x[2].y, x[3].y),
                              make_float4(x[0].z, x[1].z, x[2].z, x[3].z), make_float4(x[0].w, x[1].w, x[2].w, x[3].w)};
    unsigned char *to = stage + HIGH_PLACE + i / 2 * 4096 + ofN * 512;
#pragma unroll
    for (u32 n = 0; n < 4; ++n) {
      const u32 at = n * 128 + ((ofK ^ (ofN * 4 + n & 7)) << 4);
      *(float4 *)(to + at) = turned[n];
      *(uint4 *)(to + COLUMNS_STAGE + at) = lowOfCut(turned[n]);
    }
  }
}
#endif

static FASTK_DEVICE void splitColumns(unsigned char *smem, u64 *full, u64 *written, u32 warp, u32 lane) {
  Stage stage;
#pragma unroll 1
  for (u32 t = blockIdx.x; t < TILES; t += gridDim.x) {
    const Tile tile = tileOf(t);
#pragma unroll 1
    for (i32 step = tile.firstStep; step < tile.endStep; ++step) {
      mbarWait(full + stage.index, stage.parity);
      writeTerms(smem + stage.index * STAGE_BYTES, warp, lane);
      fenceAsyncShared();
      __syncwarp();
      if (lane == 0)
        mbarArrive(written + stage.index);
      stage.next();
    }
  }
}

// A thread's sums anew, from the elements as they are, where what is not finite has no terms.
static FASTK_DEVICE void sumExactly(float (&sum)[BN / 2], const Tile &tile, i32 row, i32 column, i32 toNext,
                                    OPERAND_PARAMETERS) {
#pragma unroll
  for (int i = 0; i < BN / 2; ++i)
    sum[i] = 0.0f;
  const i32 end = tile.endStep * K_STEP < K ? tile.endStep * K_STEP : K;
  const i32 row0 = row < ROWS ? row : ROWS - 1, row1 = row + toNext < ROWS ? row + toNext : ROWS - 1;
#pragma unroll 1
  for (i32 k = tile.firstStep * K_STEP; k < end; ++k) {
#if TURNED
#define ROW_ELEMENT(i) elementB(OPERANDS, tile.batch, i, k)
#define COLUMN_ELEMENT(i) elementA(OPERANDS, tile.batch, i, k)
#else
#define ROW_ELEMENT(i) elementA(OPERANDS, tile.batch, i, k)
#define COLUMN_ELEMENT(i) elementB(OPERANDS, tile.batch, i, k)
#endif
    const float x0 = ROW_ELEMENT(row0), x1 = ROW_ELEMENT(row1);
#pragma unroll
    for (int i = 0; i < BN / 4; ++i) {
      const i32 at = column + i / 2 * 8 + i % 2;
      const float y = COLUMN_ELEMENT(at < COLUMNS ? at : COLUMNS - 1);
      sum[i / 2 * 4 + i % 2] = fmaf(x0, y, sum[i / 2 * 4 + i % 2]);
      sum[i / 2 * 4 + i % 2 + 2] = fmaf(x1, y, sum[i / 2 * 4 + i % 2 + 2]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(384, 1)
contraction(const __grid_constant__ CUtensorMap mapRows, const __grid_constant__ CUtensorMap mapColumns,
#if STORES_TILES
            const __grid_constant__ CUtensorMap mapOut,
#endif
            OUT_TYPE *out, float *parts, OPERAND_PARAMETERS) {
  extern __shared__ unsigned char raw[];
  unsigned char *smem = raw + ((1024 - (smemAddr(raw) & 1023)) & 1023);
  u64 *full = (u64 *)(smem + BARRIER_OFFSET);
  u64 *written = full + STAGES, *empty = written + STAGES;
  const u32 ofBlock = warpIndex(), lane = threadIdx.x & 31;

  if (threadIdx.x == 0) {
    tmaPrefetchMap(&mapRows);
    tmaPrefetchMap(&mapColumns);
    for (int i = 0; i < STAGES; ++i) {
      mbarInit(&full[i], 1);
      mbarInit(&written[i], 3);
      mbarInit(&empty[i], 8);
    }
    mbarInitFence();
  }
  __syncthreads();

  if (ofBlock < 4) {
    registersDown<72>();
    if (ofBlock > 0)
      splitColumns(smem, full, written, ofBlock - 1, lane);
    else if (lane == 0)
      loadTiles(smem, full, empty, &mapRows, &mapColumns);
    __syncwarp();
  } else {
    registersUp<216>();
    const u32 warp = ofBlock - 4, w = warp >> 2, g = lane >> 2, c = lane & 3;
    const u64 descColumns = wgmmaDesc128B(smemAddr(smem) + HIGH_PLACE);
    // Where rows lie along their terms, a thread reads terms c and c + 4 of every eight.
    const u32 line = (16 * warp + g) * 128 + c * 4;
    const u32 piece = pieceOf(warp, g), ofRows = (2 * w + (warp >> 1 & 1)) * 4096;
    const u32 low0 = ofRows + c * 128 + ((piece ^ c) << 4) + (g & 1) * 8;
    const u32 high0 = ofRows + (c + 4) * 128 + ((piece ^ (c + 4)) << 4) + (g & 1) * 8;
    // From row g to row g + 8.
    const i32 toNext = ROWS_K_MAJOR ? 8 : 1;

    float d[BN / 2], sum[BN / 2];
    Stage stage;
    const auto loadRows = [&](float (&x)[16]) {
      const unsigned char *from = smem + stage.index * STAGE_BYTES;
      mbarWait(&full[stage.index], stage.parity);
#pragma unroll
      for (u32 k = 0; k < 4; ++k) {
        if (ROWS_K_MAJOR) {
          const unsigned char *low = from + line + ((2 * k ^ g) << 4), *high = from + line + ((2 * k + 1 ^ g) << 4);
          x[4 * k] = *(const float *)low;
          x[4 * k + 1] = *(const float *)(low + 1024);
          x[4 * k + 2] = *(const float *)high;
          x[4 * k + 3] = *(const float *)(high + 1024);
        } else {
          const float2 low = *(const float2 *)(from + low0 + k * 1024),
                       high = *(const float2 *)(from + high0 + k * 1024);
          x[4 * k] = low.x;
          x[4 * k + 1] = low.y;
          x[4 * k + 2] = high.x;
          x[4 * k + 3] = high.y;
        }
      }
    };
    // Stores a thread's sums of a tile.
    const auto storeSums = [&](const Tile &tile) {
      bool isFinite = true;
#pragma unroll
      for (int i = 0; i < BN / 2; ++i)
        isFinite = isFinite && (__float_as_uint(sum[i]) & 0x7f800000u) != 0x7f800000u;
      const i32 row = tile.row + rowOf(warp, g), column = tile.column + 2 * (i32)c;
      if (!isFinite)
        sumExactly(sum, tile, row, column, toNext, OPERANDS);
      __syncwarp();
#if STORES_TILES
      unsigned char *const tiles = smem + OUT_PLACE + w * (OUT_BYTES / 2);
      const u32 ofRow = (u32)rowOf(warp, g) - 64 * w;
      const bool isFirst = (threadIdx.x & 127) == 0;
      // What was stored before has left shared memory.
      if (isFirst)
        bulkWaitRead<0>();
      barSync(3 + w, 128);
#endif
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
          made[2 * i] = make(OPERANDS, tile, m, row, sum[16 * q + i / 2 * 4 + i % 2], kept[0]);
          made[2 * i + 1] = make(OPERANDS, tile, m, row + toNext, sum[16 * q + i / 2 * 4 + i % 2 + 2], kept[1]);
        }
#if STORES_TILES
        // What is multiplied as a column is a line of shared memory.
        unsigned char *const to = tiles + (ofRow >> 5) * (BN * 128) + (32 * q + 2 * c) * 128 + (ofRow & 3) * 4;
        const u32 piece = ofRow >> 2 & 7;
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
#if ROWS_K_MAJOR
#pragma unroll
          for (u32 h = 0; h < 2; ++h) {
            unsigned char *const line = to + (8 * j + h) * 128;
            *(float *)(line + ((piece ^ (2 * c + h)) << 4)) = made[4 * j + 2 * h];
            *(float *)(line + ((piece + 2 ^ (2 * c + h)) << 4)) = made[4 * j + 2 * h + 1];
          }
#else
          // Half a warp fills all banks at once if half of it takes the second line first.
          const u32 turn = c >> 1;
          const float2 low = make_float2(made[4 * j], made[4 * j + 1]);
          const float2 high = make_float2(made[4 * j + 2], made[4 * j + 3]);
          unsigned char *const line = to + 8 * j * 128;
          *(float2 *)(line + turn * 128 + ((piece ^ (2 * c + turn)) << 4)) = turn ? high : low;
          *(float2 *)(line + (turn ^ 1) * 128 + ((piece ^ (2 * c + (turn ^ 1))) << 4)) = turn ? low : high;
#endif
        }
#else
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
#endif
#else
#pragma unroll
        for (int i = 0; i < 16; ++i) {
          const i32 inGroup = i / 4 * 8 + i % 2;
#if KEPT_OF_MULTIPLIED_ROWS
          const Kept &of = kept[i % 4 / 2];
#else
          const Kept of = keptOf(mine, (u32)inGroup + 2 * c);
#endif
          made[i] = make(OPERANDS, tile, row + i % 4 / 2 * toNext, column + 32 * q + inGroup, sum[16 * q + i], of);
        }
#if STORES_TILES
        // A warp fills all banks at once if its odd rows take the columns behind first.
        const u32 turn = (ROWS_K_MAJOR ? g : g >> 1) & 1;
#pragma unroll
        for (u32 h = 0; h < 2; ++h) {
          const u32 r = ofRow + h * (u32)toNext;
          unsigned char *const to = tiles + q * 8192 + r * 128 + (c & 1) * 8;
#pragma unroll
          for (u32 j = 0; j < 2; ++j) {
            const float2 low = make_float2(made[4 * j + 2 * h], made[4 * j + 2 * h + 1]);
            const float2 high = make_float2(made[4 * j + 2 * h + 8], made[4 * j + 2 * h + 9]);
            const u32 piece = 2 * j + (c >> 1) ^ r & 7;
            *(float2 *)(to + ((piece ^ 4 * turn) << 4)) = turn ? high : low;
            *(float2 *)(to + ((piece ^ 4 * (turn ^ 1)) << 4)) = turn ? low : high;
          }
        }
#else
#pragma unroll
        for (int i = 0; i < 16; i += 2)
          storePair(out, parts, tile, row + i % 4 / 2 * toNext, column + 32 * q + i / 4 * 8, made[i], made[i + 1]);
#endif
#endif
      }
#if STORES_TILES
      fenceAsyncShared();
      barSync(3 + w, 128);
      if (isFirst) {
#pragma unroll
        for (int q = 0; q < (TURNED ? 2 : BN / 32); ++q)
#if TURNED
          tmaStore3D(&mapOut, tiles + q * BN * 128, tile.row + 64 * (i32)w + 32 * q, tile.column, tile.batch);
#else
          tmaStore3D(&mapOut, tiles + q * 8192, tile.column + 32 * q, tile.row + 64 * (i32)w, tile.batch);
#endif
        bulkCommit();
      }
#endif
    };

    // The warpgroups multiply in turns: one splits rows meanwhile.
    if (w == 1)
      barArrive(1, 256);

    Tile before{};
    bool isStored = true;
#pragma unroll 1
    for (u32 t = blockIdx.x; t < TILES; t += gridDim.x) {
      const Tile tile = tileOf(t);
      float x[16];
      loadRows(x);
#pragma unroll 1
      for (i32 step = tile.firstStep; step < tile.endStep; ++step) {
        u32 hi[16], lo[16];
#pragma unroll
        for (int i = 0; i < 16; ++i) {
          hi[i] = roundedWhenCut(x[i]);
          lo[i] = __float_as_uint(x[i] - cut(hi[i]));
        }
        mbarWait(&written[stage.index], stage.parity);
        const u64 columns = descColumns + (u64)(stage.index * (STAGE_BYTES / 16));
        barSync(1 + w, 256);
        wgmmaFence();
        // What is small first, so that little is cut.
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
          multiplyRegisters(d, lo + 4 * k, columns + 2 * k, k > 0 ? 1u : 0u);
          multiplyRegisters(d, hi + 4 * k, columns + COLUMNS_STAGE / 16 + 2 * k, 1u);
        }
#pragma unroll
        for (u32 k = 0; k < 4; ++k)
          multiplyRegisters(d, hi + 4 * k, columns + 2 * k, 1u);
        wgmmaCommit();
        barArrive(2 - w, 256);
        if (OVERLAPS && !isStored) {
          storeSums(before);
          isStored = true;
        }
        if (step == tile.firstStep)
#pragma unroll
          for (int i = 0; i < BN / 2; ++i)
            sum[i] = 0.0f;
        // The next rows are on their way meanwhile.
        u64 *const multiplied = &empty[stage.index];
        stage.next();
        if (step + 1 < tile.endStep)
          loadRows(x);
        wgmmaWait<0>();
        // They were read until now.
#pragma unroll
        for (int i = 0; i < 16; ++i)
          asm volatile("" : "+r"(hi[i]), "+r"(lo[i])::"memory");
        if (lane == 0)
          mbarArrive(multiplied);
        wgmmaHold(d);
#pragma unroll
        for (int i = 0; i < BN / 2; ++i)
          sum[i] += d[i];
      }
      if (OVERLAPS) {
        before = tile;
        isStored = false;
      } else {
        storeSums(tile);
      }
    }
    if (OVERLAPS)
      storeSums(before);
#if STORES_TILES
    if ((threadIdx.x & 127) == 0)
      bulkWaitRead<0>();
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
