// A direct convolution around a register kernel of MR positions times NV vectors of
// output channels.
//
// What a block of positions meets of X is packed once, with its zeros: the channels
// of a block lie together for each element, so neighbouring columns of a window and
// their channels are one run of terms. W is packed into panels of NR output channels,
// in the order of these runs. A tile is any MR positions that follow each other in
// the block, also over the ends of rows. Sums of a panel stay in the caches until all
// input channels have been added; then they are finished, along whatever lies
// together in the result.
//
// Where X has zeros between its elements (a transposed convolution), positions whose
// windows meet the same elements of the kernel are a phase. Each is a convolution of
// X as it lies with a part of the kernel, so that no zero is multiplied.

#define MR 6       // tune: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 20, 28
#define NV 2       // tune: 1, 2, 3, 4
#define CHANNELS 0 // tune: 0, 8, 16, 32, 64, 128, 256, 512
#define PIXELS 0   // tune: 0, 64, 128, 256, 512, 1024, 2048
#define ONCE 1     // tune: 0, 1
#define SHARE 0    // tune: 0, 1
#define SERIAL 0   // tune: 0, 1

// What the threads share: 0 blocks of positions, 1 output channels.
#define TEAM (SERIAL ? 1 : THREADS)
// Output channels of a panel.
#define NR (NV * LANES)
#define PANELS ceildiv(OUT_CHANNELS, NR)

// Input channels of a block: by default so many that a panel of W stays in the
// first-level cache. All blocks have as many, the last some that are zero.
#define TAPS (KERNEL_Z * KERNEL_Y * KERNEL_X)
#define CHANNELS_WANTED (CHANNELS > 0 ? CHANNELS : max(L1_BYTES * 5 / 32 / (TAPS * NR) / 8 * 8, 8))
#define C_BLOCKS ceildiv(IN_CHANNELS, CHANNELS_WANTED)
#define CB ceildiv(IN_CHANNELS, C_BLOCKS)
// Of a panel and a block of input channels.
#define W_BLOCK (TAPS * CB * NR)

// Where a window is one element, those elements of X that none meets are left out.
#define TAKE_Z (KERNEL_Z == 1 && INPUT_DILATION_Z == 1 ? STRIDE_Z : 1)
#define TAKE_Y (KERNEL_Y == 1 && INPUT_DILATION_Y == 1 ? STRIDE_Y : 1)
#define TAKE_X (KERNEL_X == 1 && INPUT_DILATION_X == 1 ? STRIDE_X : 1)

// Positions of a block: by default so many that what they meet of X takes half of
// the second-level cache. It has whole rows if it can, and whole planes.
#define STRIDES (STRIDE_Z * STRIDE_Y * STRIDE_X / (TAKE_Z * TAKE_Y * TAKE_X))
#define POSITIONS (PIXELS > 0 ? PIXELS : max(L2_BYTES / 8 / (C_BLOCKS * CB * STRIDES), 32))
#define SPLIT (SHARE == 0 && BATCH * GROUPS % TEAM != 0 ? TEAM : 1)
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

