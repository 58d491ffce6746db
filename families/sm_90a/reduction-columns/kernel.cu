// Statistics of rows that lie together, column beside column, and what is made of them. A thread has as many neighbouring
// rows as it loads at once and every so many columns of them; the columns of a row are spread over the threads of a block,
// the blocks of a cluster, or PARTS blocks that meet in a workspace between launches. What fits stays in registers and then
// in shared memory and is loaded once, whatever the number of stages; the rest is loaded again in each.

#define THREADS 256 // tune: 64, 128, 256, 512
#define ROW_LANES 8 // tune: 1, 2, 4, 8, 16, 32, 128
#define CLUSTER 1 // tune: 1, 2, 4, 8
#define PARTS 1 // tune: 1, 4, 8, 16, 33, 66, 132, 264, 528
#define REGISTER_BYTES 128 // tune: 64, 128, 256
#define SHARED_KB 0 // tune: 0, 100, 200
#define ONCE_MB 200 // tune: 0, 200, 1000000
#define BATCH_BYTES 64 // tune: 32, 64, 128
#define SPARE 32 // tune: 24, 32, 48

#define COLUMN_LANES (THREADS / ROW_LANES)
#define WARPS (THREADS / 32)
#define TEAM (COLUMN_LANES * CLUSTER * PARTS)
#define TILE_ROWS (ROW_LANES * ROW_VECTOR)
#define ROW_GROUPS (ROWS / ROW_VECTOR)
#define TILES ((ROW_GROUPS + ROW_LANES - 1) / ROW_LANES)
#define GRID (TILES * CLUSTER * PARTS)

// A thread loads ROW_VECTOR rows of a column at once, and has STEPS columns.
#define VECTOR_BYTES (ROW_VECTOR * VALUE_BYTES)
#define VECTOR_WORDS ((VECTOR_BYTES + 3) / 4)
#define STEPS ((COLUMNS + TEAM - 1) / TEAM)
// Only what is asked for again is kept.
#define KEEPS (PARTS == 1 && (STAGES > 1 || !PER_ROW))
#define MOST_KEPT (REGISTER_BYTES / (VECTOR_WORDS * 4) < 1 ? 1 : REGISTER_BYTES / (VECTOR_WORDS * 4))
#define KEPT (!KEEPS ? 0 : STEPS < MOST_KEPT ? STEPS : MOST_KEPT)
#define STEP_BYTES (THREADS * VECTOR_WORDS * 4)
#define MOST_SHARED (SHARED_KB * 1024 / STEP_BYTES)
#define IN_SHARED (!KEEPS ? 0 : STEPS - KEPT < MOST_SHARED ? STEPS - KEPT : MOST_SHARED)
#define HELD (KEPT + IN_SHARED)
#define HELD_BYTES (IN_SHARED * STEP_BYTES)
// Loads under way of what is not kept in registers.
#define MOST_BATCH (BATCH_BYTES / VECTOR_BYTES < 1 ? 1 : BATCH_BYTES / VECTOR_BYTES)
#define BATCH (MOST_BATCH > 8 ? 8 : MOST_BATCH)
// Many elements narrower than a register stay packed: the compiler would unpack them once and keep the results.
#define PACKED (VALUE_BYTES % 4 != 0 && KEPT * ROW_VECTOR > 32)

#define STATISTICS_WORDS (STATISTICS_BYTES / 4)
#define LIVE (PACKED ? KEPT * VECTOR_WORDS : VALUE_BYTES % 4 ? KEPT * ROW_VECTOR : KEPT * VECTOR_WORDS)
#define REGISTERS (LIVE + SPARE + 2 * ROW_VECTOR * STATISTICS_WORDS + (KEPT < STEPS ? BATCH * VECTOR_WORDS : 0))

// Statistics that the threads of a tile's rows exchange: after the shuffles of a warp there are SLOTS of each row in a
// block. Two sets by turns: who writes one again has met all who read it.
#define SLOTS (ROW_LANES < 32 ? WARPS : COLUMN_LANES)
#define SLOT_WORDS (SLOTS > 1 ? STATISTICS_WORDS * SLOTS * TILE_ROWS : 0)
#define BLOCK_WORDS (CLUSTER > 1 ? STATISTICS_WORDS * CLUSTER * TILE_ROWS : 0)
#define EXCHANGE_BYTES (2 * 4 * (SLOT_WORDS + BLOCK_WORDS))
#define SHARED_BYTES (HELD_BYTES + EXCHANGE_BYTES)

