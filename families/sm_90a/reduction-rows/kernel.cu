// Statistics of rows whose columns lie together, and what is made of them. A team of threads has a row: some lanes of a
// warp, a block, the blocks of a cluster, or PARTS blocks that meet in a workspace, between launches or (RESIDENT) in one
// launch whose blocks are all there at once. What fits of a row stays in registers and then in shared memory and is loaded
// once, whatever the number of stages; the rest is loaded again in each.

#define LANES 256 // tune: 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024
#define CLUSTER 1 // tune: 1, 2, 4, 8
#define PARTS 1 // tune: 1, 4, 8, 16, 33, 66, 132, 264, 528
#define RESIDENT 0 // tune: 0, 1
#define REGISTER_BYTES 128 // tune: 64, 128, 192, 256
#define SHARED_KB 0 // tune: 0, 100, 200
#define ONCE_MB 200 // tune: 0, 200, 1000000
#define BATCH_BYTES 64 // tune: 32, 64, 128
#define SHORT_THREADS 256 // tune: 128, 256, 512
#define SPARE 32 // tune: 24, 32, 48

// A team of fewer than 32 threads shares a block with others.
#define THREADS (LANES > 32 ? LANES : SHORT_THREADS)
#define WARPS (THREADS / 32)
#define BLOCK_ROWS (LANES > 32 ? 1 : THREADS / LANES)
#define TEAM (LANES * CLUSTER * PARTS)
// Whether stages are launches.
#define SPLITS (PARTS > 1 && !RESIDENT)
#define ROW_BLOCKS ((ROWS + BLOCK_ROWS - 1) / BLOCK_ROWS)

// A vector is what a thread loads at once; STEPS of them are a thread's share of a row.
#define VECTORS (COLUMNS / COLUMN_VECTOR)
#define VECTOR_BYTES (COLUMN_VECTOR * VALUE_BYTES)
#define VECTOR_WORDS ((VECTOR_BYTES + 3) / 4)
#define STEPS ((VECTORS + TEAM - 1) / TEAM)
// Only what is asked for again is kept.
#define KEEPS (!SPLITS && (STAGES > 1 || !PER_ROW))
#define MOST_KEPT (REGISTER_BYTES / (VECTOR_WORDS * 4) < 1 ? 1 : REGISTER_BYTES / (VECTOR_WORDS * 4))
#define KEPT (!KEEPS ? 0 : STEPS < MOST_KEPT ? STEPS : MOST_KEPT)
#define STEP_BYTES (THREADS * VECTOR_WORDS * 4)
#define MOST_SHARED (SHARED_KB * 1024 / STEP_BYTES)
#define IN_SHARED (!KEEPS ? 0 : STEPS - KEPT < MOST_SHARED ? STEPS - KEPT : MOST_SHARED)
#define HELD (KEPT + IN_SHARED)
#define SHARED_BYTES (IN_SHARED * STEP_BYTES)
// Loads under way of what is not kept in registers.
#define MOST_BATCH (BATCH_BYTES / VECTOR_BYTES < 1 ? 1 : BATCH_BYTES / VECTOR_BYTES)
#define BATCH (MOST_BATCH > 8 ? 8 : MOST_BATCH)
// Many elements narrower than a register stay packed: the compiler would unpack them once and keep the results.
#define PACKED (VALUE_BYTES % 4 != 0 && KEPT * COLUMN_VECTOR > 32)
#define LIVE (PACKED ? KEPT * VECTOR_WORDS : VALUE_BYTES % 4 ? KEPT * COLUMN_VECTOR : KEPT * VECTOR_WORDS)
#define REGISTERS (LIVE + SPARE + (KEPT < STEPS ? BATCH * VECTOR_WORDS : 0))
#define MOST_BLOCKS (65536 / (THREADS * REGISTERS))
#define FULL_BLOCKS (2048 / THREADS > 32 ? 32 : 2048 / THREADS)
#define EXCHANGE_BYTES (2 * STATISTICS_BYTES * (WARPS + CLUSTER))
#define SHARED_BLOCKS ((SHARED_LIMIT + 1024) / (SHARED_BYTES + EXCHANGE_BYTES + 1024))
#define BLOCKS_BY_REGISTERS (MOST_BLOCKS < 1 ? 1 : MOST_BLOCKS > FULL_BLOCKS ? FULL_BLOCKS : MOST_BLOCKS)
#define BLOCKS_BY_SHARED (SHARED_BLOCKS < BLOCKS_BY_REGISTERS ? SHARED_BLOCKS : BLOCKS_BY_REGISTERS)
#define BLOCKS (BLOCKS_BY_SHARED < 1 ? 1 : BLOCKS_BY_SHARED)
// Teams that are there at once take row after row.
#define MOST_TEAMS (BLOCKS * MULTIPROCESSORS / PARTS)
#define TEAMS (RESIDENT ? (ROWS < MOST_TEAMS ? ROWS : MOST_TEAMS) : ROW_BLOCKS)
#define GRID (TEAMS * CLUSTER * PARTS)

