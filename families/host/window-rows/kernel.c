// What windows combine: vectors are neighbouring results along x, or channels where these
// lie together. A block is PER_Y rows of results by NV vectors: it walks over the lines of
// its windows, combines along x what each vector needs of a line, and adds that to all rows
// whose windows have the line. Where pads are nothing is asked but at the borders: results
// whose windows reach them along x are computed one by one, and lines of others are
// looked at as a whole.
//
// What windows of a row of results combine along z and y may come first (DOWN_FIRST), for all
// positions along x in turn: it is loaded in whole vectors whatever the stride, once, and only
// positions are at borders, no results. Where windows are wide and do not overlap
// (ALONG_WINDOW), vectors are elements of one window. The last vector of a row begins before
// the end of the one before it.

#define NV 2           // tune: 1, 2, 4
#define PER_Y 1        // tune: 1, 2, 4
#define DOWN_FIRST 0   // tune: 0, 1
#define ALONG_WINDOW 0 // tune: 0, 1
#define STREAM 0       // tune: 0, 1
#define SERIAL 0       // tune: 0, 1

#define TEAM (SERIAL ? 1 : THREADS)
// A row of positions of each thread.
#define ROW_BYTES (DOWN_FIRST ? ceildiv(POSITIONS_X * SUM_BYTES, 64) * 64 + 128 : 0)
#define WORKSPACE (ROW_BYTES * TEAM + 64)

// Lines of a block's windows, and what is written out of them.
#define ROWS_Y ((PER_Y - 1) * STRIDE_Y + (WINDOW_Y - 1) * DILATION_Y + 1)
#define CODE (WINDOW_Z * ROWS_Y * WINDOW_X * NV)
#define FULL _Pragma("clang loop unroll(full)")
#if CODE <= 96
#define LINES_LOOP FULL
#define LINE_LOOP FULL
#else
#define LINES_LOOP _Pragma("clang loop unroll(disable)")
#define LINE_LOOP
#endif

// Results along x all of whose windows are inside.
#define REACH_X ((WINDOW_X - 1) * DILATION_X)
#define FIRST_INSIDE min(ceildiv(INSIDE_BEGIN_X, STRIDE_X), OUT_X)
#define END_INSIDE (INSIDE_END_X > REACH_X ? min((INSIDE_END_X - REACH_X - 1) / STRIDE_X + 1, OUT_X) : 0)
#define LAST_INSIDE max(FIRST_INSIDE, END_INSIDE)

#define Y_GROUPS ceildiv(OUT_Y, PER_Y)
// Long rows are shared, too.
#define X_BLOCK (OUTER * OUT_Z * Y_GROUPS >= 8 * TEAM ? OUT_X : max(ceildiv(OUT_X, 8 * TEAM), 4 * LANES))
#define X_BLOCKS ceildiv(OUT_X, X_BLOCK)
#define UNITS (OUTER * OUT_Z * Y_GROUPS * X_BLOCKS)

FK_INLINE int isIn(long behind, long dilation, long window) {
  return behind >= 0 && behind % dilation == 0 && behind / dilation < window;
}
// Whether a window of the block has the line.
FK_INLINE int hasLine(long row) {
  int has = 0;
  FULL for (long s = 0; s < PER_Y; ++s)
    has |= isIn(row - s * STRIDE_Y, DILATION_Y, WINDOW_Y);
  return has;
}
// Whether windows of results from (z, y) on are inside along z and y.
FK_INLINE int isInsideAt(long z, long y) {
  const long pz = z * STRIDE_Z, py = y * STRIDE_Y;
  return pz >= INSIDE_BEGIN_Z && pz + (WINDOW_Z - 1) * DILATION_Z < INSIDE_END_Z && py >= INSIDE_BEGIN_Y &&
         py + ROWS_Y - 1 < INSIDE_END_Y;
}