#define MOST_BLOCKS (65536 / (THREADS * REGISTERS))
#define FULL_BLOCKS (2048 / THREADS > 32 ? 32 : 2048 / THREADS)
#define SHARED_BLOCKS (SHARED_BYTES > 0 ? SHARED_LIMIT / (SHARED_BYTES + 1024) : 32)
#define BLOCKS_BY_REGISTERS (MOST_BLOCKS < 1 ? 1 : MOST_BLOCKS > FULL_BLOCKS ? FULL_BLOCKS : MOST_BLOCKS)
#define BLOCKS_BY_SHARED (SHARED_BLOCKS < BLOCKS_BY_REGISTERS ? SHARED_BLOCKS : BLOCKS_BY_REGISTERS)
#define BLOCKS (BLOCKS_BY_SHARED < 1 ? 1 : BLOCKS_BY_SHARED)

// In the workspace: of each stage, word and part a plane of rows; then the statistics that are complete, word by word.
#define PART_WORDS (STATISTICS_WORDS * PARTS * ROWS)
#define DONE_WORDS (STATISTICS_WORDS * ROWS)
// Parts are joined by blocks of 32 rows; their lanes read neighbouring rows.
#define JOIN_WARPS (PARTS >= 256 ? 32 : PARTS >= 64 ? 16 : 8)

struct Words {
  u32 at[STATISTICS_WORDS];
};

static FASTK_DEVICE Words wordsOfStatistics(const Statistics &s) {
  Words words;
  memcpy(&words, &s, STATISTICS_BYTES);
  return words;
}

static FASTK_DEVICE Statistics statisticsOf(const Words &words) {
  Statistics s;
  memcpy(&s, &words, STATISTICS_BYTES);
  return s;
}

static FASTK_DEVICE Statistics nothing() {
  Words words;
#pragma unroll
  for (int k = 0; k < STATISTICS_WORDS; ++k)
    words.at[k] = 0;
  return statisticsOf(words);
}

// Of a thread's rows.
struct Sums {
  Statistics of[ROW_VECTOR];
};

template <int STAGE> FASTK_DEVICE void beginSums(Sums &sums) {
#pragma unroll
  for (int j = 0; j < ROW_VECTOR; ++j) {
    sums.of[j] = nothing();
    beginStage<STAGE>(sums.of[j]);
  }
}

template <int STAGE> FASTK_DEVICE void write(u32 *to, int stride, const Statistics &s) {
  const Words words = wordsOfStatistics(s);
#pragma unroll
  for (int k = 0; k < STATISTICS_WORDS; ++k)
    if (stageWords<STAGE>() >> k & 1)
      to[k * stride] = words.at[k];
}

// Joins N statistics of each of a thread's rows, which lie TILE_ROWS apart.
template <int STAGE, int N> FASTK_DEVICE void readJoined(Sums &sums, const u32 *from) {
  beginSums<STAGE>(sums);
#pragma unroll 4
  for (int slot = 0; slot < N; ++slot) {
#pragma unroll
    for (int j = 0; j < ROW_VECTOR; ++j) {
      Words words = wordsOfStatistics(sums.of[j]);
#pragma unroll
      for (int k = 0; k < STATISTICS_WORDS; ++k)
        if (stageWords<STAGE>() >> k & 1)
          words.at[k] = from[(k * N + slot) * TILE_ROWS + j];
      joinStage<STAGE>(sums.of[j], statisticsOf(words));
    }
  }
}

// A thread's place: the first of its rows, where that is in the tile, and which of the columns are its own.
struct Place {
  i32 row, rank;
  u32 tileRow, columnLane;
  FASTK_DEVICE i32 column(int step) const { return step * TEAM + rank; }
};

