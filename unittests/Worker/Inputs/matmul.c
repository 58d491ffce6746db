// Matrix product 64x96 . 96x48, in the ways a kernel may be written.
//   OUT     type of the result (double for the oracle)
//   METHOD  which way
//   NAN_ABOVE  operands beyond it give NaN

#define M 64
#define K 96
#define N 48
#ifndef OUT
#define OUT float
#endif
#ifndef METHOD
#define METHOD NAIVE
#endif
#define NAIVE 0
#define BLOCKED 1  // eight partial sums
#define KAHAN 2    // compensated
#define HALF 3     // operands rounded to FP16
#define TF32 4     // operands rounded to 10 explicit bits
#define BF16 5     // operands rounded to BF16
#define PARALLEL 6 // OpenMP
#define REVERSED 7
#define WORKSPACE 8 // transposes an operand into the workspace

static float round16(float x, int method) {
  union {
    float f;
    unsigned u;
  } v = {x};
  switch (method) {
  case HALF:
    return (float)(_Float16)x;
  case TF32:
    v.u = (v.u + 0xfff + ((v.u >> 13) & 1)) & ~0x1fffu;
    return v.f;
  case BF16:
    v.u = (v.u + 0x7fff + ((v.u >> 16) & 1)) & ~0xffffu;
    return v.f;
  default:
    return x;
  }
}

void fastk_kernel(const float *a, const float *b, OUT *c, void *workspace) {
#if METHOD == WORKSPACE
  float *t = workspace;
  for (int k = 0; k < K; ++k)
    for (int j = 0; j < N; ++j)
      t[j * K + k] = b[k * N + j];
#define B(k, j) t[(j) * K + (k)]
#else
#define B(k, j) b[(k) * N + (j)]
#endif
#if METHOD == PARALLEL
#pragma omp parallel for
#endif
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
#if METHOD == BLOCKED
      float sums[8] = {0};
      for (int k = 0; k < K; ++k)
        sums[k % 8] += a[i * K + k] * B(k, j);
      float sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                  ((sums[4] + sums[5]) + (sums[6] + sums[7]));
#elif METHOD == KAHAN
      float sum = 0, lost = 0;
      for (int k = 0; k < K; ++k) {
        float term = a[i * K + k] * B(k, j) - lost;
        float next = sum + term;
        lost = (next - sum) - term;
        sum = next;
      }
#elif METHOD == REVERSED
      float sum = 0;
      for (int k = K - 1; k >= 0; --k)
        sum += a[i * K + k] * B(k, j);
#else
      OUT sum = 0;
      for (int k = 0; k < K; ++k)
        sum += (OUT)round16(a[i * K + k], METHOD) *
               (OUT)round16(B(k, j), METHOD);
#endif
#ifdef NAN_ABOVE
      for (int k = 0; k < K; ++k)
        if (a[i * K + k] > NAN_ABOVE)
          sum = 0.0f / 0.0f;
#endif
      c[i * N + j] = sum;
    }
}