// What a block meets of X, as cells.
#define cellsOf(axis, count)                                                                                           \
  (ceildiv((count - 1) * STRIDE_##axis + (KERNEL_##axis - 1) * DILATION_##axis, TAKE_##axis * INPUT_DILATION_##axis) + 1)
#define CELLS_Z (ceildiv((ZB - 1) * STRIDE_Z + (KERNEL_Z - 1) * DILATION_Z, TAKE_Z * INPUT_DILATION_Z) + 1)
#define CELLS_Y (ceildiv((YB - 1) * STRIDE_Y + (KERNEL_Y - 1) * DILATION_Y, TAKE_Y * INPUT_DILATION_Y) + 1)
#define CELLS_X (ceildiv((XB - 1) * STRIDE_X + (KERNEL_X - 1) * DILATION_X, TAKE_X * INPUT_DILATION_X) + 1)
#define ROW (CELLS_X * CB)
#define PLANE (CELLS_Y * ROW)
#define X_BLOCK (CELLS_Z * PLANE)
// From a position to the next one of its phase.
#define STEP_Z (STRIDE_Z / TAKE_Z * PLANE)
#define STEP_Y (STRIDE_Y / TAKE_Y * ROW)
#define STEP_X (STRIDE_X / TAKE_X * CB)

// A run is what is added by one loop: the columns of a window, if neighbours are
// neighbours in X.
#define MERGED (DILATION_X == 1 && INPUT_DILATION_X == 1)
#define RUN (MERGED ? KERNEL_X * CB : CB)
#define RUNS (MERGED ? KERNEL_Z * KERNEL_Y : TAPS)

#define PHASES (INPUT_DILATION_Z * INPUT_DILATION_Y * INPUT_DILATION_X)
#define PHASE_ROWS (ceildiv(ZB, INPUT_DILATION_Z) * ceildiv(YB, INPUT_DILATION_Y) * ceildiv(XB, INPUT_DILATION_X) + MR)

// The workspace, in floats: what each thread has, and W where it is packed once.
#define X_FLOATS (ceildiv(C_BLOCKS * X_BLOCK, 16) * 16)
#define SUMS_FLOATS (ceildiv(PHASES * PHASE_ROWS * NR, 16) * 16)
#define THREAD_FLOATS (X_FLOATS + SUMS_FLOATS + (ONCE ? 0 : ceildiv(W_BLOCK, 16) * 16))
#define W_FLOATS (ONCE ? GROUPS * PANELS * C_BLOCKS * W_BLOCK : 0)
#define WORKSPACE ((TEAM * THREAD_FLOATS + W_FLOATS) * 4)

#define UNROLL _Pragma("clang loop unroll(full)")
#define ROLLED _Pragma("clang loop unroll(disable)")
#define VECTOR(p) (*(vf32u *)(p))

// Where a run begins: in a tile's X, and in a panel.
struct Run {
  long x, w;
};

// sums[i][j] (+)= sum over all runs of x[i][k] * w[k][j], in registers: of MR
// positions of a row, or anywhere.
FK_INLINE void multiply(const int isRow, const float *restrict x, const long *places, const struct Run *runs, long count,
                        const float *restrict w, float *restrict sums, int isFirst) {
  const float *from[MR];
  UNROLL for (int i = 0; i < MR; ++i)
    from[i] = isRow ? x + i * STEP_X : x + places[i];
  vf32 sum[MR][NV];
  if (isFirst) {
    UNROLL for (int i = 0; i < MR; ++i)
      UNROLL for (int j = 0; j < NV; ++j)
        sum[i][j] = (vf32)0.0f;
  } else {
    UNROLL for (int i = 0; i < MR; ++i)
      UNROLL for (int j = 0; j < NV; ++j)
        sum[i][j] = VECTOR(sums + i * NR + j * LANES);
  }
  for (long r = 0; r < count; ++r) {
    const float *b = w + runs[r].w;
    const long first = runs[r].x;
    ROLLED for (long k = first; k < first + RUN; ++k) {
      vf32 y[NV];
      UNROLL for (int j = 0; j < NV; ++j)
        y[j] = VECTOR(b + j * LANES);
      UNROLL for (int i = 0; i < MR; ++i) {
        const vf32 a = (vf32)from[i][k];
        UNROLL for (int j = 0; j < NV; ++j)
          sum[i][j] += a * y[j];
      }
      b += NR;
    }
  }
  UNROLL for (int i = 0; i < MR; ++i)
    UNROLL for (int j = 0; j < NV; ++j)
      VECTOR(sums + i * NR + j * LANES) = sum[i][j];
}
static __attribute__((noinline)) void multiplyRow(const float *x, const struct Run *runs, long count, const float *w,
                                                  float *sums, int isFirst) {
  multiply(1, x, 0, runs, count, w, sums, isFirst);
}
static __attribute__((noinline)) void multiplyAny(const float *x, const long *places, const struct Run *runs,
                                                  long count, const float *w, float *sums, int isFirst) {
  multiply(0, x, places, runs, count, w, sums, isFirst);
}

// A block of positions of an image and a group: its first position, how many there
// are, and where X begins for it.
struct Block {
  long n, g, z, y, x, zb, yb, xb, firstZ, firstY, firstX;
};

FK_INLINE long floorOf(long a, long b) { return (a < 0 ? a - b + 1 : a) / b; }

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
  at.firstZ = floorOf(at.z * STRIDE_Z - PADDING_Z, INPUT_DILATION_Z);
  at.firstY = floorOf(at.y * STRIDE_Y - PADDING_Y, INPUT_DILATION_Y);
  at.firstX = floorOf(at.x * STRIDE_X - PADDING_X, INPUT_DILATION_X);
  return at;
}

// Channels from c on of a cell, of `valid` in the block.
FK_INLINE void putChannels(float *cell, long c, long valid, vf32 v) {
  if (c + LANES <= valid)
    VECTOR(cell + c) = v;
  else if (valid == CB)
    memcpy(cell + c, &v, CB % LANES * 4);
  else
    memcpy(cell + c, &v, (valid - c) * 4);
}

// Cells `begin` to `end` of a row, all of which X has.
FK_INLINE void packCells(OPERAND_PARAMETERS, float *row, const struct Block *at, long c, long valid, long z, long y,
                         long begin, long end) {
#if X_ALONG_C || !X_ALONG_X
  for (long i = begin; i < end; ++i)
    for (long j = 0; j < valid; j += LANES)
      putChannels(row + i * CB, j, valid,
                  elementsX_C(OPERANDS, at->n, at->g, c + j, z, y, at->firstX + i * TAKE_X, valid - j));
#elif IN_CHANNELS < 4
  for (long j = 0; j < valid; ++j)
    for (long i = begin; i < end; ++i)
      row[i * CB + j] = elementX(OPERANDS, at->n, at->g, c + j, z, y, at->firstX + i * TAKE_X);
#else
  // Neighbours along x are loaded, and turned.
  const long taken = ceildiv(LANES, TAKE_X);
  for (long j = 0; j < valid; j += LANES)
    for (long i = begin; i < end; i += taken) {
      const long x = at->firstX + i * TAKE_X;
      vf32 r[LANES];
      for (long l = 0; l < LANES; ++l)
        r[l] = elementsX_X(OPERANDS, at->n, at->g, c + min(j + l, valid - 1), z, y, x, IN_X - x);
      fk_transpose(r);
      for (long l = 0; l < taken && i + l < end; ++l)
        putChannels(row + (i + l) * CB, j, valid, r[l * TAKE_X]);
    }
#endif
}

// A row of cells for channels from c on, with its zeros.
FK_INLINE void packRow(OPERAND_PARAMETERS, float *row, const struct Block *at, long c, long z, long y) {
  const long cells = cellsOf(X, at->xb), valid = min(CB, IN_CHANNELS - c);
  if (z < 0 || z >= IN_Z || y < 0 || y >= IN_Y) {
    memset(row, 0, cells * CB * 4);
    return;
  }
  const long begin = at->firstX < 0 ? min(ceildiv(-at->firstX, TAKE_X), cells) : 0;
  const long end = at->firstX < IN_X ? max(min(ceildiv(IN_X - at->firstX, TAKE_X), cells), begin) : begin;
  if (valid < CB)
    memset(row, 0, cells * CB * 4);
  memset(row, 0, begin * CB * 4);
  memset(row + end * CB, 0, (cells - end) * CB * 4);
  packCells(OPERANDS, row, at, c, valid, z, y, begin, end);
}

// What a block meets of X.
static void packInput(OPERAND_PARAMETERS, float *input, const struct Block *at) {
  for (long c = 0; c < C_BLOCKS; ++c)
    for (long z = 0; z < cellsOf(Z, at->zb); ++z)
      for (long y = 0; y < cellsOf(Y, at->yb); ++y)
        packRow(OPERANDS, input + c * X_BLOCK + z * PLANE + y * ROW, at, c * CB, at->firstZ + z * TAKE_Z,
                at->firstY + y * TAKE_Y);
}

// A panel of W, of output channels from o on, for a block of input channels from c
// on. What is beyond the output channels is of any value in a vector that has some of
// them. Other vectors are 0: what is there by chance may be subnormal, which takes tens
// of times as long.
static void packWeights(OPERAND_PARAMETERS, float *panel, long g, long o, long c) {
  const long valid = min(CB, IN_CHANNELS - c);
  if (valid < CB)
    memset(panel, 0, W_BLOCK * 4);
  for (long j = 0; j < NR; j += LANES) {
    if (o + j >= OUT_CHANNELS) {
      for (long i = 0; i < TAPS * CB; ++i)
        VECTOR(panel + i * NR + j) = (vf32)0.0f;
      continue;
    }
#if W_ALONG_O || !(W_ALONG_C || W_ALONG_K)
    for (long tap = 0; tap < TAPS; ++tap)
      for (long i = 0; i < valid; ++i)
        VECTOR(panel + (tap * CB + i) * NR + j) =
            elementsW_O(OPERANDS, g, o + j, c + i, tap / (KERNEL_Y * KERNEL_X), tap / KERNEL_X % KERNEL_Y,
                        tap % KERNEL_X, OUT_CHANNELS - o - j);
#elif W_ALONG_C
    // Neighbours along c are loaded, and turned.
    for (long tap = 0; tap < TAPS; ++tap)
      for (long i = 0; i < valid; i += LANES) {
        vf32 r[LANES];
        for (long l = 0; l < LANES; ++l)
          r[l] = elementsW_C(OPERANDS, g, min(o + j + l, OUT_CHANNELS - 1), c + i, tap / (KERNEL_Y * KERNEL_X),
                             tap / KERNEL_X % KERNEL_Y, tap % KERNEL_X, valid - i);
        fk_transpose(r);
        for (long l = 0; l < LANES && i + l < valid; ++l)
          VECTOR(panel + (tap * CB + i + l) * NR + j) = r[l];
      }
#else
    // Neighbouring terms are loaded, and turned.
    long i = 0, tap = 0;
    for (long k = c * TAPS; k < (c + valid) * TAPS; k += LANES) {
      vf32 r[LANES];
      for (long l = 0; l < LANES; ++l)
        r[l] = elementsW_K(OPERANDS, g, min(o + j + l, OUT_CHANNELS - 1), k, (c + valid) * TAPS - k);
      fk_transpose(r);
      for (long l = 0; l < LANES && i < valid; ++l) {
        VECTOR(panel + (tap * CB + i) * NR + j) = r[l];
        if (++tap == TAPS) {
          tap = 0;
          ++i;
        }
      }
    }
#endif
  }
}

// Which positions of a block are of a phase, from z, y and x on.
struct Phase {
  long z, y, x, zs, ys, xs;
};
FK_INLINE struct Phase phaseOf(const struct Block *at, long z, long y, long x) {
  return (struct Phase){z,
                        y,
                        x,
                        (at->zb - z + INPUT_DILATION_Z - 1) / INPUT_DILATION_Z,
                        (at->yb - y + INPUT_DILATION_Y - 1) / INPUT_DILATION_Y,
                        (at->xb - x + INPUT_DILATION_X - 1) / INPUT_DILATION_X};
}
// The rows of sums of a phase.
FK_INLINE long rowsOfPhase(long z, long y, long x) {
  return ((z * INPUT_DILATION_Y + y) * INPUT_DILATION_X + x) * PHASE_ROWS;
}

// The runs of a phase; how many there are.
FK_INLINE long findRuns(const struct Block *at, const struct Phase *phase, struct Run *runs) {
  long count = 0;
  for (long kz = 0; kz < KERNEL_Z; ++kz) {
    const long z = (at->z + phase->z) * STRIDE_Z + kz * DILATION_Z - PADDING_Z;
    if (z % INPUT_DILATION_Z)
      continue;
    for (long ky = 0; ky < KERNEL_Y; ++ky) {
      const long y = (at->y + phase->y) * STRIDE_Y + ky * DILATION_Y - PADDING_Y;
      if (y % INPUT_DILATION_Y)
        continue;
      for (long kx = 0; kx < (MERGED ? 1 : KERNEL_X); ++kx) {
        const long x = (at->x + phase->x) * STRIDE_X + kx * DILATION_X - PADDING_X;
        if (x % INPUT_DILATION_X)
          continue;
        runs[count].x = (z / INPUT_DILATION_Z - at->firstZ) * PLANE + (y / INPUT_DILATION_Y - at->firstY) * ROW +
                        (x / INPUT_DILATION_X - at->firstX) * CB;
        runs[count].w = ((kz * KERNEL_Y + ky) * KERNEL_X + kx) * CB * NR;
        ++count;
      }
    }
  }
  return count;
}

// All tiles of a phase, for a panel and a block of input channels.
FK_INLINE void convolvePhase(const struct Block *at, const struct Phase *phase, const float *x, const float *w,
                             float *sums, int isFirst) {
  struct Run runs[RUNS];
  const long count = findRuns(at, phase, runs), all = phase->zs * phase->ys * phase->xs;
  long z = 0, y = 0, column = 0;
  for (long i = 0; i < all; i += MR) {
    const float *row = x + z * STEP_Z + y * STEP_Y;
    if (column + MR <= phase->xs) {
      multiplyRow(row + column * STEP_X, runs, count, w, sums + i * NR, isFirst);
      column += MR;
    } else {
      // Behind the last position is the last one.
      long places[MR];
      for (long j = 0; j < MR; ++j) {
        places[j] = z * STEP_Z + y * STEP_Y + column * STEP_X;
        if (i + j + 1 >= all || ++column < phase->xs)
          continue;
        column = 0;
        if (++y == phase->ys) {
          y = 0;
          ++z;
        }
      }
      multiplyAny(x, places, runs, count, w, sums + i * NR, isFirst);
    }
    if (column == phase->xs) {
      column = 0;
      if (++y == phase->ys) {
        y = 0;
        ++z;
      }
    }
  }
}

static void convolve(const struct Block *at, const float *x, const float *w, float *sums, int isFirst) {
  for (long z = 0; z < min(INPUT_DILATION_Z, at->zb); ++z)
    for (long y = 0; y < min(INPUT_DILATION_Y, at->yb); ++y)
      for (long column = 0; column < min(INPUT_DILATION_X, at->xb); ++column) {
        const struct Phase phase = phaseOf(at, z, y, column);
        convolvePhase(at, &phase, x, w, sums + rowsOfPhase(z, y, column) * NR, isFirst);
      }
}

// The row of the sums of a position of a block.
FK_INLINE long rowOf(const struct Block *at, long i) {
  if (PHASES == 1)
    return i;
  const long x = i % at->xb, y = i / at->xb % at->yb, z = i / at->xb / at->yb;
  const struct Phase phase = phaseOf(at, z % INPUT_DILATION_Z, y % INPUT_DILATION_Y, x % INPUT_DILATION_X);
  return rowsOfPhase(phase.z, phase.y, phase.x) +
         ((z / INPUT_DILATION_Z) * phase.ys + y / INPUT_DILATION_Y) * phase.xs + x / INPUT_DILATION_X;
}

// What becomes of the sums of a panel, of output channels from o on, at `count`
// positions from p on, which are the i-th and those behind it in the block.
FK_INLINE void finishPositions(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const struct Block *at, const float *sums,
                               long o, long p, long i, long count) {
  const long channels = min(NR, OUT_CHANNELS - o);
#if OUT_ALONG_O
  for (long l = 0; l < count; ++l) {
    const float *row = sums + rowOf(at, i + l) * NR;
    const long z = (p + l) / (OUT_Y * OUT_X), y = (p + l) / OUT_X % OUT_Y, x = (p + l) % OUT_X;
    for (long j = 0; j < channels; j += LANES)
      finishO(out, OPERANDS, at->n, at->g, o + j, z, y, x, VECTOR(row + j), channels - j);
  }
#else
  for (long l = 0; l < count; l += LANES)
    for (long j = 0; j < channels; j += LANES) {
      vf32 r[LANES];
      for (long lane = 0; lane < LANES; ++lane)
        r[lane] = VECTOR(sums + rowOf(at, i + min(l + lane, count - 1)) * NR + j);
      fk_transpose(r);
      for (long v = 0; v < LANES && j + v < channels; ++v)
        finishP(out, OPERANDS, at->n, at->g, o + j + v, p + l, r[v], count - l);
    }
#endif
}
// Of all positions of a block: those that follow each other in the result together.
static void finishPanel(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const struct Block *at, const float *sums, long o) {
  const int hasRows = at->xb == OUT_X, hasPlanes = hasRows && at->yb == OUT_Y;
  const long planes = hasPlanes ? 1 : at->zb, rows = hasRows ? 1 : at->yb;
  const long length = at->xb * (hasRows ? at->yb : 1) * (hasPlanes ? at->zb : 1);
  for (long z = 0; z < planes; ++z)
    for (long y = 0; y < rows; ++y)
      finishPositions(OPERANDS, out, at, sums, o, ((at->z + z) * OUT_Y + at->y + y) * OUT_X + at->x,
                      (z * rows + y) * length, length);
}

// What one thread of a team computes.
static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, float *workspace, long thread, long team) {
  float *const input = workspace + thread * THREAD_FLOATS, *const sums = input + X_FLOATS;
  float *const weights = ONCE ? workspace + TEAM * THREAD_FLOATS : sums + SUMS_FLOATS;
  if (ONCE) {
    const long blocks = GROUPS * PANELS * C_BLOCKS;
    for (long i = blocks * thread / team; i < blocks * (thread + 1) / team; ++i)
      packWeights(OPERANDS, weights + i * W_BLOCK, i / C_BLOCKS / PANELS, i / C_BLOCKS % PANELS * NR, i % C_BLOCKS * CB);
    if (TEAM > 1) {
#pragma omp barrier
    }
  }
  const long firstUnit = SHARE == 0 ? UNITS * thread / team : 0;
  const long lastUnit = SHARE == 0 ? UNITS * (thread + 1) / team : UNITS;
  const long firstPanel = SHARE == 1 ? PANELS * thread / team : 0;
  const long lastPanel = SHARE == 1 ? PANELS * (thread + 1) / team : PANELS;
  for (long unit = firstUnit; unit < lastUnit; ++unit) {
    const struct Block at = blockOfUnit(unit);
    packInput(OPERANDS, input, &at);
    for (long panel = firstPanel; panel < lastPanel; ++panel) {
      for (long c = 0; c < C_BLOCKS; ++c) {
        const float *w = weights;
        if (ONCE)
          w += ((at.g * PANELS + panel) * C_BLOCKS + c) * W_BLOCK;
        else
          packWeights(OPERANDS, weights, at.g, panel * NR, c * CB);
        convolve(&at, input + c * X_BLOCK, w, sums, c == 0);
      }
      finishPanel(OPERANDS, out, &at, sums, panel * NR);
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