// One result, whose window may be anywhere.
FK_INLINE void computeOne(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o, long z, long y, long x, long c) {
  Sum sum = NEUTRAL;
  for (long kz = 0; kz < WINDOW_Z; ++kz)
    for (long ky = 0; ky < WINDOW_Y; ++ky)
      for (long kx = 0; kx < WINDOW_X; ++kx)
        sum = combine(sum, element(OPERANDS, o, z * STRIDE_Z + kz * DILATION_Z, y * STRIDE_Y + ky * DILATION_Y,
                                   x * STRIDE_X + kx * DILATION_X, c));
  finish(out, OPERANDS, o, z, y, x, c, sum);
}
static __attribute__((noinline, unused)) void computeBorder(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o, long z, long y,
                                                    long x, long end) {
  for (long s = 0; s < PER_Y; ++s)
    for (long i = x; i < end; ++i)
      computeOne(OPERANDS, out, o, z, y + s, i, 0);
}

#if ALONG_X
#define PLACE_X(x, v) (x) + (v) * LANES
#define PLACE_C(c, v) (c)
#else
#define PLACE_X(x, v) (x)
#define PLACE_C(c, v) (c) + (v) * LANES
#endif

// Elements that a vector of results has at kx of a line.
FK_INLINE Sums elementsOf(const int isInside, OPERAND_PARAMETERS, long o, long pz, long py, long x, long kx, long c,
                          const int v, long count) {
#if ALONG_X
  const long px = (x + v * LANES) * STRIDE_X + kx * DILATION_X;
#if STRIDE_X == 1
  return elements(isInside, OPERANDS, o, pz, py, px, 0, count);
#else
  return elementsApart(isInside, OPERANDS, o, pz, py, px, 0, count);
#endif
#else
  return elements(isInside, OPERANDS, o, pz, py, x * STRIDE_X + kx * DILATION_X, c + v * LANES, count);
#endif
}

FK_INLINE void computeBlock(const int isInside, const int vectors, OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o,
                            long z, long y, long x, long c, long count) {
  Sums sums[PER_Y][NV];
  FULL for (long s = 0; s < PER_Y; ++s)
    FULL for (int v = 0; v < vectors; ++v)
      sums[s][v] = (Sums)NEUTRAL;
  LINES_LOOP for (long line = 0; line < WINDOW_Z * ROWS_Y; ++line) {
    const long kz = line / ROWS_Y, row = line % ROWS_Y;
    if (!hasLine(row))
      continue;
    const long pz = z * STRIDE_Z + kz * DILATION_Z, py = y * STRIDE_Y + row;
    Sums part[NV];
    FULL for (int v = 0; v < vectors; ++v)
      part[v] = elementsOf(isInside, OPERANDS, o, pz, py, x, 0, c, v, count);
    LINE_LOOP for (long kx = 1; kx < WINDOW_X; ++kx)
      FULL for (int v = 0; v < vectors; ++v)
        part[v] = combineLanes(part[v], elementsOf(isInside, OPERANDS, o, pz, py, x, kx, c, v, count));
    FULL for (long s = 0; s < PER_Y; ++s)
      if (isIn(row - s * STRIDE_Y, DILATION_Y, WINDOW_Y))
        FULL for (int v = 0; v < vectors; ++v)
          sums[s][v] = combineLanes(sums[s][v], part[v]);
  }
  FULL for (long s = 0; s < PER_Y; ++s)
    FULL for (int v = 0; v < vectors; ++v)
      finishLanes(out, OPERANDS, o, z, y + s, PLACE_X(x, v), PLACE_C(c, v), sums[s][v], STREAM && count == LANES, count);
}

