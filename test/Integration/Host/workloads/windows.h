// Workloads on windows of images. Included by workloads.h.
#ifndef WINDOWS_H
#define WINDOWS_H

enum { PoolChannels = 8, PoolSize = 32, Pooled = PoolSize / 2 };
enum { InChannels = 8, OutChannels = 12, ImageSize = 18, ConvSize = 16 };

/// The larger; NaN where one is, as arith.maximumf.
static inline T largerOf(T a, T b) { return a > b || a != a ? a : b; }

static inline void maxPool(const float *x, T *y) {
  for (int c = 0; c < PoolChannels; ++c)
    for (int i = 0; i < Pooled; ++i)
      for (int j = 0; j < Pooled; ++j) {
        const float *at = x + (c * PoolSize + 2 * i) * PoolSize + 2 * j;
        y[(c * Pooled + i) * Pooled + j] = largerOf(
            largerOf(at[0], at[1]), largerOf(at[PoolSize], at[PoolSize + 1]));
      }
}

/// Windows of 3 x 3, no padding.
static inline void convolution(const float *x, const float *w, T *y) {
  for (int o = 0; o < OutChannels; ++o)
    for (int i = 0; i < ConvSize; ++i)
      for (int j = 0; j < ConvSize; ++j) {
        T sum = 0;
        for (int c = 0; c < InChannels; ++c)
          for (int u = 0; u < 3; ++u)
            for (int v = 0; v < 3; ++v)
              sum += (T)x[(c * ImageSize + i + u) * ImageSize + j + v] *
                     w[((o * InChannels + c) * 3 + u) * 3 + v];
        y[(o * ConvSize + i) * ConvSize + j] = sum;
      }
}

#endif
