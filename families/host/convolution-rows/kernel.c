// A direct convolution whose vectors lie along rows: neighbouring columns of the
// result, of a few rows and output channels, times single elements of W. For few
// output channels of a group, as depthwise convolutions have.
//
// What a block of positions meets of X is packed row by row with its zeros, as f32.
// Where the window moves by several columns, a row is packed as so many: those
// columns first that the first element of a window meets, so that neighbours in the
// result are neighbours there. An element of X is loaded once for all rows of a tile
// whose windows have it. Sums stay in the first-level cache until they are finished.

#define RT 4     // tune: 1, 2, 3, 4, 5, 6
#define OT 1     // tune: 1, 2, 3, 4, 6, 8
#define NV 1     // tune: 1, 2
#define PIXELS 0 // tune: 0, 256, 1024, 4096
#define SERIAL 0 // tune: 0, 1

#define TEAM (SERIAL ? 1 : THREADS)
#define TAPS (KERNEL_Z * KERNEL_Y * KERNEL_X)

// Positions of a block: by default so many that what they meet of X stays in the
// first-level cache, or eight rows of them in the second-level cache.
#define INPUTS (IN_CHANNELS * STRIDE_Z * STRIDE_Y * STRIDE_X)
#define POSITIONS (PIXELS > 0 ? PIXELS : max(L1_BYTES / 8 / INPUTS, max(min(L2_BYTES / 16 / INPUTS, 8 * OUT_X), LANES)))
#define SPLIT (BATCH * GROUPS % TEAM != 0 ? TEAM : 1)
#define SPLIT_Z (OUT_Z > 1 ? SPLIT : 1)
#define SPLIT_Y (OUT_Z == 1 && OUT_Y > 1 ? SPLIT : 1)
#define SPLIT_X (OUT_Z * OUT_Y == 1 ? SPLIT : 1)
#define ZB ceildiv(OUT_Z, min(ceildiv(ceildiv(OUT_Z, max(POSITIONS / (OUT_Y * OUT_X), 1)), SPLIT_Z) * SPLIT_Z, OUT_Z))
#define YB ceildiv(OUT_Y, min(ceildiv(ceildiv(OUT_Y, max(POSITIONS / OUT_X, 1)), SPLIT_Y) * SPLIT_Y, OUT_Y))
#define XB ceildiv(OUT_X, min(ceildiv(ceildiv(OUT_X, POSITIONS), SPLIT_X) * SPLIT_X, OUT_X))
#define BLOCKS_Z ceildiv(OUT_Z, ZB)
#define BLOCKS_Y ceildiv(OUT_Y, YB)
#define BLOCKS_X ceildiv(OUT_X, XB)
#define UNITS (BATCH * GROUPS * BLOCKS_Z * BLOCKS_Y * BLOCKS_X)

// What a block meets of X, as rows of cells. Every STRIDE_X-th cell lies together.
#define cellsOf(axis, count) ((count - 1) * STRIDE_##axis + (KERNEL_##axis - 1) * DILATION_##axis + 1)
#define CELLS_Z ((ZB - 1) * STRIDE_Z + (KERNEL_Z - 1) * DILATION_Z + 1)
#define CELLS_Y ((YB - 1) * STRIDE_Y + (KERNEL_Y - 1) * DILATION_Y + 1)
#define CELLS_X ((XB - 1) * STRIDE_X + (KERNEL_X - 1) * DILATION_X + 1)
#define PART (ceildiv(CELLS_X, STRIDE_X) + NV * LANES)
#define ROW (STRIDE_X * PART)
#define PLANE (CELLS_Y * ROW)
#define X_BLOCK (CELLS_Z * PLANE)

// The workspace, in floats: what each thread has.
#define X_FLOATS (ceildiv(IN_CHANNELS * X_BLOCK, 16) * 16)
#define W_FLOATS (ceildiv(OUT_CHANNELS * IN_CHANNELS * TAPS + LANES, 16) * 16)
#define SUMS (ZB * YB * XB)
#define SUMS_FLOATS (ceildiv(OT * SUMS + LANES, 16) * 16)
#define LINE_FLOATS (ceildiv(CELLS_X + LANES, 16) * 16)
#define THREAD_FLOATS (X_FLOATS + W_FLOATS + SUMS_FLOATS + LINE_FLOATS)
#define WORKSPACE (TEAM * THREAD_FLOATS * 4)

#define UNROLL _Pragma("clang loop unroll(full)")
#define VECTOR(p) (*(vf32u *)(p))
// The window is unrolled where it is small.
#if KERNEL_Y * KERNEL_X * RT * OT * NV <= 256
#define WINDOW UNROLL
#else
#define WINDOW
#endif

