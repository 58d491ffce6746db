// An element of the result for each place, nothing reduced: vectors are neighbouring
// columns of the result. Columns are cut into segments where a pad or another operand
// begins, so that no vector asks which of its lanes has what. Where an operand lies
// together along rows (TILED), squares of LANES rows and columns are loaded in vectors of
// rows and turned in registers, in tiles whose lines of the operand stay in the caches.
//
// The last vector of a segment begins before the end of the one before it rather than
// having lanes of its own: what is computed twice is the same.

#define TILED 0         // tune: 0, 1
#define UNROLL 2        // tune: 1, 2, 4
#define TILE_ROWS 32    // tune: 8, 16, 32, 64
#define TILE_COLUMNS 64 // tune: 16, 32, 64, 128, 256
#define STREAM 0        // tune: 0, 1
#define SERIAL 0        // tune: 0, 1

#define TEAM (SERIAL ? 1 : THREADS)
#define ALL_ROWS (ELEMENTS / COLUMNS)
#define WORKSPACE 64

#define WRITTEN_OUT _Pragma("clang loop unroll(full)")

#if !TILED

// Where threads have whole rows there are so many that it does not matter whose the last is.
#define BY_ROWS (TEAM == 1 || ALL_ROWS >= 16 * TEAM)
// Shares of a row begin at lines of the caches.
#define PIECE 64

FK_INLINE void computeSegment(const int segment, OPERAND_PARAMETERS, OUT_TYPE *restrict out, long row, long begin,
                              long end) {
  long c = begin;
  for (; c + UNROLL * LANES <= end; c += UNROLL * LANES)
    WRITTEN_OUT for (int i = 0; i < UNROLL; ++i)
      computeColumns(segment, out, OPERANDS, row, c + i * LANES, STREAM, LANES);
  if (UNROLL > 1)
    for (; c + LANES <= end; c += LANES)
      computeColumns(segment, out, OPERANDS, row, c, STREAM, LANES);
  if (c >= end)
    return;
  if (end - begin >= LANES && HAS_LANES)
    computeColumns(segment, out, OPERANDS, row, end - LANES, 0, LANES);
  else
    computeColumns(segment, out, OPERANDS, row, c, 0, end - c);
}

static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long thread, long team) {
#if BY_ROWS
  for (long row = ALL_ROWS * thread / team; row < ALL_ROWS * (thread + 1) / team; ++row)
    WRITTEN_OUT for (int s = 0; s < SEGMENTS; ++s)
      computeSegment(s, OPERANDS, out, row, segmentBegin(s), segmentBegin(s + 1));
#else
  const long pieces = ceildiv(ELEMENTS, PIECE), last = min(pieces * (thread + 1) / team * PIECE, ELEMENTS);
  for (long at = pieces * thread / team * PIECE; at < last;) {
    const long row = at / COLUMNS, begin = at - row * COLUMNS, end = min(COLUMNS, begin + last - at);
    WRITTEN_OUT for (int s = 0; s < SEGMENTS; ++s) {
      const long low = max(begin, segmentBegin(s)), high = min(end, segmentBegin(s + 1));
      if (low < high)
        computeSegment(s, OPERANDS, out, row, low, high);
    }
    at += end - begin;
  }
#endif
}

#else

#define ROW_TILES ceildiv(ROWS, TILE_ROWS)
#define COLUMN_TILES ceildiv(COLUMNS, TILE_COLUMNS)
#define TILES (OUTER * ROW_TILES * COLUMN_TILES)

FK_INLINE void computeSquare(const int segment, OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o, long r, long c,
                             long rows, long columns) {
  struct Turned x[LANES];
  loadTurned(OPERANDS, o, r, c, x, rows, columns);
  WRITTEN_OUT for (long i = 0; i < LANES; ++i)
    if (i < rows)
      computeTurned(segment, out, OPERANDS, o, r + i, c, &x[i], STREAM && columns == LANES, columns);
}
static __attribute__((noinline)) void computeRest(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o, long r, long c,
                                                  long rows, long columns) {
  WRITTEN_OUT for (int s = 0; s < SEGMENTS; ++s)
    if (c >= segmentBegin(s) && c < segmentBegin(s + 1))
      computeSquare(s, OPERANDS, out, o, r, c, rows, columns);
}

static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long thread, long team) {
  for (long tile = TILES * thread / team; tile < TILES * (thread + 1) / team; ++tile) {
    const long o = tile / (ROW_TILES * COLUMN_TILES), top = tile / COLUMN_TILES % ROW_TILES * TILE_ROWS;
    const long left = tile % COLUMN_TILES * TILE_COLUMNS, bottom = min(top + TILE_ROWS, ROWS);
    for (long r = top; r < bottom; r += LANES) {
      // The last rows, too, have whole vectors, of which some were there before.
      const long from = r + LANES > ROWS && ROWS >= LANES ? ROWS - LANES : r, rows = min(LANES, ROWS - from);
      WRITTEN_OUT for (int s = 0; s < SEGMENTS; ++s) {
        const long first = segmentBegin(s), low = max(left, first);
        const long end = segmentBegin(s + 1), high = min(min(left + TILE_COLUMNS, COLUMNS), end);
        for (long c = low; c < high; c += LANES) {
          const long at = c + LANES > high && high - first >= LANES ? high - LANES : c;
          if (rows == LANES && at + LANES <= high)
            computeSquare(s, OPERANDS, out, o, from, at, LANES, LANES);
          else
            computeRest(OPERANDS, out, o, from, at, rows, min(LANES, high - at));
        }
      }
    }
  }
}

#endif

void fastk_kernel(OPERAND_PARAMETERS, OUT_TYPE *restrict out, void *workspace) {
#if TEAM > 1
#pragma omp parallel num_threads(TEAM)
  work(OPERANDS, out, omp_get_thread_num(), omp_get_num_threads());
#else
  work(OPERANDS, out, 0, 1);
#endif
}
