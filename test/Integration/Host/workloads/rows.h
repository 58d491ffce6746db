// Workloads that go row by row. Included by workloads.h.
#ifndef ROWS_H
#define ROWS_H

enum { HalfRows = 4, HalfRow = 32768 };              // halfSoftmax
enum { Labels = 16, Classes = 100, Ignored = -100 }; // crossEntropy
enum { RmsRows = 48, RmsRow = 256 };                 // rmsNorm
enum { BnBatch = 8, BnChannels = 16, BnPixels = 36 };

static inline void halfSoftmax(const _Float16 *x, HalfResult *y) {
  for (int i = 0; i < HalfRows; ++i) {
    const _Float16 *row = x + i * HalfRow;
    HalfResult *out = y + i * HalfRow;
    T most = row[0], sum = 0;
    for (int j = 0; j < HalfRow; ++j)
      most = row[j] > most ? (T)row[j] : most;
    for (int j = 0; j < HalfRow; ++j)
      sum += MATH(exp, (T)row[j] - most);
    for (int j = 0; j < HalfRow; ++j)
      out[j] = (HalfResult)(MATH(exp, (T)row[j] - most) / sum);
  }
}

/// The class of a row; what is not one, and not the ignored one, is class 0.
static inline int classOf(int64_t label) { return label < 0 ? 0 : (int)label; }

static inline void crossEntropy(const float *x, const int64_t *labels, T *y) {
  for (int i = 0; i < Labels; ++i) {
    const float *row = x + i * Classes;
    T most = row[0], sum = 0;
    for (int j = 0; j < Classes; ++j)
      most = row[j] > most ? row[j] : most;
    for (int j = 0; j < Classes; ++j)
      sum += MATH(exp, (T)row[j] - most);
    y[i] = labels[i] == Ignored
               ? 0
               : MATH(log, sum) + (most - row[classOf(labels[i])]);
  }
}

static inline void rmsNorm(const float *x, const float *scale, T *y) {
  for (int i = 0; i < RmsRows; ++i) {
    const float *row = x + i * RmsRow;
    T sum = 0;
    for (int j = 0; j < RmsRow; ++j)
      sum += (T)row[j] * row[j];
    T factor = 1 / MATH(sqrt, sum / RmsRow + (T)1e-5);
    for (int j = 0; j < RmsRow; ++j)
      y[i * RmsRow + j] = row[j] * factor * scale[j];
  }
}

/// As in inference: mean and variance are given.
static inline void batchNorm(const float *x, const float *mean,
                             const float *variance, const float *scale,
                             const float *bias, T *y) {
  for (int i = 0; i < BnBatch * BnChannels; ++i) {
    int c = i % BnChannels;
    T factor = scale[c] / MATH(sqrt, variance[c] + (T)1e-5);
    for (int j = i * BnPixels; j < (i + 1) * BnPixels; ++j)
      y[j] = ((T)x[j] - mean[c]) * factor + bias[c];
  }
}

#endif