// Joins the statistics of all threads of a block, or cluster, that have the same rows; all of them have the result.
template <int STAGE> FASTK_DEVICE void joinTeam(Sums &sums, const Place &place, u32 *exchange) {
  if constexpr (ROW_LANES < 32) {
#pragma unroll
    for (int o = ROW_LANES; o < 32; o <<= 1) {
#pragma unroll
      for (int j = 0; j < ROW_VECTOR; ++j) {
        Words words = wordsOfStatistics(sums.of[j]);
#pragma unroll
        for (int k = 0; k < STATISTICS_WORDS; ++k)
          if (stageWords<STAGE>() >> k & 1)
            words.at[k] = __shfl_xor_sync(0xffffffffu, words.at[k], o);
        joinStage<STAGE>(sums.of[j], statisticsOf(words));
      }
    }
  }
  if constexpr (SLOTS > 1) {
    u32 *slots = exchange + (STAGE & 1) * SLOT_WORDS + place.tileRow;
    const u32 slot = ROW_LANES < 32 ? threadIdx.x / 32 : place.columnLane;
    if (ROW_LANES >= 32 || threadIdx.x % 32 < ROW_LANES) {
#pragma unroll
      for (int j = 0; j < ROW_VECTOR; ++j)
        write<STAGE>(slots + slot * TILE_ROWS + j, SLOTS * TILE_ROWS, sums.of[j]);
    }
    __syncthreads();
    readJoined<STAGE, SLOTS>(sums, slots);
  }
  if constexpr (CLUSTER > 1) {
    // Another block's shared memory is there once that block has said so.
    if constexpr (STAGE == 0)
      clusterWait();
    u32 *blocks = exchange + 2 * SLOT_WORDS + (STAGE & 1) * BLOCK_WORDS + place.tileRow;
    for (u32 to = place.columnLane; to < CLUSTER; to += COLUMN_LANES) {
#pragma unroll
      for (int j = 0; j < ROW_VECTOR; ++j) {
        const Words words = wordsOfStatistics(sums.of[j]);
#pragma unroll
        for (int k = 0; k < STATISTICS_WORDS; ++k)
          if (stageWords<STAGE>() >> k & 1)
            storeCluster(mapaShared(smemAddr(blocks + (k * CLUSTER + ctaRank()) * TILE_ROWS + j), to),
                         __int_as_float((int)words.at[k]));
      }
    }
    clusterSync();
    readJoined<STAGE, CLUSTER>(sums, blocks);
  }
}

// Whether a thread has a column at that step: only the last may lack some.
static FASTK_DEVICE bool isThere(const Place &place, int step) {
  if (COLUMNS % TEAM == 0 || step < STEPS - 1)
    return true;
  return place.column(step) < COLUMNS;
}

// What is read once leaves L2 first: where something else is read again, and where so little is read in all that what
// earlier work has left in L2 would have to be written out for it. Large reads are a little slower so.
#define HINTS (PER_ROW ? (i64)ROWS * COLUMNS * VALUE_BYTES <= (i64)ONCE_MB * 1000000 : ONCE_MB > 0 && (HELD < STEPS))

// Whether nothing loads again what this stage loads.
FASTK_DEVICE constexpr bool isLast(int stage) { return HINTS && PER_ROW && stage == STAGES - 1; }

// Loads one step. What is not asked for again need not stay in L2, nor push out what does.
template <bool ONCE> static FASTK_DEVICE void loadStep(const Place &place, int step, Values *v, OPERAND_PARAMETERS) {
  loadRows<ONCE>(OPERANDS, place.row, place.column(step), v);
}

struct Packed {
  u32 at[VECTOR_WORDS];
};

static FASTK_DEVICE void pack(Packed &packed, const Values *v) {
  packed.at[VECTOR_WORDS - 1] = 0;
  memcpy(&packed, v, VECTOR_BYTES);
}

static FASTK_DEVICE void unpack(Values *v, const Packed &packed) { memcpy(v, &packed, VECTOR_BYTES); }

static FASTK_DEVICE void holdPacked(Packed &packed) {
#pragma unroll
  for (int k = 0; k < VECTOR_WORDS; ++k)
    asm volatile("" : "+r"(packed.at[k]));
}

// A thread's own slots of shared memory: nobody else reads them.
static FASTK_DEVICE void toShared(u32 *shared, int slot, const Packed &packed) {
  if constexpr (VECTOR_WORDS % 4 == 0) {
#pragma unroll
    for (int k = 0; k < VECTOR_WORDS; k += 4)
      ((uint4 *)shared)[(slot * (VECTOR_WORDS / 4) + k / 4) * THREADS + threadIdx.x] =
          make_uint4(packed.at[k], packed.at[k + 1], packed.at[k + 2], packed.at[k + 3]);
  } else {
#pragma unroll
    for (int k = 0; k < VECTOR_WORDS; ++k)
      shared[(slot * VECTOR_WORDS + k) * THREADS + threadIdx.x] = packed.at[k];
  }
}

