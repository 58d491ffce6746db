// A product over blocks that fit the caches, around a register kernel of MR rows
// times NV vectors of columns.
//
// B is packed into panels of NR columns, k by k; A is packed row by row, as its
// elements are broadcast and need no order of their own. Whatever makes an element
// (casts, scales, transposes) happens while packing, and whatever becomes of a sum
// (bias, activation, residual) on a tile that is still in the first-level cache.
// What lies in memory as the kernel wants it may be read in place.

#define MR 6       // tune: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28
#define NV 2       // tune: 1, 2, 3, 4
#define KC 256     // tune: 128, 192, 256, 384, 512, 1024, 65536
#define MC 0       // tune: 0, 48, 96, 192, 384, 768
#define NC 2048    // tune: 256, 512, 1024, 2048, 4096
#define PACK_A 1   // tune: 0, 1
#define PACK_B 1   // tune: 0, 1
#define SHARE 1    // tune: 0, 1, 2
#define SERIAL 0   // tune: 0, 1
#define PREFETCH 0 // tune: 0, 4, 8, 16

// What the threads share: 0 the batches, 1 rows, and panels of B with them, 2
// columns.
#define TEAM (SERIAL ? 1 : THREADS)
// Columns of a panel.
#define NR (NV * LANES)
// Blocks of k, all of about the same length.
#define BLOCKS ceildiv(K, KC)
#define KB ceildiv(K, BLOCKS)
// Rows of a block: by default what half of the second-level cache holds.
#define ROWS_WANTED (MC > 0 ? MC : min(L2_BYTES / 8 / KB, 1024))
#define MB (ceildiv(min(max(ROWS_WANTED, MR), M), MR) * MR)
#define NB (ceildiv(min(NC, N), NR) * NR)
// The last rows, which are no whole tile.
#define REST (M % MR)

// Steps in A as the kernel reads it. Rows of a packed block do not begin at one
// place of the cache's sets.
#define LDA_EVEN ((ceildiv(KB, LANES) + 1) * LANES)
#define LDA (LDA_EVEN % 1024 == 0 ? LDA_EVEN + LANES : LDA_EVEN)
#define A_STEP_M (PACK_A ? LDA : A_M_STRIDE)
#define A_STEP_K (PACK_A ? 1 : A_K_STRIDE)

// Partial sums lie in the result where that holds them, else in a buffer.
#define IN_OUT (OUT_IS_F32 && OUT_PLAIN)
#define HAS_SUMS (BLOCKS > 1 && !IN_OUT)
// The register kernel stores the result itself.
#define IS_DONE (FINISH_IS_SUM && IN_OUT)
#define LDC (IN_OUT ? OUT_ROW_STRIDE : ceildiv(N, NR) * NR)

// The workspace, in floats. Of a B that is read in place one panel is packed, the
// one with the last columns.
#define B_FLOATS (PACK_B ? NB * KB : NR * KB)
#define B_COPIES (SHARE == 1 && PACK_B ? 1 : TEAM)
#define A_FLOATS (PACK_A ? MB * LDA : 0)
#define SUMS_FLOATS (HAS_SUMS ? M * LDC : 0)
#define SUMS_COPIES (SHARE == 0 ? TEAM : 1)
#define WORKSPACE ((B_COPIES * B_FLOATS + TEAM * A_FLOATS + SUMS_COPIES * SUMS_FLOATS) * 4)

#define UNROLL _Pragma("clang loop unroll(full)")
#define VECTOR(p) (*(vf32u *)(p))

