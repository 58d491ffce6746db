// A depthwise convolution of channels that lie together: vectors are neighbouring
// groups, and a tile of MR neighbouring columns times NV vectors stays in registers
// over the window. X is read as it lies; only tiles at the ends of rows ask for each
// element whether it is there.

#define MR 6     // tune: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14
#define NV 2     // tune: 1, 2, 3, 4
#define SERIAL 0 // tune: 0, 1

#define TEAM (SERIAL ? 1 : THREADS)
#define NR (NV * LANES)
#define PANELS ceildiv(GROUPS, NR)
#define TAPS (KERNEL_Z * KERNEL_Y * KERNEL_X)
#define TERMS (IN_CHANNELS * TAPS)
#define ROWS (BATCH * OUT_Z * OUT_Y)

// W is read as it lies if groups lie together there. Else it is packed once, into a
// panel of NR groups for each output channel.
#define PACK (W_ALONG_G ? 0 : 1)
#define WORKSPACE (PACK ? PANELS * OUT_CHANNELS * TERMS * NR * 4 : 64)

#define UNROLL _Pragma("clang loop unroll(full)")
#define VECTOR(p) (*(vf32u *)(p))

// The panel of groups from g on.
FK_INLINE void packPanel(OPERAND_PARAMETERS, float *panel, long g) {
  for (long o = 0; o < OUT_CHANNELS; ++o)
    for (long j = 0; j < NR; j += LANES) {
      float *const to = panel + o * TERMS * NR + j;
      // Neighbouring terms are loaded, and turned.
      for (long k = 0; k < TERMS; k += LANES) {
        vf32 r[LANES];
        for (long l = 0; l < LANES; ++l)
          r[l] = elementsW_K(OPERANDS, min(g + j + l, GROUPS - 1), o, k, TERMS - k);
        fk_transpose(r);
        for (long l = 0; l < LANES && k + l < TERMS; ++l)
          VECTOR(to + (k + l) * NR) = r[l];
      }
    }
}

// A tile: its first coordinates.
struct Tile {
  long n, g, o, z, y, x;
};

// Adds the columns of a window at a row of X: those of a tile that X has all, or
// that are asked for one by one.
FK_INLINE void addColumns(const int isInside, const int isFull, OPERAND_PARAMETERS, const float *panel,
                          const struct Tile *at, long c, long kz, long ky, long z, long y, vf32 sum[MR][NV]) {
  for (long kx = 0; kx < KERNEL_X; ++kx) {
    vf32 w[NV];
    UNROLL for (int j = 0; j < NV; ++j)
      w[j] = PACK ? VECTOR(panel + (((at->o * IN_CHANNELS + c) * KERNEL_Z + kz) * KERNEL_Y * KERNEL_X + ky * KERNEL_X + kx) * NR + j * LANES)
                  : elementsW_G(OPERANDS, at->g + j * LANES, at->o, c, kz, ky, kx, isFull ? LANES : GROUPS - at->g - j * LANES);
    UNROLL for (int i = 0; i < MR; ++i) {
      const long x = (at->x + i) * STRIDE_X + kx * DILATION_X - PADDING_X;
      if (!isInside && (x < 0 || x % INPUT_DILATION_X || x / INPUT_DILATION_X >= IN_X))
        continue;
      UNROLL for (int j = 0; j < NV; ++j)
        sum[i][j] += w[j] * elementsX_G(OPERANDS, at->n, at->g + j * LANES, c, z, y, x / INPUT_DILATION_X,
                                        isFull ? LANES : GROUPS - at->g - j * LANES);
    }
  }
}

FK_INLINE void convolveTile(const int isInside, const int isFull, OPERAND_PARAMETERS, OUT_TYPE *restrict out,
                            const float *panel, const struct Tile *at) {
  vf32 sum[MR][NV];
  UNROLL for (int i = 0; i < MR; ++i)
    UNROLL for (int j = 0; j < NV; ++j)
      sum[i][j] = (vf32)0.0f;
  for (long c = 0; c < IN_CHANNELS; ++c)
    for (long kz = 0; kz < KERNEL_Z; ++kz) {
      const long z = at->z * STRIDE_Z + kz * DILATION_Z - PADDING_Z;
      if (z < 0 || z % INPUT_DILATION_Z || z / INPUT_DILATION_Z >= IN_Z)
        continue;
      for (long ky = 0; ky < KERNEL_Y; ++ky) {
        const long y = at->y * STRIDE_Y + ky * DILATION_Y - PADDING_Y;
        if (y < 0 || y % INPUT_DILATION_Y || y / INPUT_DILATION_Y >= IN_Y)
          continue;
        addColumns(isInside, isFull, OPERANDS, panel, at, c, kz, ky, z / INPUT_DILATION_Z, y / INPUT_DILATION_Y, sum);
      }
    }
  UNROLL for (int i = 0; i < MR; ++i)
    if (at->x + i < OUT_X)
      UNROLL for (int j = 0; j < NV; ++j)
        if (isFull || at->g + j * LANES < GROUPS)
          finishG(out, OPERANDS, at->n, at->g + j * LANES, at->o, at->z, at->y, at->x + i, sum[i][j],
                  isFull ? LANES : GROUPS - at->g - j * LANES);
}
static __attribute__((noinline)) void convolveInside(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const float *panel,
                                                     const struct Tile *at) {
  convolveTile(1, 1, OPERANDS, out, panel, at);
}
static __attribute__((noinline)) void convolveEdge(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const float *panel,
                                                   const struct Tile *at) {
  convolveTile(0, 1, OPERANDS, out, panel, at);
}
// The last groups, which fill no panel.
static __attribute__((noinline)) void convolveRest(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const float *panel,
                                                   const struct Tile *at) {
  convolveTile(0, 0, OPERANDS, out, panel, at);
}

// A row of the result, for a panel of groups and an output channel.
FK_INLINE void convolveRow(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const float *panel, struct Tile *at) {
  for (at->x = 0; at->x < OUT_X; at->x += MR) {
    const long first = at->x * STRIDE_X - PADDING_X;
    const long last = first + (MR - 1) * STRIDE_X + (KERNEL_X - 1) * DILATION_X;
    if (at->g + NR > GROUPS)
      convolveRest(OPERANDS, out, panel, at);
    else if (INPUT_DILATION_X == 1 && first >= 0 && last < IN_X && at->x + MR <= OUT_X)
      convolveInside(OPERANDS, out, panel, at);
    else
      convolveEdge(OPERANDS, out, panel, at);
  }
}

// What one thread of a team computes.
static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, float *panels, long thread, long team) {
  const long panelFloats = OUT_CHANNELS * TERMS * NR;
  if (PACK) {
    for (long i = PANELS * thread / team; i < PANELS * (thread + 1) / team; ++i)
      packPanel(OPERANDS, panels + i * panelFloats, i * NR);
    if (TEAM > 1) {
#pragma omp barrier
    }
  }
  for (long row = ROWS * thread / team; row < ROWS * (thread + 1) / team; ++row)
    for (long panel = 0; panel < PANELS; ++panel)
      for (long o = 0; o < OUT_CHANNELS; ++o) {
        struct Tile at = {row / OUT_Y / OUT_Z, panel * NR, o, row / OUT_Y % OUT_Z, row % OUT_Y, 0};
        convolveRow(OPERANDS, out, panels + panel * panelFloats, &at);
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