static FASTK_DEVICE void fromShared(const u32 *shared, int slot, Packed &packed) {
  if constexpr (VECTOR_WORDS % 4 == 0) {
#pragma unroll
    for (int k = 0; k < VECTOR_WORDS; k += 4) {
      const uint4 piece = ((const uint4 *)shared)[(slot * (VECTOR_WORDS / 4) + k / 4) * THREADS + threadIdx.x];
      packed.at[k] = piece.x, packed.at[k + 1] = piece.y, packed.at[k + 2] = piece.z, packed.at[k + 3] = piece.w;
    }
  } else {
#pragma unroll
    for (int k = 0; k < VECTOR_WORDS; ++k)
      packed.at[k] = shared[(slot * VECTOR_WORDS + k) * THREADS + threadIdx.x];
  }
}

// Calls `use(step, values)` for N steps from `first` on, all loads before the first use.
template <int N, bool ONCE, typename Use>
static FASTK_DEVICE void loadBatch(const Place &place, int first, Use use, OPERAND_PARAMETERS) {
  Values v[N][ROW_VECTOR];
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (isThere(place, first + i))
      loadStep<ONCE>(place, first + i, v[i], OPERANDS);
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (isThere(place, first + i))
      use(first + i, v[i]);
}

// The same for all steps from FIRST to END, in order or from the end. Going back and forth finds in L2 what came last.
template <int FIRST, int END, bool BACK, bool ONCE, typename Use>
static FASTK_DEVICE void loadSteps(const Place &place, Use use, OPERAND_PARAMETERS) {
  if constexpr (FIRST < END) {
    // The last step is the only one with a question, so it is in a batch of its own kind.
    constexpr int FULL = (END - FIRST - 1) / BATCH, LEFT = END - FIRST - FULL * BATCH;
    if constexpr (BACK)
      loadBatch<LEFT, ONCE>(place, FIRST + FULL * BATCH, use, OPERANDS);
    if constexpr (FULL > 0) {
#pragma unroll 1
      for (int n = 0; n < FULL; ++n)
        loadBatch<BATCH, ONCE>(place, FIRST + (BACK ? FULL - 1 - n : n) * BATCH, use, OPERANDS);
    }
    if constexpr (!BACK)
      loadBatch<LEFT, ONCE>(place, FIRST + FULL * BATCH, use, OPERANDS);
  }
}

// Threads without rows go along with the last ones, and write nothing.
static FASTK_DEVICE bool placeOf(Place &place, u32 tile, u32 block) {
  place.tileRow = threadIdx.x % ROW_LANES * ROW_VECTOR;
  place.columnLane = threadIdx.x / ROW_LANES;
  place.rank = (i32)(block * COLUMN_LANES + place.columnLane);
  i32 group = (i32)(tile * ROW_LANES + threadIdx.x % ROW_LANES);
  bool writes = true;
  if constexpr (ROW_GROUPS % ROW_LANES != 0) {
    writes = group < ROW_GROUPS;
    group = writes ? group : ROW_GROUPS - 1;
  }
  place.row = group * ROW_VECTOR;
  return writes;
}

#if PARTS == 1

