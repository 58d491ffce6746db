// Row operations over 96 rows of 80: softmax and layer normalisation.
//   OP    SOFTMAX or NORM
//   T     float, or double for the oracle
//   VARIANT  0 the usual way; others are named below

#include <math.h>
#define ROWS 96
#define COLS 80
#ifndef T
#define T float
#endif
#ifndef VARIANT
#define VARIANT 0
#endif
#define SOFTMAX 1
#define NORM 2
#define ONLINE 1  // softmax in one pass over the input, as flash attention does
#define NOMAX 2   // softmax without subtracting the maximum: overflows
#define MOMENTS 3 // E[x^2] - m^2: cancels
#define WELFORD 4
#define ZEROS 5
#define COPY 6
#define MEAN 7

#if OP == SOFTMAX
void fastk_kernel(const float *x, T *y, void *workspace) {
  for (int r = 0; r < ROWS; ++r, x += COLS, y += COLS) {
#if VARIANT == ZEROS
    for (int i = 0; i < COLS; ++i)
      y[i] = 0;
    continue;
#elif VARIANT == MEAN
    for (int i = 0; i < COLS; ++i)
      y[i] = (T)1 / COLS;
    continue;
#endif
    T largest = -INFINITY, sum = 0;
#if VARIANT == ONLINE
    for (int i = 0; i < COLS; ++i) {
      T next = x[i] > largest ? x[i] : largest;
      if (x[i] == -INFINITY)
        continue;
      sum = sum * expf(largest - next) + expf(x[i] - next);
      largest = next;
    }
    for (int i = 0; i < COLS; ++i)
      y[i] = expf(x[i] - largest) / sum;
#else
#if VARIANT == NOMAX
    largest = 0;
#else
    for (int i = 0; i < COLS; ++i)
      largest = x[i] > largest ? x[i] : largest;
#endif
    for (int i = 0; i < COLS; ++i)
      sum += y[i] = sizeof(T) == 8 ? exp((T)x[i] - largest)
                                   : (T)expf((float)(x[i] - largest));
    for (int i = 0; i < COLS; ++i)
      y[i] /= sum;
#endif
  }
}
#else
void fastk_kernel(const float *x, const float *g, const float *b, T *y,
                  void *workspace) {
  for (int r = 0; r < ROWS; ++r, x += COLS, y += COLS) {
#if VARIANT == COPY
    for (int i = 0; i < COLS; ++i)
      y[i] = x[i];
    continue;
#endif
    T mean = 0, variance = 0;
#if VARIANT == MOMENTS
    for (int i = 0; i < COLS; ++i) {
      mean += x[i];
      variance += x[i] * x[i];
    }
    mean /= COLS;
    variance = variance / COLS - mean * mean;
#elif VARIANT == WELFORD
    for (int i = 0; i < COLS; ++i) {
      T delta = x[i] - mean;
      mean += delta / (i + 1);
      variance += delta * (x[i] - mean);
    }
    variance /= COLS;
#else
    for (int i = 0; i < COLS; ++i)
      mean += x[i];
    mean /= COLS;
    for (int i = 0; i < COLS; ++i)
      variance += (x[i] - mean) * (x[i] - mean);
    variance /= COLS;
#endif
    T scale = 1 / (T)sqrt((double)(variance + (T)1e-5));
    for (int i = 0; i < COLS; ++i)
      y[i] = (x[i] - mean) * scale * g[i] + b[i];
  }
}
#endif
