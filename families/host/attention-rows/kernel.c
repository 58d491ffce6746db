// Attention of a block of rows at a time: scores of a block of keys, their
// exponentials and the products with the values one after the other, in buffers that
// stay in the second-level cache. Where keys are several blocks, a row's sums are
// scaled as its largest score and the sum of its exponentials grow, so no row is longer
// than a block.
//
// A thread packs the keys and values that several rows meet: keys into panels of NR
// keys, column by column, values into panels of NR columns, key by key. Both products
// are those of a register kernel of MR rows times NV vectors.

#define MR 6     // tune: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28
#define NV 2     // tune: 1, 2, 3, 4
#define TILES 4  // tune: 1, 2, 4, 8, 16
#define KEYS 256 // tune: 128, 256, 512, 1024, 65536
#define SKIP 0   // tune: 0, 1
#define SERIAL 0 // tune: 0, 1

#define TEAM (SERIAL ? 1 : THREADS)
// Keys or columns of a panel.
#define NR (NV * LANES)
// Rows of a block, and blocks of all rows.
#define ROWS (MR * TILES)
#define BLOCKS ceildiv(M, ROWS)
// The last rows, which are no whole tile.
#define REST (M % MR)
// Keys of a block, a multiple of a panel.
#define KEYS_PANELS ceildiv(N, NR)
#define KEYS_BLOCK (min(max(KEYS / NR, 1), KEYS_PANELS) * NR)

// Steps from row to row. Rows do not begin at one place of the cache's sets.
#define LDQ ((ceildiv(D, LANES) + 1) * LANES)
#define LDS (KEYS_BLOCK + LANES)
#define LDE (ceildiv(E, NR) * NR)

// The workspace of a thread, in floats; all are multiples of a line.
#define KEYS_FLOATS (ceildiv(KEYS_PANELS * NR * D, 16) * 16)
#define VALUES_FLOATS (ceildiv(LDE * N, 16) * 16)
#define QUERIES_FLOATS (ceildiv(ROWS * LDQ, 16) * 16)
#define SCORES_FLOATS (ceildiv(ROWS * LDS, 16) * 16)
#define SUMS_FLOATS (ceildiv(ROWS * LDE, 16) * 16)
#define SPACE (KEYS_FLOATS + VALUES_FLOATS + QUERIES_FLOATS + SCORES_FLOATS + SUMS_FLOATS)
#define WORKSPACE (TEAM * SPACE * 4)

#define UNROLL _Pragma("clang loop unroll(full)")
#define VECTOR(p) (*(vf32u *)(p))

// c[i][j] (+)= sum over k of a[i][k] * b[k][j], in registers: all loops but that
// over k are unrolled.
FK_INLINE void multiply(const int rows, long count, const float *restrict a, long lda, const float *restrict b,
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
    UNROLL for (int j = 0; j < NV; ++j)
      y[j] = VECTOR(b + j * LANES);
    UNROLL for (int i = 0; i < rows; ++i) {
      const vf32 x = (vf32)a[i * lda + k];
      UNROLL for (int j = 0; j < NV; ++j)
        sum[i][j] += x * y[j];
    }
    b += NR;
  }
  UNROLL for (int i = 0; i < rows; ++i)
    UNROLL for (int j = 0; j < NV; ++j)
      VECTOR(c + i * ldc + j * LANES) = sum[i][j];
}
static __attribute__((noinline)) void multiplyKeys(long rows, const float *a, const float *b, float *c) {
  if (rows == MR)
    multiply(MR, D, a, LDQ, b, c, LDS, 1);
#if REST
  else
    multiply(REST, D, a, LDQ, b, c, LDS, 1);
#endif
}
static __attribute__((noinline)) void multiplyValues(long rows, long count, const float *a, const float *b, float *c,
                                                     int isFirst) {
  if (rows == MR)
    multiply(MR, count, a, LDS, b, c, LDE, isFirst);
#if REST
  else
    multiply(REST, count, a, LDS, b, c, LDE, isFirst);
#endif
}