template <int STAGE>
static FASTK_DEVICE void runStages(const Place &place, Packed (&kept)[KEPT ? KEPT : 1], u32 *shared, u32 *exchange,
                                   Sums &done, OPERAND_PARAMETERS) {
  if constexpr (STAGE < STAGES) {
    Sums part;
    beginSums<STAGE>(part);
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
      if constexpr (PACKED)
        holdPacked(kept[i]);
      if (isThere(place, i)) {
        Values v[ROW_VECTOR];
        unpack(v, kept[i]);
        addRows<STAGE>(OPERANDS, place.row, place.column(i), v, done.of, part.of);
      }
    }
    if constexpr (STAGE == 0) {
      loadSteps<KEPT, HELD, false, HINTS>(
          place,
          [&](int step, const Values *v) {
            Packed packed;
            pack(packed, v);
            toShared(shared, step - KEPT, packed);
            addRows<STAGE>(OPERANDS, place.row, place.column(step), v, done.of, part.of);
          },
          OPERANDS);
    } else {
#pragma unroll 4
      for (int i = KEPT; i < HELD; ++i)
        if (isThere(place, i)) {
          Packed packed;
          fromShared(shared, i - KEPT, packed);
          Values v[ROW_VECTOR];
          unpack(v, packed);
          addRows<STAGE>(OPERANDS, place.row, place.column(i), v, done.of, part.of);
        }
    }
    loadSteps<HELD, STEPS, STAGE % 2 == 1, isLast(STAGE)>(
        place,
        [&](int step, const Values *v) {
          addRows<STAGE>(OPERANDS, place.row, place.column(step), v, done.of, part.of);
        },
        OPERANDS);
    joinTeam<STAGE>(part, place, exchange);
#pragma unroll
    for (int j = 0; j < ROW_VECTOR; ++j)
      endStage<STAGE>(OPERANDS, place.row + j, part.of[j], done.of[j]);
    runStages<STAGE + 1>(place, kept, shared, exchange, done, OPERANDS);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) reduceColumns(OUT_TYPE *out, OPERAND_PARAMETERS) {
  extern __shared__ __align__(16) u32 shared[];
  u32 *exchange = shared + HELD_BYTES / 4;
  if constexpr (CLUSTER > 1)
    clusterArriveRelaxed();
  Place place;
  const bool writes = placeOf(place, blockIdx.x / CLUSTER, blockIdx.x % CLUSTER);
  Packed kept[KEPT ? KEPT : 1];
#pragma unroll
  for (int i = 0; i < KEPT; ++i)
    if (isThere(place, i)) {
      Values v[ROW_VECTOR];
      loadStep<HINTS>(place, i, v, OPERANDS);
      pack(kept[i], v);
    }
  Sums done;
#pragma unroll
  for (int j = 0; j < ROW_VECTOR; ++j)
    done.of[j] = nothing();
  runStages<0>(place, kept, shared, exchange, done, OPERANDS);
  if (!writes)
    return;
#if PER_ROW
  // The threads that have the same rows write one each, where they are enough.
#pragma unroll
  for (int j = 0; j < ROW_VECTOR; ++j)
    if (place.rank == j % COLUMN_LANES)
      finishRow(out, OPERANDS, place.row + j, done.of[j]);
#else
#pragma unroll
  for (int i = 0; i < KEPT; ++i) {
    if constexpr (PACKED)
      holdPacked(kept[i]);
    if (isThere(place, i)) {
      Values v[ROW_VECTOR];
      unpack(v, kept[i]);
      finishRows(out, OPERANDS, place.row, place.column(i), v, done.of);
    }
  }
#pragma unroll 4
  for (int i = KEPT; i < HELD; ++i)
    if (isThere(place, i)) {
      Packed packed;
      fromShared(shared, i - KEPT, packed);
      Values v[ROW_VECTOR];
      unpack(v, packed);
      finishRows(out, OPERANDS, place.row, place.column(i), v, done.of);
    }
  loadSteps<HELD, STEPS, STAGES % 2 == 1, HINTS>(
      place,
      [&](int step, const Values *v) {
        finishRows(out, OPERANDS, place.row, place.column(step), v, done.of);
      },
      OPERANDS);
#endif
}

#else

// Columns in PARTS blocks: each stage is a launch that leaves parts, and one that joins them.
template <bool BACK> static FASTK_DEVICE bool placeOfPart(Place &place, u32 &part) {
  const u32 block = BACK ? (u32)GRID - 1 - blockIdx.x : blockIdx.x;
  part = block / TILES;
  return placeOf(place, block % TILES, part);
}

template <int END> static FASTK_DEVICE void readDone(Sums &done, const u32 *ready, i32 row) {
#pragma unroll
  for (int j = 0; j < ROW_VECTOR; ++j)
    done.of[j] = nothing();
  if constexpr (END > 0) {
#pragma unroll
    for (int j = 0; j < ROW_VECTOR; ++j) {
      Words words;
#pragma unroll
      for (int k = 0; k < STATISTICS_WORDS; ++k)
        words.at[k] = __ldcg(ready + (i64)k * ROWS + row + j);
      done.of[j] = statisticsOf(words);
    }
  }
}

template <int STAGE> static FASTK_DEVICE void runPart(u32 *parts, u32 *ready, OPERAND_PARAMETERS) {
  extern __shared__ __align__(16) u32 shared[];
  Place place;
  u32 part;
  const bool writes = placeOfPart<STAGE % 2 == 1>(place, part);
  Sums done;
  if constexpr (STAGE > 0)
    waitPrevious();
  readDone<STAGE>(done, ready, place.row);
  Sums sums;
  beginSums<STAGE>(sums);
  loadSteps<0, STEPS, STAGE % 2 == 1, isLast(STAGE)>(
      place,
      [&](int step, const Values *v) {
        addRows<STAGE>(OPERANDS, place.row, place.column(step), v, done.of, sums.of);
      },
      OPERANDS);
  launchNext();
  joinTeam<STAGE>(sums, place, shared);
  if (!writes || place.columnLane != 0)
    return;
#pragma unroll
  for (int j = 0; j < ROW_VECTOR; ++j) {
    const Words words = wordsOfStatistics(sums.of[j]);
#pragma unroll
    for (int k = 0; k < STATISTICS_WORDS; ++k)
      if (stageWords<STAGE>() >> k & 1)
        parts[(i64)(k * PARTS + part) * ROWS + place.row + j] = words.at[k];
  }
}

