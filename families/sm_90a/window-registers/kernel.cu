// What windows combine, each element loaded into registers in the widest accesses. A thread has PER_Y by PER_X results, of
// neighbours along x in one access, or of VECTOR channels where these lie together; it walks over the lines of their
// windows, AHEAD of them under way at once, combines along x what each result needs of a line, and adds that to all results
// whose windows have the line. So an element that windows share is loaded and combined along x once. Where windows are long
// and few, LANES threads share a window and combine by shuffles. Where a thread's results along x are no whole vectors of the
// result, lanes store neighbours that they have from each other (TURNED). Always in the same order, so results are the same
// bits.

#define PER_X 4 // tune: 1, 2, 4, 8
#define PER_Y 1 // tune: 1, 2, 4, 8
#define LANES 1 // tune: 1, 4, 8, 32
#define AHEAD 1 // tune: 1, 2, 3, 4
#define TURNED 0 // tune: 0, 1
#define THREADS 256 // tune: 128, 256, 512
#define ONCE_MB 200 // tune: 0, 200, 1000000
#define STREAM 0 // tune: 0, 1

// Accesses of VECTOR positions of one channel, or of VECTOR channels of one position.
#define UNIT (ALONG_X ? VECTOR : 1)
#define DEEP (ALONG_X ? 1 : VECTOR)
// Results of a thread at one y.
#define EACH (PER_X * DEEP)
#define C_GROUPS (CHANNELS / DEEP)
#define X_GROUPS ((OUT_X + PER_X - 1) / PER_X)
#define Y_GROUPS ((OUT_Y + PER_Y - 1) / PER_Y)
#define GROUPS (OUTER * OUT_Z * Y_GROUPS * X_GROUPS * C_GROUPS)
#define GRID ((GROUPS * LANES + THREADS - 1) / THREADS)

// Positions along x of a thread's windows. Where those of the next thread begin within an access, so do its own.
#define SPAN ((PER_X - 1) * STRIDE_X + (WINDOW_X - 1) * DILATION_X + 1)
#define IS_EVEN (PER_X * STRIDE_X % UNIT == 0 || X_GROUPS == 1)
#define MOST_SKIPPED (IS_EVEN ? BEGIN_X % UNIT : UNIT - 1)
#define CHUNKS ((MOST_SKIPPED + SPAN + UNIT - 1) / UNIT)
#define LAST_CHUNK (((X_GROUPS - 1) * PER_X * STRIDE_X + BEGIN_X) / UNIT * UNIT + (CHUNKS - 1) * UNIT)
#define FITS_X (LAST_CHUNK < POSITIONS_X)
#define LANE_CHUNKS ((CHUNKS + LANES - 1) / LANES)
// What of a line is loaded at once.
#define MOST_HELD (LANES > 1 ? 4 : 16)
#define HELD (LANE_CHUNKS < MOST_HELD ? LANE_CHUNKS : MOST_HELD)
#define FITS_HELD (LANE_CHUNKS % HELD == 0 && CHUNKS % LANES == 0)

// Lines of a thread's windows.
#define ROWS_Y ((PER_Y - 1) * STRIDE_Y + (WINDOW_Y - 1) * DILATION_Y + 1)
#define LINES (WINDOW_Z * ROWS_Y)
#define FITS_Y (OUT_Y % PER_Y == 0)
// Short walks are written out.
#define STEPS ((LINES + AHEAD - 1) / AHEAD)
#define LINE_CODE (LANE_CHUNKS * VECTOR * (IS_EVEN ? 3 : 3 + 4 * PER_X) + PER_X * DEEP * (WINDOW_X + PER_Y))
#define WRITTEN_OUT (LINES * LINE_CODE <= 1200 ? STEPS : 1)
#define CHUNK_STEPS (LANE_CHUNKS / HELD + (LANE_CHUNKS % HELD != 0))

// Registers that loads under way and sums take.
#define LIVE_BYTES (AHEAD * HELD * VECTOR * VALUE_BYTES + (PER_Y + AHEAD) * PER_X * DEEP * SUM_BYTES + VECTOR * SUM_BYTES)
#define REGISTERS (44 + LIVE_BYTES / 4)

#define READ_ALL ((i64)OUTER * CHANNELS * POSITIONS_Z * POSITIONS_Y * POSITIONS_X * READ_BYTES)
// What leaves caches first is what one access of a warp reads whole.
#define IS_ONE_ACCESS (!ALONG_X || (LANES == 1 && PER_X * STRIDE_X == UNIT))
#define HINTS (IS_ONE_ACCESS && READ_ALL <= (i64)ONCE_MB * 1000000)
#define SUM_WORDS (SUM_BYTES / 4)