#define STATISTICS_WORDS (STATISTICS_BYTES / 4)
// Partial statistics in the workspace: of each stage, row, word and part.
#define PART_WORDS (STATISTICS_WORDS * PARTS)
// Of teams that are there at once: the same, in 16 bytes each with a mark that says that it is there.
#define MARKED_BYTES (16 * STAGES * ROWS * PART_WORDS)

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

// Joins the statistics of `N` lanes, a power of two; all of them have the result.
template <int STAGE, int N> FASTK_DEVICE void joinLanes(Statistics &s) {
#pragma unroll
  for (int o = 1; o < N; o <<= 1) {
    Words words = wordsOfStatistics(s);
#pragma unroll
    for (int k = 0; k < STATISTICS_WORDS; ++k)
      if (stageWords<STAGE>() >> k & 1)
        words.at[k] = __shfl_xor_sync(0xffffffffu, words.at[k], o);
    joinStage<STAGE>(s, statisticsOf(words));
  }
}

// Two sets by turns: who writes one again has met all who read it.
struct Exchange {
  u32 warps[2][STATISTICS_WORDS][WARPS];
  u32 blocks[2][STATISTICS_WORDS][CLUSTER];
};

template <int STAGE, int N> FASTK_DEVICE void readJoined(Statistics &s, u32 (*from)[N]) {
  Words words = wordsOfStatistics(s);
#pragma unroll
  for (int k = 0; k < STATISTICS_WORDS; ++k)
    if (stageWords<STAGE>() >> k & 1)
      words.at[k] = from[k][threadIdx.x % N];
  s = statisticsOf(words);
  joinLanes<STAGE, N>(s);
}

// Joins the statistics of a block's threads.
template <int STAGE, int SET = STAGE & 1> FASTK_DEVICE void joinBlock(Statistics &s, Exchange &exchange) {
  joinLanes<STAGE, 32>(s);
  if constexpr (WARPS > 1) {
    if (threadIdx.x % 32 == 0) {
      const Words words = wordsOfStatistics(s);
#pragma unroll
      for (int k = 0; k < STATISTICS_WORDS; ++k)
        if (stageWords<STAGE>() >> k & 1)
          exchange.warps[SET][k][threadIdx.x / 32] = words.at[k];
    }
    __syncthreads();
    readJoined<STAGE, WARPS>(s, exchange.warps[SET]);
  }
}

// Joins the statistics of PARTS blocks that are all there. A part and the mark that it is there are one store, so nothing
// else has to be in order.
template <int STAGE>
FASTK_DEVICE void joinResident(Statistics &s, Exchange &exchange, ulonglong2 *marked, i32 row, u32 part) {
  joinBlock<STAGE, 0>(s, exchange);
  ulonglong2 *slots = marked + ((i64)row * STAGES + STAGE) * PART_WORDS;
  if (threadIdx.x == 0) {
    const Words words = wordsOfStatistics(s);
#pragma unroll
    for (int k = 0; k < STATISTICS_WORDS; ++k)
      if (stageWords<STAGE>() >> k & 1)
        storeRelaxed128(slots + k * PARTS + part, words.at[k], 1);
  }
  s = nothing();
  beginStage<STAGE>(s);
#pragma unroll 1
  for (u32 other = threadIdx.x; other < PARTS; other += THREADS) {
    Words words = wordsOfStatistics(s);
#pragma unroll
    for (int k = 0; k < STATISTICS_WORDS; ++k)
      if (stageWords<STAGE>() >> k & 1) {
        ulonglong2 slot;
        do
          slot = loadRelaxed128(slots + k * PARTS + other);
        while (slot.y == 0);
        words.at[k] = (u32)slot.x;
      }
    joinStage<STAGE>(s, statisticsOf(words));
  }
  joinBlock<STAGE, 1>(s, exchange);
}