// Joins the parts of 32 rows; what is complete is for the launches to come, of the last stage of PER_ROW the result.
template <int STAGE> static FASTK_DEVICE void joinParts(const u32 *parts, u32 *ready, OUT_TYPE *out, OPERAND_PARAMETERS) {
  __shared__ u32 joined[STATISTICS_WORDS][JOIN_WARPS][32];
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  i32 row = (i32)(blockIdx.x * 32 + lane);
  const bool writes = row < ROWS;
  row = writes ? row : ROWS - 1;
  waitPrevious();
  launchNext();
  Statistics s = nothing();
  beginStage<STAGE>(s);
#pragma unroll 4
  for (u32 part = warp; part < PARTS; part += JOIN_WARPS) {
    Words words = wordsOfStatistics(s);
#pragma unroll
    for (int k = 0; k < STATISTICS_WORDS; ++k)
      if (stageWords<STAGE>() >> k & 1)
        words.at[k] = __ldcg(parts + (i64)(k * PARTS + part) * ROWS + row);
    joinStage<STAGE>(s, statisticsOf(words));
  }
  write<STAGE>(&joined[0][warp][lane], JOIN_WARPS * 32, s);
  __syncthreads();
  if (warp != 0 || !writes)
    return;
#pragma unroll 4
  for (int other = 1; other < JOIN_WARPS; ++other) {
    Words words = wordsOfStatistics(s);
#pragma unroll
    for (int k = 0; k < STATISTICS_WORDS; ++k)
      if (stageWords<STAGE>() >> k & 1)
        words.at[k] = joined[k][other][lane];
    joinStage<STAGE>(s, statisticsOf(words));
  }
  Words words;
#pragma unroll
  for (int k = 0; k < STATISTICS_WORDS; ++k)
    words.at[k] = STAGE > 0 ? __ldcg(ready + (i64)k * ROWS + row) : 0;
  Statistics done = statisticsOf(words);
  endStage<STAGE>(OPERANDS, row, s, done);
#if PER_ROW
  if constexpr (STAGE == STAGES - 1) {
    finishRow(out, OPERANDS, row, done);
    return;
  }
#endif
  words = wordsOfStatistics(done);
#pragma unroll
  for (int k = 0; k < STATISTICS_WORDS; ++k)
    ready[(i64)k * ROWS + row] = words.at[k];
}

#define STAGE_KERNELS(S)                                                                                                \
  extern "C" __global__ void __launch_bounds__(THREADS) stage##S(u32 *parts, u32 *ready, OPERAND_PARAMETERS) {          \
    runPart<S>(parts, ready, OPERANDS);                                                                                 \
  }                                                                                                                     \
  extern "C" __global__ void __launch_bounds__(JOIN_WARPS * 32)                                                         \
      join##S(u32 *parts, u32 *ready, OUT_TYPE *out, OPERAND_PARAMETERS) {                                              \
    joinParts<S>(parts, ready, out, OPERANDS);                                                                          \
  }
STAGE_KERNELS(0)
#if STAGES > 1
STAGE_KERNELS(1)
#endif
#if STAGES > 2
STAGE_KERNELS(2)
#endif
#if STAGES > 3
STAGE_KERNELS(3)
#endif
#if STAGES > 4
STAGE_KERNELS(4)
#endif
#if STAGES > 5
STAGE_KERNELS(5)
#endif

#if !PER_ROW
extern "C" __global__ void __launch_bounds__(THREADS) finishParts(u32 *ready, OUT_TYPE *out, OPERAND_PARAMETERS) {
  Place place;
  u32 part;
  const bool writes = placeOfPart<STAGES % 2 == 1>(place, part);
  waitPrevious();
  if (!writes)
    return;
  Sums done;
  readDone<STAGES>(done, ready, place.row);
  loadSteps<0, STEPS, STAGES % 2 == 1, HINTS>(
      place,
      [&](int step, const Values *v) {
        finishRows(out, OPERANDS, place.row, place.column(step), v, done.of);
      },
      OPERANDS);
}
#endif

#endif