// c[i][j] (+)= sum over k of a[i][k] * b[k][j], in registers: all loops but that
// over k are unrolled.
FK_INLINE void multiply(const int rows, long count, const float *restrict a, const float *restrict b, long ldb,
                        float *restrict c, long ldc, int isFirst) {
  vf32 sum[MR][NV];
  if (isFirst) {
    UNROLL for (int i = 0; i < rows; ++i)
      UNROLL for (int j = 0; j < NV; ++j)
        sum[i][j] = (vf32)0.0f;
  } else {
    UNROLL for (int i = 0; i < rows; ++i)
      UNROLL for (int j = 0; j < NV; ++j)
        sum[i][j] = VECTOR(c + i * ldc + j * LANES);
  }
  for (long k = 0; k < count; ++k) {
    vf32 y[NV];
    UNROLL for (int j = 0; j < NV; ++j) {
      y[j] = VECTOR(b + j * LANES);
      if (PREFETCH)
        __builtin_prefetch(b + PREFETCH * ldb + j * LANES);
    }
    UNROLL for (int i = 0; i < rows; ++i) {
      const vf32 x = (vf32)a[i * A_STEP_M];
      UNROLL for (int j = 0; j < NV; ++j)
        sum[i][j] += x * y[j];
    }
    a += A_STEP_K;
    b += ldb;
  }
  UNROLL for (int i = 0; i < rows; ++i)
    UNROLL for (int j = 0; j < NV; ++j)
      VECTOR(c + i * ldc + j * LANES) = sum[i][j];
}
static __attribute__((noinline)) void multiplyAll(long count, const float *a, const float *b, long ldb, float *c,
                                                  long ldc, int isFirst) {
  multiply(MR, count, a, b, ldb, c, ldc, isFirst);
}
#if REST
static __attribute__((noinline)) void multiplyRest(long count, const float *a, const float *b, long ldb, float *c,
                                                   long ldc, int isFirst) {
  multiply(REST, count, a, b, ldb, c, ldc, isFirst);
}
#endif

// Columns n to n + NR of B, for k to k + kb; those beyond N are of any value.
FK_INLINE void packPanel(OPERAND_PARAMETERS, float *panel, long b, long n, long k, long kb) {
#if B_ALONG_N || !B_ALONG_K
  for (long i = 0; i < kb; ++i)
    UNROLL for (long j = 0; j < NR; j += LANES)
      VECTOR(panel + i * NR + j) = n + j < N ? elementsB_N(OPERANDS, b, n + j, k + i, N - n - j) : (vf32)0.0f;
#else
  // Neighbours along k are loaded, and turned.
  for (long j = 0; j < NR; j += LANES)
    for (long i = 0; i < kb; i += LANES) {
      vf32 r[LANES];
      for (long l = 0; l < LANES; ++l)
        r[l] = elementsB_K(OPERANDS, b, min(n + j + l, N - 1), k + i, kb - i);
      fk_transpose(r);
      for (long l = 0; l < LANES && i + l < kb; ++l)
        VECTOR(panel + (i + l) * NR + j) = r[l];
    }
#endif
}

// Rows m to m + mb of A, for k to k + kb.
FK_INLINE void packRows(OPERAND_PARAMETERS, float *block, long b, long m, long mb, long k, long kb) {
#if A_ALONG_K || !A_ALONG_M
  for (long i = 0; i < mb; ++i)
    for (long j = 0; j < kb; j += LANES)
      VECTOR(block + i * LDA + j) = elementsA_K(OPERANDS, b, m + i, k + j, kb - j);
#else
  // Neighbours along m are loaded, and turned.
  for (long i = 0; i < mb; i += LANES)
    for (long j = 0; j < kb; j += LANES) {
      vf32 r[LANES];
      for (long l = 0; l < LANES; ++l)
        r[l] = elementsA_M(OPERANDS, b, m + i, k + min(j + l, kb - 1), mb - i);
      fk_transpose(r);
      for (long l = 0; l < LANES && i + l < mb; ++l)
        VECTOR(block + (i + l) * LDA + j) = r[l];
    }
#endif
}

// Where panels and blocks are, and what is being multiplied.
struct Block {
  float *panels, *rows, *sums;
  long b, n, nb, k, kb, m, mb;
};

