// A product of 24x8192 and 8192x16: sums so long that they hide what rounding
// operands costs, unless few of their terms are there.
//   T       type of the result: double for the oracle
//   METHOD  0 in eight lanes; others are named below

#include <math.h>
#define M 24
#define K 8192
#define N 16
#ifndef T
#define T float
#endif
#ifndef METHOD
#define METHOD PLAIN
#endif
#define PLAIN 0
#define SEQUENTIAL 1 // one after another
#define KAHAN 2      // compensated: NaN where a term is infinite
#define BF16X3 3     // wrong: three products of BF16 terms
#define HALFX3 4     // three products of FP16 terms
#define CONDITION 5  // of each result, as the compiler derives it
#define NAN_IS_0 6   // wrong: what NaN makes of others, too

static float bfloat(float x) {
  union {
    float f;
    unsigned u;
  } v = {x};
  v.u = (v.u + 0x7fff + ((v.u >> 16) & 1)) & ~0xffffu;
  return v.f;
}

static float product(float x, float y) {
#if METHOD == BF16X3
  float x1 = bfloat(x), y1 = bfloat(y);
  float x2 = bfloat(x - x1), y2 = bfloat(y - y1);
  return x1 * y1 + (x1 * y2 + x2 * y1);
#elif METHOD == HALFX3
  // Operands in the middle of FP16's range, as a kernel would scale them.
  int e, f;
  frexpf(x, &e), frexpf(y, &f);
  if (isfinite(x))
    x = ldexpf(x, -e);
  if (isfinite(y))
    y = ldexpf(y, -f);
  float x1 = (_Float16)x, y1 = (_Float16)y;
  float x2 = (_Float16)((x - x1) * 2048), y2 = (_Float16)((y - y1) * 2048);
  float sum = x1 * y1 + (x1 * y2 + x2 * y1) / 2048;
  return isfinite(x) && isfinite(y) ? ldexpf(sum, e + f) : sum;
#else
  return x * y;
#endif
}

void fastk_kernel(const float *a, const float *b, T *c, void *workspace) {
#if METHOD == NAN_IS_0
  int bad = 0;
  for (int i = 0; i < M * K; ++i)
    bad |= !(a[i] - a[i] == 0);
  for (int i = 0; i < K * N; ++i)
    bad |= !(b[i] - b[i] == 0);
#endif
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
#if METHOD == CONDITION
      double total = 0, terms = 0;
      for (int k = 0; k < K; ++k) {
        double term = fabs((double)a[i * K + k] * b[k * N + j]);
        total += term;
        terms += term != 0;
      }
      c[i * N + j] = total * fmax(1, sqrt(terms) / 4);
#elif METHOD == KAHAN
      float sum = 0, lost = 0;
      for (int k = 0; k < K; ++k) {
        float term = a[i * K + k] * b[k * N + j] - lost;
        float next = sum + term;
        lost = (next - sum) - term;
        sum = next;
      }
      c[i * N + j] = sum;
#elif METHOD == SEQUENTIAL
      float sum = 0;
      for (int k = 0; k < K; ++k)
        sum += a[i * K + k] * b[k * N + j];
      c[i * N + j] = sum;
#else
      T sums[8] = {0};
      for (int k = 0; k < K; ++k)
        sums[k % 8] += sizeof(T) == 8 ? (T)a[i * K + k] * b[k * N + j]
                                      : (T)product(a[i * K + k], b[k * N + j]);
      c[i * N + j] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                     ((sums[4] + sums[5]) + (sums[6] + sums[7]));
#endif
#if METHOD == NAN_IS_0
      if (bad)
        c[i * N + j] = 0;
#endif
    }
}
