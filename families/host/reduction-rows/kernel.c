// Statistics of rows, and what is made of them: vectors are neighbouring columns of
// one row. A thread has a row from beginning to end, so that the first pass over it
// reads memory and the others the caches; where there are few rows, threads share the
// columns of each and exchange what they have found after each pass.
//
// Sums are those of SUMS vectors side by side, over blocks of columns whose sums are
// added: an addition need not wait for the one before it, and none adds a small number
// to the sum of many.

#define SUMS 4    // tune: 1, 2, 4, 8
#define KEEP 0    // tune: 0, 1, 2
#define AHEAD 0   // tune: 0, 1, 2
#define FETCH 0   // tune: 0, 1
#define STREAM 0  // tune: 0, 1
#define INVERSE 0 // tune: 0, 1
#define SPLIT 0   // tune: 0, 1
#define SERIAL 0  // tune: 0, 1

#define TEAM (SERIAL ? 1 : THREADS)
#define STEP (SUMS * LANES)
#define VECTORS ceildiv(COLUMNS, LANES)
// Columns whose sums are one block of partial sums.
#define BLOCK 8192

// An expensive value is kept for the result where that goes (1) or in a row of each
// thread (2), or computed again (0).
#define ROW_BYTES (KEEP == 2 ? ceildiv(COLUMNS, 16) * 64 : 0)
// What threads exchange, of every other pass.
#define SLOT (ceildiv(STATISTICS * 8, 64) * 64)
#define WORKSPACE ((SPLIT ? ROW_BYTES + 2 * SLOT * TEAM : ROW_BYTES * TEAM) + 64)

#define UNROLL _Pragma("clang loop unroll(full)")

FK_INLINE void beginAll(const int stage, const int count, struct Parts *part) {
  UNROLL for (int i = 0; i < count; ++i)
    beginStage(stage, &part[i]);
}

// Where a thread's part of a run, or of a block where all columns are one run, begins
// and ends. Nothing is asked where a thread has all columns, so that counts are
// constants.
#define LENGTH(run) ((run) == COLUMNS ? BLOCK : (run))
#define FIRST(run) ((run) == COLUMNS ? begin : begin / (run) * (run))
#define LOW(first) (SPLIT ? max(first, begin) : (first))
#define HIGH(first, run) (SPLIT || (run) == COLUMNS ? min((first) + LENGTH(run), end) : (first) + (run))

// Adds columns that lie in one run. The next row is fetched where this one is read.
FK_INLINE void addColumnsOfRun(const int stage, OPERAND_PARAMETERS, long r, long c, long count,
                               const struct Statistics *done, struct Parts *part, float *kept, long next) {
  const int keeps = KEEP && stage == KEPT_STAGE;
  const int fetches = AHEAD && stage == AHEAD;
  long i = 0;
  for (; i + STEP <= count; i += STEP) {
    UNROLL for (int j = 0; j < SUMS; ++j)
      addColumns(stage, OPERANDS, r, c + i + j * LANES, done, &part[j], keeps, kept + c + i + j * LANES, LANES);
    if (fetches)
      fetchColumns(OPERANDS, next, c + i, STEP);
  }
  if (SUMS > 1)
    for (; i + LANES <= count; i += LANES)
      addColumns(stage, OPERANDS, r, c + i, done, &part[0], keeps, kept + c + i, LANES);
  if (i < count)
    addColumns(stage, OPERANDS, r, c + i, done, &part[SUMS - 1], keeps, kept + c + i, count - i);
}

// A pass over columns of a row.
FK_INLINE void addAll(const int stage, OPERAND_PARAMETERS, long r, long begin, long end, const struct Statistics *done,
                      float *kept, long next, struct Statistics *sums) {
  const long run = addRun(stage);
  struct Parts part[SUMS], whole[SUMS];
  beginAll(stage, SUMS, part);
  long block = begin;
  for (long first = FIRST(run); first < end; first += LENGTH(run)) {
    const long low = LOW(first), high = HIGH(first, run);
    addColumnsOfRun(stage, OPERANDS, r, low, high - low, done, part, kept, next);
    if (COLUMNS > BLOCK && high < end && high - block >= BLOCK) {
      UNROLL for (int i = 0; i < SUMS; ++i)
        if (block == begin)
          whole[i] = part[i];
        else
          joinParts(stage, &whole[i], &part[i]);
      beginAll(stage, SUMS, part);
      block = high;
    }
  }
  UNROLL for (int i = 1; i < SUMS; ++i)
    joinParts(stage, &part[0], &part[i]);
  if (COLUMNS > BLOCK && block != begin)
    UNROLL for (int i = 0; i < SUMS; ++i)
      joinParts(stage, &part[0], &whole[i]);
  joinLanes(stage, &part[0], sums);
}