// A block of positions of an image and a group: its first position, how many there
// are, and the window's coordinates that they begin at.
struct Block {
  long n, g, z, y, x, zb, yb, xb, firstZ, firstY, firstX;
};
FK_INLINE struct Block blockOfUnit(long unit) {
  struct Block at;
  at.x = unit % BLOCKS_X * XB;
  unit /= BLOCKS_X;
  at.y = unit % BLOCKS_Y * YB;
  unit /= BLOCKS_Y;
  at.z = unit % BLOCKS_Z * ZB;
  unit /= BLOCKS_Z;
  at.g = unit % GROUPS;
  at.n = unit / GROUPS;
  at.zb = min(ZB, OUT_Z - at.z);
  at.yb = min(YB, OUT_Y - at.y);
  at.xb = min(XB, OUT_X - at.x);
  at.firstZ = at.z * STRIDE_Z - PADDING_Z;
  at.firstY = at.y * STRIDE_Y - PADDING_Y;
  at.firstX = at.x * STRIDE_X - PADDING_X;
  return at;
}

// Cells of a row, one after the other: its zeros, and vectors of X, whose last one
// may reach beyond.
FK_INLINE void packLine(OPERAND_PARAMETERS, float *line, const struct Block *at, long c, long z, long y) {
  const long cells = cellsOf(X, at->xb);
#if INPUT_DILATION_Z * INPUT_DILATION_Y * INPUT_DILATION_X > 1
  for (long i = 0; i < cells; ++i)
    line[i] = paddedX(OPERANDS, at->n, at->g, c, z, y, at->firstX + i);
#else
  const int isThere = z >= 0 && z < IN_Z && y >= 0 && y < IN_Y;
  const long begin = isThere ? min(max(-at->firstX, 0), cells) : cells;
  const long end = max(min(IN_X - at->firstX, cells), begin);
  for (long i = 0; i < begin; ++i)
    line[i] = 0;
  for (long i = begin; i < end; i += LANES)
    VECTOR(line + i) = elementsX_X(OPERANDS, at->n, at->g, c, z, y, at->firstX + i, IN_X - at->firstX - i);
  for (long i = end; i < cells; ++i)
    line[i] = 0;
#endif
}

// What a block meets of X, and zeros behind each row for the lanes of a tile that are
// no positions: what is there by chance may be subnormal, which takes tens of times as
// long.
FK_INLINE void packInput(OPERAND_PARAMETERS, float *input, float *line, const struct Block *at) {
  for (long c = 0; c < IN_CHANNELS; ++c)
    for (long z = 0; z < cellsOf(Z, at->zb); ++z)
      for (long y = 0; y < cellsOf(Y, at->yb); ++y) {
        float *const row = input + c * X_BLOCK + z * PLANE + y * ROW;
        packLine(OPERANDS, STRIDE_X == 1 ? row : line, at, c, at->firstZ + z, at->firstY + y);
        for (long part = 0; part < STRIDE_X; ++part) {
          const long count = (cellsOf(X, at->xb) - part + STRIDE_X - 1) / STRIDE_X;
          if (STRIDE_X > 1)
            for (long i = 0; i < count; ++i)
              row[part * PART + i] = line[i * STRIDE_X + part];
          UNROLL for (int j = 0; j < NV; ++j)
            VECTOR(row + part * PART + count + j * LANES) = (vf32)0.0f;
        }
      }
}

// The terms of a group's output channels.
FK_INLINE void packWeights(OPERAND_PARAMETERS, float *weights, long g) {
  const long terms = IN_CHANNELS * TAPS;
  for (long o = 0; o < OUT_CHANNELS; ++o) {
#if W_ALONG_K
    for (long k = 0; k < terms; k += LANES)
      VECTOR(weights + o * terms + k) = elementsW_K(OPERANDS, g, o, k, terms - k);
#else
    for (long k = 0; k < terms; ++k)
      weights[o * terms + k] = termW(OPERANDS, g, o, k);
#endif
  }
}

// Sums of a row, `count` of them from where a vector begins.
FK_INLINE void putSums(float *sums, vf32 v, long count) {
  if (count >= LANES)
    VECTOR(sums) = v;
  else if (count == XB % LANES)
    memcpy(sums, &v, XB % LANES * 4);
  else
    memcpy(sums, &v, max(count, 0) * 4);
}