// Joins the statistics of a team within a cluster.
template <int STAGE> FASTK_DEVICE void joinTeam(Statistics &s, Exchange &exchange) {
  if constexpr (LANES <= 32 && CLUSTER == 1) {
    joinLanes<STAGE, (LANES < 32 ? LANES : 32)>(s);
  } else {
    joinBlock<STAGE>(s, exchange);
  }
  if constexpr (CLUSTER > 1) {
    // Another block's shared memory is there once that block has said so.
    if constexpr (STAGE == 0)
      clusterWait();
    if (threadIdx.x < CLUSTER) {
      const Words words = wordsOfStatistics(s);
#pragma unroll
      for (int k = 0; k < STATISTICS_WORDS; ++k)
        if (stageWords<STAGE>() >> k & 1)
          storeCluster(mapaShared(smemAddr(&exchange.blocks[STAGE & 1][k][ctaRank()]), threadIdx.x),
                       __int_as_float((int)words.at[k]));
    }
    clusterSync();
    readJoined<STAGE, CLUSTER>(s, exchange.blocks[STAGE & 1]);
  }
}

// A thread's place: its row, and which of the row's vectors are its own.
struct Place {
  i32 row, rank;
  FASTK_DEVICE i32 vector(int step) const { return step * TEAM + rank; }
};

// Whether a thread has a vector at that step: only the last may lack some.
static FASTK_DEVICE bool isThere(const Place &place, int step) {
  if (VECTORS % TEAM == 0 || step < STEPS - 1)
    return true;
  return place.vector(step) < VECTORS;
}

// What is read once leaves L2 first: where something else is read again, and where so little is read in all that what
// earlier work has left in L2 would have to be written out for it. Large reads are a little slower so.
#define HINTS                                                                                                           \
  (PER_ROW ? (i64)ROWS * COLUMNS * VALUE_BYTES <= (i64)ONCE_MB * 1000000 : ONCE_MB > 0 && (RESIDENT || HELD < STEPS))

// Whether nothing loads again what this stage loads.
FASTK_DEVICE constexpr bool isLast(int stage) { return HINTS && PER_ROW && stage == STAGES - 1; }

// Loads one step. What is not asked for again need not stay in L2, nor push out what does.
template <bool ONCE> static FASTK_DEVICE void loadStep(const Place &place, int step, Values *v, OPERAND_PARAMETERS) {
  loadColumns<ONCE>(OPERANDS, place.row, place.vector(step) * COLUMN_VECTOR, v);
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
  Values v[N][COLUMN_VECTOR];
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (isThere(place, first + i))
      loadStep<ONCE>(place, first + i, v[i], OPERANDS);
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (isThere(place, first + i))
      use(i, first + i, v[i]);
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
      for (int b = 0; b < FULL; ++b)
        loadBatch<BATCH, ONCE>(place, FIRST + (BACK ? FULL - 1 - b : b) * BATCH, use, OPERANDS);
    }
    if constexpr (!BACK)
      loadBatch<LEFT, ONCE>(place, FIRST + FULL * BATCH, use, OPERANDS);
  }
}

// Sums run side by side: shorter chains, and less to round.
#define SUMS (STEPS >= 4 && BATCH >= 4 ? 4 : STEPS >= 2 && BATCH >= 2 ? 2 : 1)

template <int STAGE> FASTK_DEVICE void beginSums(Statistics (&part)[SUMS]) {
#pragma unroll
  for (int i = 0; i < SUMS; ++i) {
    part[i] = nothing();
    beginStage<STAGE>(part[i]);
  }
}

template <int STAGE> FASTK_DEVICE void joinSums(Statistics (&part)[SUMS]) {
#pragma unroll
  for (int o = SUMS / 2; o > 0; o /= 2)
#pragma unroll
    for (int i = 0; i < o; ++i)
      joinStage<STAGE>(part[i], part[i + o]);
}

#if !SPLITS