// Blocks of a row of vectors from `begin` on.
FK_INLINE void computeVectors(const int isInside, OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o, long z, long y,
                              long x, long begin, long end) {
#if ALONG_X
#define AT(i) (i), 0
#else
#define AT(i) x, (i)
#endif
  long i = begin;
  for (; i + NV * LANES <= end; i += NV * LANES)
    computeBlock(isInside, NV, OPERANDS, out, o, z, y, AT(i), LANES);
  if (NV > 1)
    for (; i + LANES <= end; i += LANES)
      computeBlock(isInside, 1, OPERANDS, out, o, z, y, AT(i), LANES);
  if (i >= end)
    return;
  if (end - begin >= LANES)
    computeBlock(isInside, 1, OPERANDS, out, o, z, y, AT(end - LANES), LANES);
  else
    computeBlock(isInside, 1, OPERANDS, out, o, z, y, AT(i), end - i);
}
static __attribute__((noinline, unused)) void computeInside(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o, long z, long y,
                                                    long x, long begin, long end) {
  computeVectors(1, OPERANDS, out, o, z, y, x, begin, end);
}
static __attribute__((noinline, unused)) void computeAnywhere(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o, long z, long y,
                                                      long x, long begin, long end) {
  computeVectors(0, OPERANDS, out, o, z, y, x, begin, end);
}

#if ALONG_WINDOW
// One result whose window is inside along x.
FK_INLINE void joinOne(const int isInside, OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o, long z, long y, long x) {
  Sums sums = (Sums)NEUTRAL;
  Sum rest = NEUTRAL;
  LINES_LOOP for (long kz = 0; kz < WINDOW_Z; ++kz)
    LINES_LOOP for (long ky = 0; ky < WINDOW_Y; ++ky) {
      const long pz = z * STRIDE_Z + kz * DILATION_Z, py = y * STRIDE_Y + ky * DILATION_Y, px = x * STRIDE_X;
      long kx = 0;
      for (; kx + LANES <= WINDOW_X; kx += LANES)
        sums = combineLanes(sums, elements(isInside, OPERANDS, o, pz, py, px + kx, 0, LANES));
      for (; kx < WINDOW_X; ++kx)
        rest = combine(rest, element(OPERANDS, o, pz, py, px + kx, 0));
    }
  finish(out, OPERANDS, o, z, y, x, 0, combine(joinLanes(sums), rest));
}
#endif

#if DOWN_FIRST
// What is combined along z and y at positions from `begin` to `end`, in `row`, which begins at `origin`.
FK_INLINE void combineDown(const int isInside, OPERAND_PARAMETERS, Sum *row, long o, long z, long y, long begin, long end,
                           long origin) {
  for (long at = begin; at < end; at += LANES) {
    const long px = at + LANES > end && end - begin >= LANES ? end - LANES : at;
    Sums sums = (Sums)NEUTRAL;
    LINES_LOOP for (long line = 0; line < WINDOW_Z * WINDOW_Y; ++line) {
      const long pz = z * STRIDE_Z + line / WINDOW_Y * DILATION_Z, py = y * STRIDE_Y + line % WINDOW_Y * DILATION_Y;
      const Sums part = elements(isInside, OPERANDS, o, pz, py, px, 0, end - px < LANES ? end - px : LANES);
      sums = line == 0 ? part : combineLanes(sums, part);
    }
    // Behind a short row there is room.
    *(SumsAnywhere *)(row + px - origin) = sums;
  }
}
static __attribute__((noinline, unused)) void combineBorder(OPERAND_PARAMETERS, Sum *row, long o, long z, long y, long begin,
                                                    long end, long origin) {
  for (long px = begin; px < end; ++px) {
    Sum sum = NEUTRAL;
    for (long line = 0; line < WINDOW_Z * WINDOW_Y; ++line)
      sum = combine(sum, element(OPERANDS, o, z * STRIDE_Z + line / WINDOW_Y * DILATION_Z,
                                 y * STRIDE_Y + line % WINDOW_Y * DILATION_Y, px, 0));
    row[px - origin] = sum;
  }
}

