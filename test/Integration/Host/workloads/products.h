// Products with long sums. Included by workloads.h.
#ifndef PRODUCTS_H
#define PRODUCTS_H

enum { LongM = 24, LongK = 8192, LongN = 8 };
enum { LongestM = 4, LongestK = 65536, LongestN = 2 };

static inline void product(const float *a, const float *b, T *c, int m, int k,
                           int n) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      T sum = 0;
      for (int l = 0; l < k; ++l)
        sum += (T)a[i * k + l] * b[l * n + j];
      c[i * n + j] = sum;
    }
}

static inline void longProduct(const float *a, const float *b, T *c) {
  product(a, b, c, LongM, LongK, LongN);
}

static inline void longestProduct(const float *a, const float *b, T *c) {
  product(a, b, c, LongestM, LongestK, LongestN);
}

#endif
