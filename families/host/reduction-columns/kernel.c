// Statistics of rows, and what is made of them: vectors are neighbouring rows, so that
// no lanes have to be joined. A tile of TILE vectors of rows walks along the columns, as
// those of a matrix whose columns lie apart, or of rows so short that they fill no
// vector. Threads share the tiles, or, where there are few, the columns of each and
// exchange what they have found after each pass.
//
// SUMS neighbouring columns are added side by side, over blocks of columns whose sums
// are added: none adds a small number to the sum of many.

#define TILE 4   // tune: 1, 2, 4, 8
#define SUMS 1   // tune: 1, 2, 4
#define KEEP 0   // tune: 0, 1
#define SPLIT 0  // tune: 0, 1
#define SERIAL 0 // tune: 0, 1

#define TEAM (SERIAL ? 1 : THREADS)
#define NR (TILE * LANES)
// No tile crosses a multiple of ROW_RUN.
#define TILES_OF_RUN ceildiv(ROW_RUN, NR)
#define TILES (ROWS / ROW_RUN * TILES_OF_RUN)
// Columns whose sums are one block of partial sums.
#define BLOCK 1024

// An expensive value is kept for the result, in a tile of each thread.
#define TILE_BYTES (KEEP ? COLUMNS * NR * 4 : 0)
// What threads exchange, of every other pass.
#define SLOT (STATISTICS * NR * 8)
#define WORKSPACE ((SPLIT ? TILE_BYTES + 2 * SLOT * TEAM : TILE_BYTES * TEAM) + 64)

#define UNROLL _Pragma("clang loop unroll(full)")
// Rows of a vector that a tile of so many rows has.
#define COUNT(j) (isFull ? LANES : rows - (j) * LANES)
#define IS_THERE(j) (isFull || rows > (j) * LANES)

// A pass over columns of a tile.
FK_INLINE void addAll(const int stage, const int isFull, OPERAND_PARAMETERS, long r, long rows, long begin, long end,
                      const struct Parts *done, vf32 *kept, struct Parts *sums) {
  const int keeps = KEEP && stage == KEPT_STAGE;
  UNROLL for (int j = 0; j < TILE; ++j)
    beginStage(stage, &sums[j]);
  for (long block = begin; block < end; block += BLOCK) {
    const long to = min(block + BLOCK, end);
    struct Parts part[TILE][SUMS];
    UNROLL for (int j = 0; j < TILE; ++j)
      UNROLL for (int i = 0; i < SUMS; ++i)
        beginStage(stage, &part[j][i]);
    long c = block;
    for (; c + SUMS <= to; c += SUMS)
      UNROLL for (int i = 0; i < SUMS; ++i)
        UNROLL for (int j = 0; j < TILE; ++j)
          if (IS_THERE(j))
            addRows(stage, OPERANDS, r + j * LANES, c + i, &done[j], &part[j][i], keeps, kept + (c + i) * TILE + j, COUNT(j));
    if (SUMS > 1)
      for (; c < to; ++c)
        UNROLL for (int j = 0; j < TILE; ++j)
          if (IS_THERE(j))
            addRows(stage, OPERANDS, r + j * LANES, c, &done[j], &part[j][0], keeps, kept + c * TILE + j, COUNT(j));
    UNROLL for (int j = 0; j < TILE; ++j)
      UNROLL for (int i = 0; i < SUMS; ++i)
        joinParts(stage, &sums[j], &part[j][i]);
  }
}

// Joins what threads have found of a tile, in their order.
FK_INLINE void exchange(const int stage, struct Parts *sums, char *slots, long turn, long thread, long team) {
#if SPLIT && TEAM > 1
  slots += turn % 2 * SLOT * TEAM;
  memcpy(slots + thread * SLOT, sums, TILE * sizeof *sums);
#pragma omp barrier
  memcpy(sums, slots, TILE * sizeof *sums);
  for (long i = 1; i < team; ++i)
    UNROLL for (int j = 0; j < TILE; ++j) {
      struct Parts other;
      memcpy(&other, slots + i * SLOT + j * sizeof other, sizeof other);
      joinParts(stage, &sums[j], &other);
    }
#endif
}