template <int STAGE>
static FASTK_DEVICE void runStages(const Place &place, Packed (&kept)[KEPT ? KEPT : 1], u32 *shared, Exchange &exchange,
                                   ulonglong2 *marked, Statistics &done, OPERAND_PARAMETERS) {
  if constexpr (STAGE < STAGES) {
    Statistics part[SUMS];
    beginSums<STAGE>(part);
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
      if constexpr (PACKED)
        holdPacked(kept[i]);
      if (isThere(place, i)) {
        Values v[COLUMN_VECTOR];
        unpack(v, kept[i]);
        addColumns<STAGE>(OPERANDS, place.row, place.vector(i) * COLUMN_VECTOR, v, done, part[i % SUMS]);
      }
    }
    if constexpr (STAGE == 0) {
      loadSteps<KEPT, HELD, false, HINTS>(
          place,
          [&](int i, int step, const Values *v) {
            Packed packed;
            pack(packed, v);
            toShared(shared, step - KEPT, packed);
            addColumns<STAGE>(OPERANDS, place.row, place.vector(step) * COLUMN_VECTOR, v, done, part[i % SUMS]);
          },
          OPERANDS);
    } else {
#pragma unroll 4
      for (int i = KEPT; i < HELD; ++i)
        if (isThere(place, i)) {
          Packed packed;
          fromShared(shared, i - KEPT, packed);
          Values v[COLUMN_VECTOR];
          unpack(v, packed);
          addColumns<STAGE>(OPERANDS, place.row, place.vector(i) * COLUMN_VECTOR, v, done, part[0]);
        }
    }
    loadSteps<HELD, STEPS, STAGE % 2 == 1, isLast(STAGE)>(
        place,
        [&](int i, int step, const Values *v) {
          addColumns<STAGE>(OPERANDS, place.row, place.vector(step) * COLUMN_VECTOR, v, done, part[i % SUMS]);
        },
        OPERANDS);
    joinSums<STAGE>(part);
    if constexpr (RESIDENT)
      joinResident<STAGE>(part[0], exchange, marked, place.row, blockIdx.x % PARTS);
    else
      joinTeam<STAGE>(part[0], exchange);
    endStage<STAGE>(OPERANDS, place.row, part[0], done);
    runStages<STAGE + 1>(place, kept, shared, exchange, marked, done, OPERANDS);
  }
}

static FASTK_DEVICE void reduceRow(const Place &place, bool writes, u32 *shared, Exchange &exchange, ulonglong2 *marked,
                                   OUT_TYPE *out, OPERAND_PARAMETERS) {
  Packed kept[KEPT ? KEPT : 1];
#pragma unroll
  for (int i = 0; i < KEPT; ++i)
    if (isThere(place, i)) {
      Values v[COLUMN_VECTOR];
      loadStep<HINTS>(place, i, v, OPERANDS);
      pack(kept[i], v);
    }
  Statistics done = nothing();
  runStages<0>(place, kept, shared, exchange, marked, done, OPERANDS);
  if (!writes)
    return;
#if PER_ROW
  if (place.rank == 0)
    finishRow(out, OPERANDS, place.row, done);
#else
#pragma unroll
  for (int i = 0; i < KEPT; ++i) {
    if constexpr (PACKED)
      holdPacked(kept[i]);
    if (isThere(place, i)) {
      Values v[COLUMN_VECTOR];
      unpack(v, kept[i]);
      finishColumns(out, OPERANDS, place.row, place.vector(i) * COLUMN_VECTOR, v, done);
    }
  }
#pragma unroll 4
  for (int i = KEPT; i < HELD; ++i)
    if (isThere(place, i)) {
      Packed packed;
      fromShared(shared, i - KEPT, packed);
      Values v[COLUMN_VECTOR];
      unpack(v, packed);
      finishColumns(out, OPERANDS, place.row, place.vector(i) * COLUMN_VECTOR, v, done);
    }
  loadSteps<HELD, STEPS, STAGES % 2 == 1, HINTS>(
      place,
      [&](int, int step, const Values *v) {
        finishColumns(out, OPERANDS, place.row, place.vector(step) * COLUMN_VECTOR, v, done);
      },
      OPERANDS);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) reduceRows(
#if RESIDENT
    ulonglong2 *marked,
#endif
    OUT_TYPE *out, OPERAND_PARAMETERS) {
  extern __shared__ __align__(16) u32 shared[];
  __shared__ Exchange exchange;
  Place place;
#if RESIDENT
  place.rank = (i32)(blockIdx.x % PARTS * LANES + threadIdx.x);
#pragma unroll 1
  for (place.row = (i32)(blockIdx.x / PARTS); place.row < ROWS; place.row += TEAMS)
    reduceRow(place, true, shared, exchange, marked, out, OPERANDS);
#else
  if constexpr (CLUSTER > 1)
    clusterArriveRelaxed();
  place.row = (i32)(blockIdx.x / CLUSTER * BLOCK_ROWS + threadIdx.x / LANES);
  place.rank = (i32)(blockIdx.x % CLUSTER * LANES + threadIdx.x % LANES);
  // Threads without a row go along with the last one, and write nothing.
  const bool writes = ROWS % BLOCK_ROWS == 0 || place.row < ROWS;
  place.row = writes ? place.row : ROWS - 1;
  reduceRow(place, writes, shared, exchange, nullptr, out, OPERANDS);
#endif
}

#else

// A row in PARTS blocks that are not there at once: each stage is a launch, whose blocks join what the blocks of the
// launches before have left.
static FASTK_DEVICE u32 *partsOf(u32 *parts, int stage, i32 row) {
  return parts + ((i64)stage * ROWS + row) * PART_WORDS;
}

