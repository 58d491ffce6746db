// The workloads, each as a function that does the work. T is the type of sums
// and results: double in an oracle, float in a baseline and in candidates.
#ifndef WORKLOADS_H
#define WORKLOADS_H
#define _GNU_SOURCE
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef T
#define T float
#endif
/// A function of <math.h> at the precision of T.
#define MATH(function, x)                                                      \
  (sizeof(T) == 8 ? (T)function(x) : (T)function##f((float)(x)))
/// What a workload of f16 writes: double in an oracle.
typedef __typeof__(__builtin_choose_expr(sizeof(T) == 8, (double)0,
                                         (_Float16)0)) HalfResult;

enum { M = 96, K = 64, N = 80 };                 // matmul
enum { SoftmaxRows = 48, SoftmaxRow = 512 };     // softmax
enum { LayernormRows = 48, LayernormRow = 256 }; // layernorm
enum { ReluSize = 128 * 200 };                   // relu
enum { RowsumRows = 64, RowsumRow = 500 };       // rowsum

static inline void matmul(const float *a, const float *b, T *c) {
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      T sum = 0;
      for (int k = 0; k < K; ++k)
        sum += (T)a[i * K + k] * b[k * N + j];
      c[i * N + j] = sum;
    }
}

static inline void softmaxOfRow(const float *x, T *y) {
  T most = x[0], sum = 0;
  for (int j = 0; j < SoftmaxRow; ++j)
    most = x[j] > most ? x[j] : most;
  for (int j = 0; j < SoftmaxRow; ++j) {
    y[j] = sizeof(T) == 8 ? exp((T)x[j] - most) : expf((T)x[j] - most);
    sum += y[j];
  }
  for (int j = 0; j < SoftmaxRow; ++j)
    y[j] /= sum;
}

static inline void softmax(const float *x, T *y) {
  for (int i = 0; i < SoftmaxRows; ++i)
    softmaxOfRow(x + i * SoftmaxRow, y + i * SoftmaxRow);
}

static inline void layernorm(const float *x, const float *scale,
                             const float *bias, T *y) {
  for (int i = 0; i < LayernormRows; ++i) {
    const float *row = x + i * LayernormRow;
    T mean = 0, variance = 0;
    for (int j = 0; j < LayernormRow; ++j)
      mean += row[j];
    mean /= LayernormRow;
    for (int j = 0; j < LayernormRow; ++j)
      variance += (row[j] - mean) * (row[j] - mean);
    T factor = 1 / (T)sqrt(variance / LayernormRow + (T)1e-5);
    for (int j = 0; j < LayernormRow; ++j)
      y[i * LayernormRow + j] = (row[j] - mean) * factor * scale[j] + bias[j];
  }
}

static inline void relu(const float *x, T *y) {
  // NaN stays what it is.
  for (int i = 0; i < ReluSize; ++i)
    y[i] = x[i] < 0 ? 0 : x[i];
}

static inline void rowsum(const float *x, T *y) {
  for (int i = 0; i < RowsumRows; ++i) {
    T sum = 0;
    for (int j = 0; j < RowsumRow; ++j)
      sum += x[i * RowsumRow + j];
    y[i] = sum;
  }
}

#include "attention.h"
#include "elementwise.h"
#include "integers.h"
#include "products.h"
#include "rows.h"
#include "windows.h"

#endif