// A team's results begin at these.
struct Corner {
  Index o, z, y, x, c;
};

static FASTK_DEVICE Corner cornerOf(Index group) {
  Corner at;
  at.c = group % C_GROUPS * DEEP;
  group /= C_GROUPS;
  at.x = group % X_GROUPS * PER_X;
  group /= X_GROUPS;
  at.y = group % Y_GROUPS * PER_Y;
  group /= Y_GROUPS;
  at.z = group % OUT_Z;
  at.o = group / OUT_Z;
  return at;
}

// Whether an element so far behind where a window begins is one of the window.
template <int DILATION, int WINDOW> static FASTK_DEVICE bool isIn(int behind) {
  return behind >= 0 && (DILATION == 1 || behind % DILATION == 0) && behind / DILATION < WINDOW;
}

// Whether a window of a result has the line, or the piece.
static FASTK_DEVICE bool hasRow(int row) {
  if (DILATION_Y == 1 && STRIDE_Y <= WINDOW_Y)
    return true;
  bool isThere = false;
#pragma unroll
  for (int t = 0; t < PER_Y; ++t)
    isThere |= isIn<DILATION_Y, WINDOW_Y>(row - t * STRIDE_Y);
  return isThere;
}

static FASTK_DEVICE bool hasChunk(int chunk, int skipped) {
  if (UNIT > 1 || (DILATION_X == 1 && STRIDE_X <= WINDOW_X))
    return true;
  bool isThere = false;
#pragma unroll
  for (int t = 0; t < PER_X; ++t)
    isThere |= isIn<DILATION_X, WINDOW_X>(chunk - skipped - t * STRIDE_X);
  return isThere;
}

struct Line {
  // Where its first access is, and whether it is there.
  Index z, y, x;
  int row, skipped;
  bool isThere;
};

static FASTK_DEVICE Line lineOf(const Corner &at, int number) {
  Line line;
  line.row = number % ROWS_Y;
  line.z = at.z * STRIDE_Z + number / ROWS_Y * DILATION_Z;
  line.y = at.y * STRIDE_Y + line.row;
  const Index first = at.x * STRIDE_X + BEGIN_X;
  line.x = first / UNIT * UNIT;
  line.skipped = IS_EVEN ? BEGIN_X % UNIT : (int)(first - line.x);
  line.isThere = (LINES % AHEAD == 0 || number < LINES) && (FITS_Y || line.y < POSITIONS_Y) && hasRow(line.row);
  return line;
}

static FASTK_DEVICE bool isLoaded(const Line &line, int chunk) {
  return line.isThere && (FITS_HELD || chunk < CHUNKS) && (FITS_X || line.x + chunk * UNIT < POSITIONS_X) &&
         hasChunk(chunk, line.skipped);
}

static FASTK_DEVICE Sum fromLane(const Sum &s, int lane) {
  u32 words[SUM_WORDS];
  memcpy(words, &s, SUM_BYTES);
#pragma unroll
  for (int k = 0; k < SUM_WORDS; ++k)
    words[k] = __shfl_sync(0xffffffffu, words[k], lane);
  Sum other;
  memcpy(&other, words, SUM_BYTES);
  return other;
}

#if TURNED

// Where results of a thread are no whole vectors: lanes store neighbours, of results that others have.
static FASTK_DEVICE void storeTurned(OUT_TYPE *out, OPERAND_PARAMETERS, Index thread, const Sum (*sums)[EACH]) {
  const int lane = threadIdx.x % 32, mine = lane % PER_X;
#pragma unroll
  for (int i = 0; i < PER_X; ++i) {
    const int owner = i * (32 / PER_X) + lane / PER_X;
    const Index group = thread - lane + owner;
    const bool isThere = GROUPS % THREADS == 0 || group < GROUPS;
    const Corner at = cornerOf(isThere ? group : (Index)(GROUPS - 1));
#pragma unroll
    for (int s = 0; s < PER_Y; ++s) {
      Sum y = neutral();
#pragma unroll
      for (int t = 0; t < PER_X; ++t) {
        const Sum found = fromLane(sums[s][t], owner);
        if (t == mine)
          y = found;
      }
      if (isThere && at.x + mine < OUT_X && (FITS_Y || at.y + s < OUT_Y))
        finishOne<STREAM>(out, OPERANDS, outPlaceOf(at.o, at.z, at.y + s, at.x + mine, at.c), &y);
    }
  }
}

#else