// Joins the parts of stage STAGE in N threads, of which this is number `thread`.
template <int STAGE, int N>
static FASTK_DEVICE Statistics collectParts(u32 *parts, i32 row, u32 thread) {
  const u32 *from = partsOf(parts, STAGE, row);
  Statistics s = nothing();
  beginStage<STAGE>(s);
#pragma unroll 1
  for (u32 part = thread; part < PARTS; part += N) {
    Words words = wordsOfStatistics(s);
#pragma unroll
    for (int k = 0; k < STATISTICS_WORDS; ++k)
      if (stageWords<STAGE>() >> k & 1)
        words.at[k] = __ldcg(from + k * PARTS + part);
    joinStage<STAGE>(s, statisticsOf(words));
  }
  return s;
}

template <int STAGE, int END>
static FASTK_DEVICE void completeStages(u32 *parts, i32 row, Exchange &exchange, Statistics &done, OPERAND_PARAMETERS) {
  if constexpr (STAGE < END) {
    Statistics s = collectParts<STAGE, THREADS>(parts, row, threadIdx.x);
    joinBlock<STAGE>(s, exchange);
    endStage<STAGE>(OPERANDS, row, s, done);
    completeStages<STAGE + 1, END>(parts, row, exchange, done, OPERANDS);
  }
}

template <bool BACK> static FASTK_DEVICE Place placeOfPart() {
  const u32 block = BACK ? (u32)GRID - 1 - blockIdx.x : blockIdx.x;
  Place place;
  place.row = (i32)(block / PARTS);
  place.rank = (i32)(block % PARTS * LANES + threadIdx.x);
  return place;
}

template <int STAGE> static FASTK_DEVICE void runPart(u32 *parts, OPERAND_PARAMETERS) {
  __shared__ Exchange exchange;
  const Place place = placeOfPart<STAGE % 2 == 1>();
  Statistics done = nothing();
  if constexpr (STAGE > 0) {
    waitPrevious();
    completeStages<0, STAGE>(parts, place.row, exchange, done, OPERANDS);
  }
  Statistics part[SUMS];
  beginSums<STAGE>(part);
  loadSteps<0, STEPS, STAGE % 2 == 1, isLast(STAGE)>(
      place,
      [&](int i, int step, const Values *v) {
        addColumns<STAGE>(OPERANDS, place.row, place.vector(step) * COLUMN_VECTOR, v, done, part[i % SUMS]);
      },
      OPERANDS);
  launchNext();
  joinSums<STAGE>(part);
  joinBlock<STAGE>(part[0], exchange);
  if (threadIdx.x == 0) {
    u32 *to = partsOf(parts, STAGE, place.row) + place.rank / LANES;
    const Words words = wordsOfStatistics(part[0]);
#pragma unroll
    for (int k = 0; k < STATISTICS_WORDS; ++k)
      if (stageWords<STAGE>() >> k & 1)
        to[k * PARTS] = words.at[k];
  }
}

#define STAGE_KERNEL(S)                                                                                                 \
  extern "C" __global__ void __launch_bounds__(THREADS) stage##S(u32 *parts, OPERAND_PARAMETERS) {                      \
    runPart<S>(parts, OPERANDS);                                                                                        \
  }
STAGE_KERNEL(0)
#if STAGES > 1
STAGE_KERNEL(1)
#endif
#if STAGES > 2
STAGE_KERNEL(2)
#endif
#if STAGES > 3
STAGE_KERNEL(3)
#endif
#if STAGES > 4
STAGE_KERNEL(4)
#endif
#if STAGES > 5
STAGE_KERNEL(5)
#endif

extern "C" __global__ void __launch_bounds__(THREADS) finishParts(u32 *parts, OUT_TYPE *out, OPERAND_PARAMETERS) {
  __shared__ Exchange exchange;
  waitPrevious();
  Statistics done = nothing();
#if PER_ROW
  const i32 row = (i32)blockIdx.x;
  completeStages<0, STAGES>(parts, row, exchange, done, OPERANDS);
  if (threadIdx.x == 0)
    finishRow(out, OPERANDS, row, done);
#else
  const Place place = placeOfPart<STAGES % 2 == 1>();
  completeStages<0, STAGES>(parts, place.row, exchange, done, OPERANDS);
  loadSteps<0, STEPS, STAGES % 2 == 1, HINTS>(
      place,
      [&](int, int step, const Values *v) {
        finishColumns(out, OPERANDS, place.row, place.vector(step) * COLUMN_VECTOR, v, done);
      },
      OPERANDS);
#endif
}

#endif