FK_INLINE void combineAcross(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const Sum *row, long o, long z, long y, long x,
                             long count, long first) {
  const Sum *const from = row + (x - first) * STRIDE_X;
  Sums sums = sumsApart(from, count);
  LINE_LOOP for (long kx = 1; kx < WINDOW_X; ++kx)
    sums = combineLanes(sums, sumsApart(from + kx * DILATION_X, count));
  finishLanes(out, OPERANDS, o, z, y, x, 0, sums, 0, count);
}

static void computeRow(OPERAND_PARAMETERS, OUT_TYPE *restrict out, Sum *row, long o, long z, long y, long x, long end) {
  const long origin = x * STRIDE_X, behind = (end - 1) * STRIDE_X + REACH_X + 1;
  const long first = min(max(origin, INSIDE_BEGIN_X), behind), last = max(min(behind, INSIDE_END_X), first);
  if (isInsideAt(z, y))
    combineDown(1, OPERANDS, row, o, z, y, first, last, origin);
  else
    combineDown(0, OPERANDS, row, o, z, y, first, last, origin);
  if (origin < first)
    combineBorder(OPERANDS, row, o, z, y, origin, first, origin);
  if (last < behind)
    combineBorder(OPERANDS, row, o, z, y, last, behind, origin);
  long i = x;
  for (; i + LANES <= end; i += LANES)
    combineAcross(OPERANDS, out, row, o, z, y, i, LANES, x);
  if (i < end && end - x >= LANES)
    combineAcross(OPERANDS, out, row, o, z, y, end - LANES, LANES, x);
  else if (i < end)
    combineAcross(OPERANDS, out, row, o, z, y, i, end - i, x);
}
#endif

// Results of PER_Y rows from y on, from x to `end`.
FK_INLINE void computeRows(OPERAND_PARAMETERS, OUT_TYPE *restrict out, long o, long z, long y, long x, long end) {
  const int isInside = isInsideAt(z, y);
#if ALONG_WINDOW || ALONG_X
  const long first = min(max(x, FIRST_INSIDE), end), last = max(min(end, LAST_INSIDE), first);
  if (x < first)
    computeBorder(OPERANDS, out, o, z, y, x, first);
#endif
#if ALONG_WINDOW
  for (long s = 0; s < PER_Y; ++s)
    for (long i = first; i < last; ++i)
      if (isInside)
        joinOne(1, OPERANDS, out, o, z, y + s, i);
      else
        joinOne(0, OPERANDS, out, o, z, y + s, i);
#elif ALONG_X
  if (first < last && isInside)
    computeInside(OPERANDS, out, o, z, y, 0, first, last);
  else if (first < last)
    computeAnywhere(OPERANDS, out, o, z, y, 0, first, last);
#else
  for (long i = x; i < end; ++i)
    if (isInside && i >= FIRST_INSIDE && i < LAST_INSIDE)
      computeInside(OPERANDS, out, o, z, y, i, 0, CHANNELS);
    else
      computeAnywhere(OPERANDS, out, o, z, y, i, 0, CHANNELS);
#endif
#if ALONG_WINDOW || ALONG_X
  if (last < end)
    computeBorder(OPERANDS, out, o, z, y, last, end);
#endif
}

static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, char *space, long thread, long team) {
  for (long unit = UNITS * thread / team; unit < UNITS * (thread + 1) / team; ++unit) {
    const long x = unit % X_BLOCKS * X_BLOCK, group = unit / X_BLOCKS;
    // The last rows are PER_Y, too, of which some were there before.
    const long y = min(group % Y_GROUPS * PER_Y, OUT_Y - PER_Y);
    const long z = group / Y_GROUPS % OUT_Z, o = group / (Y_GROUPS * OUT_Z);
#if DOWN_FIRST
    computeRow(OPERANDS, out, (Sum *)(space + ROW_BYTES * thread), o, z, y, x, min(x + X_BLOCK, OUT_X));
#else
    computeRows(OPERANDS, out, o, z, y, x, min(x + X_BLOCK, OUT_X));
#endif
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
