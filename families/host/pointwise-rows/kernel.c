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
// No loop over segments: where one is a constant, it has one branch.
#define EACH_SEGMENT(DO) \
  DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

#if !TILED

// Where threads have whole rows there are so many that it does not matter whose the last is.
#define BY_ROWS (TEAM == 1 || ALL_ROWS >= 16 * TEAM)
// Shares of a row begin at lines of the caches.
#define PIECE 64

FK_INLINE void computeSegment(const int segment, const int isInside, OPERAND_PARAMETERS, OUT_TYPE *restrict out, long row,
                              long begin, long end) {
  long c = begin;
  for (; c + UNROLL * LANES <= end; c += UNROLL * LANES)
    WRITTEN_OUT for (int i = 0; i < UNROLL; ++i)
      computeColumns(segment, isInside, out, OPERANDS, row, c + i * LANES, STREAM, LANES);
  if (UNROLL > 1)
    for (; c + LANES <= end; c += LANES)
      computeColumns(segment, isInside, out, OPERANDS, row, c, STREAM, LANES);
  if (c >= end)
    return;
  if (end - begin >= LANES && HAS_LANES)
    computeColumns(segment, isInside, out, OPERANDS, row, end - LANES, 0, LANES);
  else
    computeColumns(segment, isInside, out, OPERANDS, row, c, 0, end - c);
}

FK_INLINE void computePart(const int segment, const int isInside, OPERAND_PARAMETERS, OUT_TYPE *restrict out, long row,
                           long begin, long end) {
#if BY_ROWS
  computeSegment(segment, isInside, OPERANDS, out, row, segmentBegin(segment), segmentBegin(segment + 1));
#else
  const long low = max(begin, segmentBegin(segment)), high = min(end, segmentBegin(segment + 1));
  if (low < high)
    computeSegment(segment, isInside, OPERANDS, out, row, low, high);
#endif
}
FK_INLINE void computeRow(const int isInside, OPERAND_PARAMETERS, OUT_TYPE *restrict out, long row, long begin, long end) {
#define PART(segment)     \
  if (segment < SEGMENTS) \
    computePart(segment, isInside, OPERANDS, out, row, begin, end);
  EACH_SEGMENT(PART)
}
FK_INLINE void computeAny(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long row, long begin, long end) {
  if (HAS_INSIDE && isInsideRow(row))
    computeRow(1, OPERANDS, out, row, begin, end);
  else
    computeRow(0, OPERANDS, out, row, begin, end);
}

static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long thread, long team) {
#if BY_ROWS
  for (long row = ALL_ROWS * thread / team; row < ALL_ROWS * (thread + 1) / team; ++row)
    computeAny(OPERANDS, out, row, 0, COLUMNS);
#else
  const long pieces = ceildiv(ELEMENTS, PIECE), last = min(pieces * (thread + 1) / team * PIECE, ELEMENTS);
  for (long at = pieces * thread / team * PIECE; at < last;) {
    const long row = at / COLUMNS, begin = at - row * COLUMNS, end = min(COLUMNS, begin + last - at);
    computeAny(OPERANDS, out, row, begin, end);
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
static __attribute__((noinline, unused)) void computeRest(const int segment, OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o,
                                                  long r, long c, long rows, long columns) {
#define REST(number)                                    \
  if (number < SEGMENTS && segment == number)           \
    computeSquare(number, OPERANDS, out, o, r, c, rows, columns);
  EACH_SEGMENT(REST)
}

// Squares of a segment, from column `left` to `right`.
FK_INLINE void computeSquares(const int segment, OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o, long r, long rows,
                              long left, long right) {
  const long first = segmentBegin(segment), high = min(right, segmentBegin(segment + 1));
  for (long c = max(left, first); c < high; c += LANES) {
    const long at = c + LANES > high && high - first >= LANES ? high - LANES : c;
    if (rows == LANES && at + LANES <= high)
      computeSquare(segment, OPERANDS, out, o, r, at, LANES, LANES);
    else
      computeRest(segment, OPERANDS, out, o, r, at, rows, min(LANES, high - at));
  }
}

static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long thread, long team) {
  for (long tile = TILES * thread / team; tile < TILES * (thread + 1) / team; ++tile) {
    const long o = tile / (ROW_TILES * COLUMN_TILES), top = tile / COLUMN_TILES % ROW_TILES * TILE_ROWS;
    const long left = tile % COLUMN_TILES * TILE_COLUMNS, right = min(left + TILE_COLUMNS, COLUMNS);
    const long bottom = min(top + TILE_ROWS, ROWS);
    for (long r = top; r < bottom; r += LANES) {
      // The last rows, too, have whole vectors, of which some were there before.
      const long from = r + LANES > ROWS && ROWS >= LANES ? ROWS - LANES : r, rows = min(LANES, ROWS - from);
#define SQUARES(segment)  \
  if (segment < SEGMENTS) \
    computeSquares(segment, OPERANDS, out, o, from, rows, left, right);
      EACH_SEGMENT(SQUARES)
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