// A tile of `rows` rows, OT output channels and NV vectors of columns, in registers.
// Row i of X is in the window of a row of the tile if that is so many rows above.
FK_INLINE void convolveTile(const int rows, const float *restrict x, const float *restrict w, float *restrict sums,
                            long pitch, long count) {
  vf32 sum[RT][OT][NV];
  UNROLL for (int r = 0; r < rows; ++r)
    UNROLL for (int o = 0; o < OT; ++o)
      UNROLL for (int j = 0; j < NV; ++j)
        sum[r][o][j] = (vf32)0.0f;
  for (long c = 0; c < IN_CHANNELS; ++c)
    for (long kz = 0; kz < KERNEL_Z; ++kz) {
      const float *const plane = x + c * X_BLOCK + kz * DILATION_Z * PLANE;
      const float *const taps = w + (c * KERNEL_Z + kz) * KERNEL_Y * KERNEL_X;
      WINDOW for (int i = 0; i < (rows - 1) * STRIDE_Y + (KERNEL_Y - 1) * DILATION_Y + 1; ++i)
        WINDOW for (int kx = 0; kx < KERNEL_X; ++kx) {
          const float *const from = plane + i * ROW + kx * DILATION_X % STRIDE_X * PART + kx * DILATION_X / STRIDE_X;
          UNROLL for (int r = 0; r < rows; ++r) {
            const int below = i - r * STRIDE_Y;
            if (below < 0 || below % DILATION_Y || below / DILATION_Y >= KERNEL_Y)
              continue;
            UNROLL for (int o = 0; o < OT; ++o) {
              const vf32 a = (vf32)taps[o * IN_CHANNELS * TAPS + below / DILATION_Y * KERNEL_X + kx];
              UNROLL for (int j = 0; j < NV; ++j)
                sum[r][o][j] += a * VECTOR(from + j * LANES);
            }
          }
        }
    }
  UNROLL for (int r = 0; r < rows; ++r)
    UNROLL for (int o = 0; o < OT; ++o)
      UNROLL for (int j = 0; j < NV; ++j)
        putSums(sums + o * SUMS + r * pitch + j * LANES, sum[r][o][j], count - j * LANES);
}

// All tiles of a block, for OT output channels.
static void convolve(const struct Block *at, const float *x, const float *w, float *sums) {
  for (long z = 0; z < at->zb; ++z)
    for (long y = 0; y < at->yb;) {
      const long rows = y + RT <= at->yb ? RT : 1;
      const float *const from = x + z * STRIDE_Z * PLANE + y * STRIDE_Y * ROW;
      float *const to = sums + (z * at->yb + y) * at->xb;
      for (long i = 0; i < at->xb; i += NV * LANES)
        if (rows == RT)
          convolveTile(RT, from + i, w, to + i, at->xb, at->xb - i);
        else
          convolveTile(1, from + i, w, to + i, at->xb, at->xb - i);
      y += rows;
    }
}

// What becomes of the sums of a block, for an output channel: of positions that
// follow each other in the result together.
FK_INLINE void finishBlock(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const struct Block *at, const float *sums,
                           long o) {
  const int hasRows = at->xb == OUT_X, hasPlanes = hasRows && at->yb == OUT_Y;
  const long planes = hasPlanes ? 1 : at->zb, rows = hasRows ? 1 : at->yb;
  const long length = at->xb * (hasRows ? at->yb : 1) * (hasPlanes ? at->zb : 1);
  for (long z = 0; z < planes; ++z)
    for (long y = 0; y < rows; ++y) {
      const float *const from = sums + (z * rows + y) * length;
      const long p = ((at->z + z) * OUT_Y + at->y + y) * OUT_X + at->x;
      for (long i = 0; i < length; i += LANES)
        finishP(out, OPERANDS, at->n, at->g, o, p + i, VECTOR(from + i), length - i);
    }
}

// What one thread of a team computes.
static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, float *workspace, long thread, long team) {
  float *const input = workspace + thread * THREAD_FLOATS, *const weights = input + X_FLOATS;
  float *const sums = weights + W_FLOATS, *const line = sums + SUMS_FLOATS;
  for (long unit = UNITS * thread / team; unit < UNITS * (thread + 1) / team; ++unit) {
    const struct Block at = blockOfUnit(unit);
    packWeights(OPERANDS, weights, at.g);
    packInput(OPERANDS, input, line, &at);
    // Behind the sums of a channel, too.
    for (long each = 0; each < OT; ++each)
      VECTOR(sums + each * SUMS + at.zb * at.yb * at.xb) = (vf32)0.0f;
    for (long o = 0; o < OUT_CHANNELS; o += OT) {
      convolve(&at, input, weights + o * IN_CHANNELS * TAPS, sums);
      for (long each = 0; each < OT; ++each)
        finishBlock(OPERANDS, out, &at, sums + each * SUMS, o + each);
    }
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