static FASTK_DEVICE void store(OUT_TYPE *out, OPERAND_PARAMETERS, const Corner &at, const Sum (*sums)[EACH]) {
  constexpr bool IS_WHOLE = !ALONG_X || PER_X % OUT_VECTOR == 0;
#pragma unroll
  for (int s = 0; s < PER_Y; ++s) {
    if (!FITS_Y && at.y + s >= OUT_Y)
      break;
#pragma unroll
    for (int t = 0; t < PER_X; t += ALONG_X && IS_WHOLE ? OUT_VECTOR : 1) {
      if (OUT_X % PER_X != 0 && at.x + t >= OUT_X)
        break;
      const OutPlace p = outPlaceOf(at.o, at.z, at.y + s, at.x + t, at.c);
      if constexpr (IS_WHOLE)
        finish<STREAM>(out, OPERANDS, p, sums[s] + t * DEEP);
      else
        finishOne<STREAM>(out, OPERANDS, p, sums[s] + t);
    }
  }
}

#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1) combineWindows(OUT_TYPE *out, OPERAND_PARAMETERS) {
  const Index thread = (Index)blockIdx.x * THREADS + threadIdx.x;
  const int lane = LANES > 1 ? threadIdx.x % LANES : 0;
  // Teams without a group go along with the last one, and write nothing.
  const bool isThere = GROUPS * LANES % THREADS == 0 || thread / LANES < GROUPS;
  const Corner at = cornerOf(isThere ? thread / LANES : (Index)(GROUPS - 1));
  Sum sums[PER_Y][EACH];
#pragma unroll
  for (int s = 0; s < PER_Y; ++s) {
#pragma unroll
    for (int t = 0; t < EACH; ++t)
      sums[s][t] = neutral();
  }
  constexpr int WRITTEN = WRITTEN_OUT;
#pragma unroll WRITTEN
  for (int step = 0; step < STEPS; ++step) {
    Line lines[AHEAD];
    Sum parts[AHEAD][EACH];
#pragma unroll
    for (int a = 0; a < AHEAD; ++a) {
      lines[a] = lineOf(at, step * AHEAD + a);
#pragma unroll
      for (int t = 0; t < EACH; ++t)
        parts[a][t] = neutral();
    }
#pragma unroll 1
    for (int first = 0; first < CHUNK_STEPS * HELD; first += HELD) {
      Values v[AHEAD][HELD][VECTOR];
#pragma unroll
      for (int a = 0; a < AHEAD; ++a) {
#pragma unroll
        for (int i = 0; i < HELD; ++i) {
          const int chunk = (first + i) * LANES + lane;
          if (isLoaded(lines[a], chunk))
            load<HINTS>(OPERANDS, placeOf(at.o, lines[a].z, lines[a].y, lines[a].x + chunk * UNIT, at.c), v[a][i]);
        }
      }
#pragma unroll
      for (int a = 0; a < AHEAD; ++a) {
#pragma unroll
        for (int i = 0; i < HELD; ++i) {
          const int chunk = (first + i) * LANES + lane;
          if (!isLoaded(lines[a], chunk))
            continue;
          Sum x[VECTOR];
          elements(OPERANDS, placeOf(at.o, lines[a].z, lines[a].y, lines[a].x + chunk * UNIT, at.c), v[a][i], x);
#pragma unroll
          for (int j = 0; j < VECTOR; ++j) {
#pragma unroll
            for (int t = 0; t < PER_X; ++t) {
              const int behind = (ALONG_X ? chunk * UNIT + j : chunk) - lines[a].skipped - t * STRIDE_X;
              Sum &part = parts[a][t * DEEP + (ALONG_X ? 0 : j)];
              if (isIn<DILATION_X, WINDOW_X>(behind))
                part = combine(part, x[j]);
            }
          }
        }
      }
    }
#pragma unroll
    for (int a = 0; a < AHEAD; ++a) {
      if (!lines[a].isThere)
        continue;
#pragma unroll
      for (int s = 0; s < PER_Y; ++s) {
        if (!isIn<DILATION_Y, WINDOW_Y>(lines[a].row - s * STRIDE_Y))
          continue;
#pragma unroll
        for (int t = 0; t < EACH; ++t)
          sums[s][t] = combine(sums[s][t], parts[a][t]);
      }
    }
  }
#pragma unroll
  for (int distance = 1; distance < LANES; distance *= 2) {
#pragma unroll
    for (int s = 0; s < PER_Y; ++s) {
#pragma unroll
      for (int t = 0; t < EACH; ++t)
        sums[s][t] = combine(sums[s][t], fromLane(sums[s][t], (int)(threadIdx.x % 32) ^ distance));
    }
  }
#if TURNED
  storeTurned(out, OPERANDS, thread, sums);
#else
  if (isThere && lane == 0)
    store(out, OPERANDS, at, sums);
#endif
}