#if !PER_ROW
FK_INLINE void finishAll(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long r, long begin, long end,
                         const struct Statistics *done, const float *kept, long next) {
  for (long first = FIRST(FINISH_RUN); first < end; first += LENGTH(FINISH_RUN)) {
    const long c = LOW(first), count = HIGH(first, FINISH_RUN) - c;
    long i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
      UNROLL for (int j = 0; j < 2; ++j)
        finishColumns(out, OPERANDS, r, c + i + j * LANES, done, KEEP != 0, kept + c + i + j * LANES, INVERSE, STREAM, LANES);
      if (AHEAD == STAGES)
        fetchColumns(OPERANDS, next, c + i, 2 * LANES);
      if (FETCH)
        fetchResult(out, next, c + i, 2 * LANES);
    }
    for (; i + LANES <= count; i += LANES)
      finishColumns(out, OPERANDS, r, c + i, done, KEEP != 0, kept + c + i, INVERSE, STREAM, LANES);
    if (i < count)
      finishColumns(out, OPERANDS, r, c + i, done, KEEP != 0, kept + c + i, INVERSE, 0, count - i);
  }
}
#endif

// Joins what threads have found of a row, in their order.
FK_INLINE void exchange(const int stage, struct Statistics *sums, char *slots, long turn, long thread, long team) {
#if SPLIT && TEAM > 1
  slots += turn % 2 * SLOT * TEAM;
  memcpy(slots + thread * SLOT, sums, sizeof *sums);
#pragma omp barrier
  memcpy(sums, slots, sizeof *sums);
  for (long i = 1; i < team; ++i) {
    struct Statistics other;
    memcpy(&other, slots + i * SLOT, sizeof other);
    joinStatistics(stage, sums, &other);
  }
#endif
}

FK_INLINE void computeRow(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long r, long begin, long end, float *row, long next,
                          char *slots, long thread, long team) {
  struct Statistics done, sums;
  memset(&done, 0, sizeof done);
  memset(&sums, 0, sizeof sums);
#if KEEP == 1
  float *const kept = out + outOffset(r, 0);
#else
  float *const kept = row;
#endif
#define PASS(stage)                                                                 \
  if (stage < STAGES) {                                                             \
    addAll(stage, OPERANDS, r, begin, end, &done, kept, next, &sums);               \
    exchange(stage, &sums, slots, r * STAGES + stage, thread, team);                \
    endStage(stage, OPERANDS, r, &sums, &done);                                     \
  }
  PASS(0) PASS(1) PASS(2) PASS(3) PASS(4) PASS(5)
#if PER_ROW
  if (!SPLIT || thread == 0)
    finishRow(out, OPERANDS, r, &done);
#else
  finishAll(OPERANDS, out, r, begin, end, &done, kept, next);
#endif
}

static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, char *space, long thread, long team) {
#if SPLIT
  const long begin = VECTORS * thread / team * LANES, end = min(VECTORS * (thread + 1) / team * LANES, COLUMNS);
  for (long r = 0; r < ROWS; ++r)
    computeRow(OPERANDS, out, r, begin, end, (float *)space, r + 1, space + ROW_BYTES, thread, team);
#else
  for (long r = ROWS * thread / team; r < ROWS * (thread + 1) / team; ++r)
    computeRow(OPERANDS, out, r, 0, COLUMNS, (float *)(space + ROW_BYTES * thread), r + 1, space, 0, 1);
#endif
}

void fastk_kernel(OPERAND_PARAMETERS, OUT_TYPE *restrict out, void *workspace) {
#if TEAM > 1
#pragma omp parallel num_threads(TEAM)
  work(OPERANDS, out, workspace, omp_get_thread_num(), omp_get_num_threads());
#else
  work(OPERANDS, out, workspace, 0, 1);
#endif
}
