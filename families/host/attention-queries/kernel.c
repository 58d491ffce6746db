// Attention of a few queries to many keys: nothing is packed, since a key or a value is
// met by few rows. A thread has ROWS rows of a batch at a time, which share what is
// loaded. Scores of all keys are computed first, then their exponentials, then the sum
// of the values that these weigh.

#define ROWS 1   // tune: 1, 2, 3, 4, 6
#define NV 4     // tune: 1, 2, 4, 8
#define SKIP 0   // tune: 0, 1
#define SERIAL 0 // tune: 0, 1

#define TEAM (SERIAL ? 1 : THREADS)
#define BLOCKS ceildiv(M, ROWS)
// The last rows, fewer than others.
#define REST (M % ROWS)
// Steps from row to row of queries and of scores.
#define LDQ (ceildiv(D, LANES) * LANES)
#define LDS (ceildiv(N, LANES) * LANES)
// Columns whose sums are in registers at once.
#define COLUMNS (NV * LANES)

#define SPACE (ceildiv(ROWS * (LDQ + LDS), 16) * 16)
#define WORKSPACE (TEAM * SPACE * 4)

#define UNROLL _Pragma("clang loop unroll(full)")
#define VECTOR(p) (*(vf32u *)(p))

// Lanes below a count, the others 0: what is beyond the end of a row may be anything.
FK_INLINE vf32 lanesBelow(vf32 x, long count) {
  return count >= LANES ? x : __builtin_convertvector(FK_IOTA, vi32) < (int)count ? x : (vf32)0.0f;
}
FK_INLINE float sumOf(vf32 x) {
  float sum = 0;
  for (long l = 0; l < LANES; ++l)
    sum += x[l];
  return sum;
}
// The sums of LANES vectors, a lane each.
FK_INLINE vf32 sumsOf(vf32 *r) {
  fk_transpose(r);
  UNROLL for (long step = LANES / 2; step > 0; step /= 2)
    UNROLL for (long l = 0; l < step; ++l)
      r[l] += r[l + step];
  return r[0];
}

// Products of queries with keys n to n + LANES, a vector for each row.
FK_INLINE void multiplyKeys(const int rows, OPERAND_PARAMETERS, const float *queries, long b, long n, vf32 *products) {
  vf32 sum[ROWS];
#if K_ALONG_N || !K_ALONG_D
  UNROLL for (int i = 0; i < rows; ++i)
    sum[i] = (vf32)0.0f;
  for (long d = 0; d < D; ++d) {
    const vf32 key = elementsK_N(OPERANDS, b, n, d, N - n);
    UNROLL for (int i = 0; i < rows; ++i)
      sum[i] += (vf32)queries[i * LDQ + d] * key;
  }
  UNROLL for (int i = 0; i < rows; ++i)
    products[i] = sum[i];
#else
  vf32 part[ROWS][LANES];
  for (long l = 0; l < LANES; ++l) {
    UNROLL for (int i = 0; i < rows; ++i)
      sum[i] = (vf32)0.0f;
    for (long d = 0; d < D; d += LANES) {
      const vf32 key = lanesBelow(elementsK_D(OPERANDS, b, min(n + l, N - 1), d, D - d), D - d);
      UNROLL for (int i = 0; i < rows; ++i)
        sum[i] += VECTOR(queries + i * LDQ + d) * key;
    }
    UNROLL for (int i = 0; i < rows; ++i)
      part[i][l] = sum[i];
  }
  UNROLL for (int i = 0; i < rows; ++i)
    products[i] = sumsOf(part[i]);
#endif
}

// Scores of keys below `end`.
FK_INLINE void scoreRows(const int rows, OPERAND_PARAMETERS, const float *queries, float *row, float *highest,
                          long b, long m, long end) {
  const vf32 least = (vf32)-INFINITY;
  vf32 most[ROWS];
  UNROLL for (int i = 0; i < rows; ++i)
    most[i] = least;
  for (long n = 0; n < end; n += LANES) {
    vf32 products[ROWS];
    multiplyKeys(rows, OPERANDS, queries, b, n, products);
    UNROLL for (int i = 0; i < rows; ++i) {
      vf32 x = scores(OPERANDS, b, m + i, n, products[i], end - n);
      if (end - n < LANES)
        x = __builtin_convertvector(FK_IOTA, vi32) < (int)(end - n) ? x : least;
      VECTOR(row + i * LDS + n) = x;
      most[i] = x > most[i] ? x : most[i];
    }
  }
  UNROLL for (int i = 0; i < rows; ++i) {
    highest[i] = -INFINITY;
    for (long l = 0; l < LANES; ++l)
      highest[i] = most[i][l] > highest[i] ? most[i][l] : highest[i];
  }
}

