// Products of few rows with a matrix whose rows lie along k, as a vector with a
// matrix: each sum is a dot product, and all of B is read once, as it lies.
//
// A is small: each thread has it as rows of f32. A kernel multiplies all rows of A
// with NR rows of B, in CHAINS vectors of sums each, so that an addition need not
// wait for the one before it.

#define NR 4     // tune: 1, 2, 3, 4, 6, 8
#define CHAINS 2 // tune: 1, 2, 4
#define SERIAL 0 // tune: 0, 1

#define TEAM (SERIAL ? 1 : THREADS)
// Columns whose sums are finished together.
#define BLOCK (NR * LANES * 4)
#define STEP (CHAINS * LANES)
#define LDA (ceildiv(K, LANES) * LANES)
#define WORKSPACE (TEAM * M * LDA * 4)

#define UNROLL _Pragma("clang loop unroll(full)")
#define VECTOR(p) (*(vf32u *)(p))

// The sum of all lanes.
FK_INLINE float total(vf32 v) {
  float sum = 0;
  UNROLL for (int i = 0; i < LANES; ++i)
    sum += v[i];
  return sum;
}

// sums[m][j] of rows n to n + columns of B, at most NR of them.
FK_INLINE void multiply(const int columns, OPERAND_PARAMETERS, const float *a, long b, long n, float *sums) {
  vf32 sum[M][NR][CHAINS];
  UNROLL for (int m = 0; m < M; ++m)
    UNROLL for (int j = 0; j < columns; ++j)
      UNROLL for (int c = 0; c < CHAINS; ++c)
        sum[m][j][c] = (vf32)0.0f;
  long k = 0;
  for (; k + STEP <= K; k += STEP)
    UNROLL for (int c = 0; c < CHAINS; ++c)
      UNROLL for (int j = 0; j < columns; ++j) {
        const vf32 y = elementsB_K(OPERANDS, b, n + j, k + c * LANES, LANES);
        UNROLL for (int m = 0; m < M; ++m)
          sum[m][j][c] += VECTOR(a + m * LDA + k + c * LANES) * y;
      }
  // Lanes beyond K are 0.
  for (; k < K; k += LANES)
    UNROLL for (int j = 0; j < columns; ++j) {
      const vf32 y = elementsB_K(OPERANDS, b, n + j, k, K - k);
      UNROLL for (int m = 0; m < M; ++m)
        sum[m][j][0] += VECTOR(a + m * LDA + k) * y;
    }
  UNROLL for (int m = 0; m < M; ++m)
    UNROLL for (int j = 0; j < columns; ++j) {
      UNROLL for (int c = 1; c < CHAINS; ++c)
        sum[m][j][0] += sum[m][j][c];
      sums[m * BLOCK + j] = total(sum[m][j][0]);
    }
}

static void work(OPERAND_PARAMETERS, OUT_TYPE *restrict out, float *rows, long thread, long team) {
  float sums[M * BLOCK] __attribute__((aligned(64)));
  const long blocks = ceildiv(N, BLOCK);
  long packed = -1;
  // Blocks of columns of all batches, as even as they can be shared.
  for (long i = BATCH * blocks * thread / team; i < BATCH * blocks * (thread + 1) / team; ++i) {
    const long b = i / blocks, first = i % blocks * BLOCK, columns = min(BLOCK, N - first);
    if (b != packed)
      for (long m = 0; m < M; ++m)
        for (long k = 0; k < K; k += LANES)
          VECTOR(rows + m * LDA + k) = elementsA_K(OPERANDS, b, m, k, K - k);
    packed = b;
    long n = 0;
    for (; n + NR <= columns; n += NR)
      multiply(NR, OPERANDS, rows, b, first + n, sums + n);
    for (; n < columns; ++n)
      multiply(1, OPERANDS, rows, b, first + n, sums + n);
    // Lanes that are no columns are 0: what is there by chance may be subnormal, which
    // takes tens of times as long.
    for (long m = 0; m < M; ++m)
      for (n = columns; n % LANES; ++n)
        sums[m * BLOCK + n] = 0;
    for (long m = 0; m < M; ++m)
      for (n = 0; n < columns; n += LANES)
        finishColumns(out, OPERANDS, b, m, first + n, VECTOR(sums + m * BLOCK + n), columns - n);
  }
}

void fastk_kernel(OPERAND_PARAMETERS, OUT_TYPE *restrict out, void *workspace) {
#if TEAM > 1
#pragma omp parallel num_threads(TEAM)
  work(OPERANDS, out, (float *)workspace + omp_get_thread_num() * M * LDA, omp_get_thread_num(), omp_get_num_threads());
#else
  work(OPERANDS, out, workspace, 0, 1);
#endif
}