// The tile of rows m and columns n on.
FK_INLINE void multiplyTile(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const struct Block *at, long m, long n) {
  const long rows = min(MR, at->m + at->mb - m), columns = min(NR, at->n + at->nb - n);
  const int isFirst = at->k == 0, isLast = at->k + at->kb == K;
  const float *b = at->panels + (PACK_B ? (n - at->n) * at->kb : 0);
  long ldb = NR;
#if !PACK_B
  if (columns == NR) {
    b = B_BUFFER + B_OFFSET / 4 + at->b * B_BATCH_STRIDE + at->k * B_K_STRIDE + n;
    ldb = B_K_STRIDE;
  }
#endif
#if PACK_A
  const float *a = at->rows + (m - at->m) * LDA;
#else
  const float *a = A_BUFFER + A_OFFSET / 4 + at->b * A_BATCH_STRIDE + m * A_M_STRIDE + at->k * A_K_STRIDE;
#endif
  float tile[MR * NR] __attribute__((aligned(64)));
  float *sums = tile;
  long ldc = NR;
#if IN_OUT
  float *const place = out + outOffset(at->b, m, n);
  const int isEdge = columns < NR;
  if ((IS_DONE || BLOCKS > 1) && !isEdge) {
    sums = place;
    ldc = LDC;
  }
  // The row of the result ends before the vectors do. Lanes behind it are 0: what is
  // there by chance may be subnormal, which takes tens of times as long.
  if (BLOCKS > 1 && isEdge && !isFirst)
    for (long i = 0; i < rows; ++i) {
      for (long j = columns / LANES * LANES; j < NR; j += LANES)
        VECTOR(tile + i * NR + j) = (vf32)0.0f;
      memcpy(tile + i * NR, place + i * LDC, columns * 4);
    }
#elif HAS_SUMS
  sums = at->sums + m * LDC + n;
  ldc = LDC;
#endif

  if (rows == MR)
    multiplyAll(at->kb, a, b, ldb, sums, ldc, isFirst);
#if REST
  else
    multiplyRest(at->kb, a, b, ldb, sums, ldc, isFirst);
#endif

#if IN_OUT
  if (isEdge && (IS_DONE || !isLast))
    for (long i = 0; i < rows; ++i)
      memcpy(place + i * LDC, tile + i * NR, columns * 4);
#endif
  if (!IS_DONE && isLast)
    for (long i = 0; i < rows; ++i)
      for (long j = 0; j < columns; j += LANES)
        finishColumns(out, OPERANDS, at->b, m + i, n + j, VECTOR(sums + i * ldc + j), columns - j);
}

// All tiles of the rows of a block, panel by panel: a panel stays in the
// first-level cache.
FK_INLINE void multiplyBlock(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const struct Block *at) {
  if (PACK_A)
    packRows(OPERANDS, at->rows, at->b, at->m, at->mb, at->k, at->kb);
  for (long n = at->n; n < at->n + at->nb; n += NR)
    for (long m = at->m; m < at->m + at->mb; m += MR)
      multiplyTile(OPERANDS, out, at, m, n);
}

// Panels of a block of B: each thread packs some where they are shared.
FK_INLINE void packPanels(OPERAND_PARAMETERS, const struct Block *at, long thread, long team) {
#if PACK_B
  const long first = SHARE == 1 ? thread : 0, step = SHARE == 1 ? team : 1;
  for (long j = first * NR; j < at->nb; j += step * NR)
    packPanel(OPERANDS, at->panels + j * at->kb, at->b, at->n + j, at->k, at->kb);
#else
  const long last = at->nb / NR * NR;
  if (last < at->nb)
    packPanel(OPERANDS, at->panels, at->b, at->n + last, at->k, at->kb);
#endif
}

// The end of a thread's share of `units` of `unit` each, of `all`.
FK_INLINE long shareOf(long units, long unit, long all, long thread, long team) {
  return min(units * thread / team * unit, all);
}

// What one thread of a team computes.
static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, float *workspace, long thread, long team) {
  float *const blocks = workspace + B_COPIES * B_FLOATS, *const sums = blocks + TEAM * A_FLOATS;
  struct Block at;
  at.panels = workspace + (B_COPIES == 1 ? 0 : thread * B_FLOATS);
  at.rows = blocks + thread * A_FLOATS;
  at.sums = sums + (SHARE == 0 ? thread * SUMS_FLOATS : 0);
  const long rowTiles = ceildiv(M, MR), panels = ceildiv(N, NR);
  const long mBegin = SHARE == 1 ? shareOf(rowTiles, MR, M, thread, team) : 0;
  const long mEnd = SHARE == 1 ? shareOf(rowTiles, MR, M, thread + 1, team) : M;
  const long nBegin = SHARE == 2 ? shareOf(panels, NR, N, thread, team) : 0;
  const long nEnd = SHARE == 2 ? shareOf(panels, NR, N, thread + 1, team) : N;
  const int isShared = SHARE == 1 && PACK_B && TEAM > 1;
  for (at.b = SHARE == 0 ? thread : 0; at.b < BATCH; at.b += SHARE == 0 ? team : 1)
    for (at.n = nBegin; at.n < nEnd; at.n += NB)
      for (at.k = 0; at.k < K; at.k += KB) {
        at.nb = min(NB, nEnd - at.n);
        at.kb = min(KB, K - at.k);
        packPanels(OPERANDS, &at, thread, team);
        if (isShared) {
#pragma omp barrier
        }
        for (at.m = mBegin; at.m < mEnd; at.m += MB) {
          at.mb = min(MB, mEnd - at.m);
          multiplyBlock(OPERANDS, out, &at);
        }
        if (isShared) {
#pragma omp barrier
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