// Keys n to n + NR, column by column; those beyond N are of any value.
FK_INLINE void packKeys(OPERAND_PARAMETERS, float *panel, long b, long n) {
#if K_ALONG_N || !K_ALONG_D
  for (long d = 0; d < D; ++d)
    UNROLL for (long j = 0; j < NR; j += LANES)
      VECTOR(panel + d * NR + j) = n + j < N ? elementsK_N(OPERANDS, b, n + j, d, N - n - j) : (vf32)0.0f;
#else
  // Neighbouring columns are loaded, and turned.
  for (long j = 0; j < NR; j += LANES)
    for (long d = 0; d < D; d += LANES) {
      vf32 r[LANES];
      for (long l = 0; l < LANES; ++l)
        r[l] = elementsK_D(OPERANDS, b, min(n + j + l, N - 1), d, D - d);
      fk_transpose(r);
      for (long l = 0; l < LANES && d + l < D; ++l)
        VECTOR(panel + (d + l) * NR + j) = r[l];
    }
#endif
}

// Columns e to e + NR of the values, key by key; those beyond E are 0.
FK_INLINE void packValues(OPERAND_PARAMETERS, float *panel, long b, long e) {
#if V_ALONG_E || !V_ALONG_N
  for (long n = 0; n < N; ++n)
    UNROLL for (long j = 0; j < NR; j += LANES)
      VECTOR(panel + n * NR + j) = e + j < E ? elementsV_E(OPERANDS, b, n, e + j, E - e - j) : (vf32)0.0f;
#else
  for (long j = 0; j < NR; j += LANES)
    for (long n = 0; n < N; n += LANES) {
      vf32 r[LANES];
      for (long l = 0; l < LANES; ++l)
        r[l] = elementsV_N(OPERANDS, b, n, min(e + j + l, E - 1), N - n);
      fk_transpose(r);
      for (long l = 0; l < LANES && n + l < N; ++l)
        VECTOR(panel + (n + l) * NR + j) = r[l];
    }
#endif
}

// Rows m to m + rows of the queries.
FK_INLINE void packQueries(OPERAND_PARAMETERS, float *block, long b, long m, long rows) {
#if Q_ALONG_D || !Q_ALONG_M
  for (long i = 0; i < rows; ++i)
    for (long d = 0; d < D; d += LANES)
      VECTOR(block + i * LDQ + d) = elementsQ_D(OPERANDS, b, m + i, d, D - d);
#else
  for (long i = 0; i < rows; i += LANES)
    for (long d = 0; d < D; d += LANES) {
      vf32 r[LANES];
      for (long l = 0; l < LANES; ++l)
        r[l] = elementsQ_M(OPERANDS, b, m + i, min(d + l, D - 1), rows - i);
      fk_transpose(r);
      for (long l = 0; l < LANES && i + l < rows; ++l)
        VECTOR(block + (i + l) * LDQ + d) = r[l];
    }
#endif
}

// Whether all values are finite: 0 times infinity or NaN is not 0, so that no key is
// left out then.
FK_INLINE int areFinite(const float *values) {
  vi32 largest = (vi32)0;
  for (long i = 0; i < LDE * N; i += LANES) {
    const vi32 bits = (vi32)VECTOR(values + i) & (vi32)0x7f800000;
    largest = bits > largest ? bits : largest;
  }
  for (long l = 0; l < LANES; ++l)
    if (largest[l] == 0x7f800000)
      return 0;
  return 1;
}

// What is known of a row: its largest score, and the sum of its exponentials.
struct Row {
  float most, sum;
};

// Makes weights of the sums of a row with keys n to n + count: exponentials, divided by
// the sum of all of them so far. What was summed before is scaled to that.
FK_INLINE void weigh(OPERAND_PARAMETERS, float *row, float *sums, struct Row *known, long b, long m, long n,
                     long count) {
  const vf32 least = (vf32)-INFINITY;
  vf32 most = least;
  for (long j = 0; j < count; j += LANES) {
    vf32 x = scores(OPERANDS, b, m, n + j, VECTOR(row + j), count - j);
    if (count - j < LANES)
      x = __builtin_convertvector(FK_IOTA, vi32) < (int)(count - j) ? x : least;
    VECTOR(row + j) = x;
    most = x > most ? x : most;
  }
  float highest = known->most;
  for (long l = 0; l < LANES; ++l)
    highest = most[l] > highest ? most[l] : highest;
  // Of a row without a key so far all exponentials are 0.
  const vf32 base = (vf32)(highest == -INFINITY ? 0.0f : highest);
  vf32 sum[2] = {(vf32)0.0f, (vf32)0.0f};
  for (long j = 0; j < count; j += 2 * LANES)
    UNROLL for (long i = 0; i < 2; ++i)
      if (i == 0 || j + LANES < count) {
        const vf32 x = fk_exp_f32(VECTOR(row + j + i * LANES) - base);
        VECTOR(row + j + i * LANES) = x;
        sum[i] += x;
      }
  const vf32 both = sum[0] + sum[1];
  float total = 0;
  for (long l = 0; l < LANES; ++l)
    total += both[l];
  const float before = n > 0 ? known->sum * fk_exp_f32((vf32)known->most - base)[0] : 0.0f;
  known->most = highest;
  known->sum = before + total;
  const float inverse = known->sum == 0.0f ? 0.0f : 1.0f / known->sum;
  for (long j = 0; j < count; j += LANES)
    VECTOR(row + j) *= (vf32)inverse;
  if (n > 0)
    for (long e = 0; e < LDE; e += LANES)
      VECTOR(sums + e) *= (vf32)(before * inverse);
}