// Weights of a row's scores: exponentials, divided by their sum.
FK_INLINE void weigh(float *row, float highest, long end) {
  // Of a row without a key all exponentials are 0.
  const vf32 base = (vf32)(highest == -INFINITY ? 0.0f : highest);
  vf32 sum[2] = {(vf32)0.0f, (vf32)0.0f};
  for (long n = 0; n < end; n += 2 * LANES)
    UNROLL for (long i = 0; i < 2; ++i)
      if (i == 0 || n + LANES < end) {
        const vf32 x = fk_exp_f32(VECTOR(row + n + i * LANES) - base);
        VECTOR(row + n + i * LANES) = x;
        sum[i] += x;
      }
  const float all = sumOf(sum[0] + sum[1]);
  // Without a key they stay 0, or are NaN.
  const vf32 inverse = (vf32)(all == 0.0f ? (HAS_ZERO_ROWS ? 0.0f : NAN) : 1.0f / all);
  for (long n = 0; n < end; n += LANES)
    VECTOR(row + n) *= inverse;
}

// The values that a row's exponentials weigh.
FK_INLINE void sumValues(const int rows, OPERAND_PARAMETERS, OUT_TYPE *restrict out, const float *row, long b,
                         long m, long end) {
#if V_ALONG_E || !V_ALONG_N
  for (long e = 0; e < E; e += COLUMNS) {
    vf32 sum[ROWS][NV];
    UNROLL for (int i = 0; i < rows; ++i)
      UNROLL for (int j = 0; j < NV; ++j)
        sum[i][j] = (vf32)0.0f;
    for (long n = 0; n < end; ++n)
      UNROLL for (int j = 0; j < NV; ++j)
        if (e + j * LANES < E) {
          const vf32 value = elementsV_E(OPERANDS, b, n, e + j * LANES, E - e - j * LANES);
          UNROLL for (int i = 0; i < rows; ++i)
            sum[i][j] += (vf32)row[i * LDS + n] * value;
        }
    UNROLL for (int i = 0; i < rows; ++i)
      UNROLL for (int j = 0; j < NV; ++j)
        if (e + j * LANES < E)
          finishColumns(out, OPERANDS, b, m + i, e + j * LANES, sum[i][j], E - e - j * LANES);
  }
#else
  for (long e = 0; e < E; e += LANES) {
    vf32 part[ROWS][LANES];
    for (long l = 0; l < LANES; ++l) {
      UNROLL for (int i = 0; i < rows; ++i)
        part[i][l] = (vf32)0.0f;
      for (long n = 0; n < end; n += LANES) {
        const vf32 value = lanesBelow(elementsV_N(OPERANDS, b, n, min(e + l, E - 1), end - n), end - n);
        UNROLL for (int i = 0; i < rows; ++i)
          part[i][l] += VECTOR(row + i * LDS + n) * value;
      }
    }
    UNROLL for (int i = 0; i < rows; ++i)
      finishColumns(out, OPERANDS, b, m + i, e, sumsOf(part[i]), E - e);
  }
#endif
}

// Whether all values of a batch are finite: 0 times infinity or NaN is not 0, so that
// no key is left out then. Asked of those that would be left out.
FK_INLINE int areFinite(OPERAND_PARAMETERS, long b, long first) {
  vi32 largest = (vi32)0;
  for (long n = first; n < N; ++n)
    for (long e = 0; e < E; e += LANES) {
      const vi32 bits = (vi32)lanesBelow(elementsV_E(OPERANDS, b, n, e, E - e), E - e) & (vi32)0x7f800000;
      largest = bits > largest ? bits : largest;
    }
  for (long l = 0; l < LANES; ++l)
    if (largest[l] == 0x7f800000)
      return 0;
  return 1;
}

// Rows m to m + rows of a batch.
FK_INLINE void computeRows(const int rows, OPERAND_PARAMETERS, OUT_TYPE *restrict out, float *space, long b, long m) {
  float highest[ROWS];
  float *const row = space + ROWS * LDQ;
  long end = N;
#if CAUSAL && SKIP
  const long reach = min(max(m + rows + CAUSAL_OFFSET, 1), N);
  if (areFinite(OPERANDS, b, reach))
    end = reach;
#endif
  for (long i = 0; i < rows; ++i)
    for (long d = 0; d < D; d += LANES)
      VECTOR(space + i * LDQ + d) = lanesBelow(elementsQ_D(OPERANDS, b, m + i, d, D - d), D - d);
  scoreRows(rows, OPERANDS, space, row, highest, b, m, end);
  for (long i = 0; i < rows; ++i)
    weigh(row + i * LDS, highest[i], end);
  sumValues(rows, OPERANDS, out, row, b, m, end);
}

static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, float *workspace, long thread, long team) {
  float *const space = workspace + thread * SPACE;
  for (long task = BATCH * BLOCKS * thread / team; task < BATCH * BLOCKS * (thread + 1) / team; ++task) {
    const long b = task / BLOCKS, m = task % BLOCKS * ROWS;
    if (m + ROWS <= M)
      computeRows(ROWS, OPERANDS, out, space, b, m);
#if REST
    else
      computeRows(REST, OPERANDS, out, space, b, m);
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