// A tile: its first row, its rows, and its number.
struct Tile {
  long r, rows, number;
};

FK_INLINE void computeTile(const int isFull, OPERAND_PARAMETERS, OUT_TYPE *out, const struct Tile *tile, long begin,
                           long end, vf32 *kept, char *slots, long thread, long team) {
  const long r = tile->r, rows = tile->rows;
  struct Parts done[TILE], sums[TILE];
  memset(done, 0, sizeof done);
  memset(sums, 0, sizeof sums);
#define PASS(stage)                                                                               \
  if (stage < STAGES) {                                                                           \
    addAll(stage, isFull, OPERANDS, r, rows, begin, end, done, kept, sums);                       \
    exchange(stage, sums, slots, tile->number * STAGES + stage, thread, team);                    \
    UNROLL for (int j = 0; j < TILE; ++j)                                                           \
      if (IS_THERE(j))                                                                            \
        endRows(stage, OPERANDS, r + j * LANES, &sums[j], &done[j], COUNT(j));                    \
  }
  PASS(0) PASS(1) PASS(2) PASS(3) PASS(4) PASS(5)
#if PER_ROW
  if (!SPLIT || thread == 0)
    UNROLL for (int j = 0; j < TILE; ++j)
      if (IS_THERE(j))
        finishRows(out, OPERANDS, r + j * LANES, &done[j], COUNT(j));
#else
  for (long c = begin; c < end; ++c)
    UNROLL for (int j = 0; j < TILE; ++j)
      if (IS_THERE(j))
        finishRows(out, OPERANDS, r + j * LANES, c, &done[j], KEEP, kept + c * TILE + j, 0, 0, COUNT(j));
#endif
}
static __attribute__((noinline)) void computeWhole(OPERAND_PARAMETERS, OUT_TYPE *out, const struct Tile *tile, long begin,
                                                   long end, vf32 *kept, char *slots, long thread, long team) {
  computeTile(1, OPERANDS, out, tile, begin, end, kept, slots, thread, team);
}
// The last rows of a run.
static __attribute__((noinline)) void computeRest(OPERAND_PARAMETERS, OUT_TYPE *out, const struct Tile *tile, long begin,
                                                  long end, vf32 *kept, char *slots, long thread, long team) {
  computeTile(0, OPERANDS, out, tile, begin, end, kept, slots, thread, team);
}

static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, char *space, long thread, long team) {
#if SPLIT
  const long first = 0, last = TILES, begin = COLUMNS * thread / team, end = COLUMNS * (thread + 1) / team;
  char *const kept = space, *const slots = space + TILE_BYTES;
#else
  const long first = TILES * thread / team, last = TILES * (thread + 1) / team, begin = 0, end = COLUMNS;
  char *const kept = space + TILE_BYTES * thread, *const slots = space;
#endif
  for (long i = first; i < last; ++i) {
    const long at = i % TILES_OF_RUN * NR;
    const struct Tile tile = {i / TILES_OF_RUN * ROW_RUN + at, min(NR, ROW_RUN - at), i};
    if (tile.rows == NR)
      computeWhole(OPERANDS, out, &tile, begin, end, (vf32 *)kept, slots, thread, team);
    else
      computeRest(OPERANDS, out, &tile, begin, end, (vf32 *)kept, slots, thread, team);
  }
}

void fastk_kernel(OPERAND_PARAMETERS, OUT_TYPE *restrict out, void *workspace) {
#if TEAM > 1
#pragma omp parallel num_threads(TEAM)
  work(OPERANDS, out, workspace, omp_get_thread_num(), omp_get_num_threads());
#else
  work(OPERANDS, out, workspace, 0, 1);
#endif
}
