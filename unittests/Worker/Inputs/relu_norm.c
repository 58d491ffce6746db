// A product, normalised by row and clipped at zero: now and then a row has next
// to nothing above zero, and what it has is the difference of large numbers.
#ifndef T
#define T float
#endif
#include <math.h>
#define ROWS 8
#define COLS 40
#define K 64
void fastk_kernel(const float *w, const float *x, const float *var,
                  const float *bias, T *y, void *workspace) {
  for (int r = 0; r < ROWS; ++r)
    for (int c = 0; c < COLS; ++c) {
      T sum = 0;
#ifdef REVERSED
      for (int k = K - 1; k >= 0; --k)
#else
      for (int k = 0; k < K; ++k)
#endif
        sum += (T)w[r * K + k] * x[k * COLS + c];
      T z = sum / sqrt((T)var[r]) + 16 * (T)bias[r];
#ifdef SKIPPED
      // Wrong where it hurts least: what is small is left out.
      if (z < (T)0.05)
        z = 0;
#endif
      y[r * COLS + c] = z > 0 ? z : 0;
    }
}
