// Workloads on integers. Overflow wraps. Included by workloads.h.
#ifndef INTEGERS_H
#define INTEGERS_H

enum { IntM = 32, IntK = 48, IntN = 40 };
enum { IntPoints = 40 * 100 };

static inline void intProduct(const int32_t *a, const int32_t *b, int32_t *c) {
  for (int i = 0; i < IntM; ++i)
    for (int j = 0; j < IntN; ++j) {
      uint32_t sum = 0;
      for (int k = 0; k < IntK; ++k)
        sum += (uint32_t)a[i * IntK + k] * (uint32_t)b[k * IntN + j];
      c[i * IntN + j] = (int32_t)sum;
    }
}

/// Towards zero; 0 where the divisor is. INT_MIN / -1 wraps.
static inline int32_t quotientOf(int32_t a, int32_t b) {
  return b == 0 ? 0 : b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;
}

static inline void intQuotient(const int32_t *a, const int32_t *b, int32_t *y) {
  for (int i = 0; i < IntPoints; ++i)
    y[i] = quotientOf(a[i], b[i]);
}

#endif