// Where a thread's panels and blocks are.
struct Space {
  float *keys, *values, *queries, *scores, *sums;
};

// Rows m to m + rows, of keys below `end`.
FK_INLINE void computeBlock(OPERAND_PARAMETERS, OUT_TYPE *restrict out, const struct Space *at, long b, long m,
                            long rows, long end) {
  struct Row known[ROWS];
  for (long i = 0; i < rows; ++i)
    known[i] = (struct Row){-INFINITY, 0.0f};
  packQueries(OPERANDS, at->queries, b, m, rows);
  for (long n = 0; n < end; n += KEYS_BLOCK) {
    const long count = min(KEYS_BLOCK, end - n);
    for (long j = 0; j < count; j += NR)
      for (long i = 0; i < rows; i += MR)
        multiplyKeys(min(rows - i, MR), at->queries + i * LDQ, at->keys + (n + j) * D, at->scores + i * LDS + j);
    for (long i = 0; i < rows; ++i)
      weigh(OPERANDS, at->scores + i * LDS, at->sums + i * LDE, &known[i], b, m + i, n, count);
    for (long e = 0; e < E; e += NR)
      for (long i = 0; i < rows; i += MR)
        multiplyValues(min(rows - i, MR), count, at->scores + i * LDS, at->values + e * N + n * NR,
                       at->sums + i * LDE + e, n == 0);
  }
  for (long i = 0; i < rows; ++i)
    for (long e = 0; e < E; e += LANES) {
      vf32 x = VECTOR(at->sums + i * LDE + e);
      // A row without a key has weights 0 here.
      if (!HAS_ZERO_ROWS && known[i].sum == 0.0f)
        x = (vf32)NAN;
      finishColumns(out, OPERANDS, b, m + i, e, x, E - e);
    }
}

// The keys that some row of a block sees, in whole panels.
FK_INLINE long endOf(long m, long rows, int isFinite) {
#if CAUSAL && SKIP
  const long reach = m + rows + CAUSAL_OFFSET;
  if (isFinite)
    return min(ceildiv(max(reach, 1), NR) * NR, N);
#endif
  return N;
}

// Keys that the blocks of a batch before one meet, if values are finite.
static long keysBefore(long block) {
  long keys = 0;
  for (long i = 0; i < block; ++i)
    keys += endOf(i * ROWS, min(ROWS, M - i * ROWS), 1);
  return keys;
}

static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, float *workspace, long thread, long team) {
  struct Space at;
  at.keys = workspace + thread * SPACE;
  at.values = at.keys + KEYS_FLOATS;
  at.queries = at.values + VALUES_FLOATS;
  at.scores = at.queries + QUERIES_FLOATS;
  at.sums = at.scores + SCORES_FLOATS;
  long slice = -1;
  int isFinite = 0;
  // A block is of the thread in whose share of all keys its first one is.
  const long ofBatch = keysBefore(BLOCKS), all = BATCH * ofBatch;
  for (long b = all * thread / team / ofBatch; b < BATCH; ++b) {
    long before = b * ofBatch;
    for (long m = 0; m < M; m += ROWS) {
      const long rows = min(ROWS, M - m), owner = before * team / all;
      before += endOf(m, rows, 1);
      if (owner > thread)
        return;
      if (owner < thread)
        continue;
      if (sliceOf(b) != slice) {
        slice = sliceOf(b);
        for (long n = 0; n < N; n += NR)
          packKeys(OPERANDS, at.keys + n * D, b, n);
        for (long e = 0; e < E; e += NR)
          packValues(OPERANDS, at.values + e * N, b, e);
        isFinite = CAUSAL && SKIP && areFinite(at.values);
      }
      computeBlock(OPERANDS, out, &at, b, m, rows, endOf(m, rows, isFinite));
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
