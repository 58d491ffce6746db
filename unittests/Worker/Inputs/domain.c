// Ops on 50x100 elements that are wrong on a part of their domain only.
//   OP     which one
//   WRONG  0 right; 1 as named there
//   T      type of results: double for the oracle

#include <math.h>
#define COUNT 5000
#define COLS 100
#ifndef T
#define T float
#endif
#ifndef WRONG
#define WRONG 0
#endif

#define DIVIDE 1     // a / b; wrong: a / |b|
#define CUBE 2       // x^3; wrong: |x| x^2, as powf by logarithms would
#define LOG 3        // log x; wrong: log |x|
#define SQRT 4       // sqrt x; wrong: 0 below 0
#define RELU 5       // wrong: NaN becomes 0
#define SOFTSIGN 6   // x / (1 + |x|); wrong between 200 and 205, by 0.1 %
#define HALVE 7      // x / 2; wrong: (x + x) / 4, which overflows
#define NORM 8       // (x - 1) / sqrt(v + 1e-5); wrong: no 1e-5
#define I_PRODUCT 9  // a b + a; wrong: in 16 bits
#define I_DIVIDE 10  // a / b; wrong: in 8 bits
#define I_IGNORE 11  // a b, 0 where a is -100; wrong: not there
#define H_SCALE 12   // FP16: 1024 x; wrong: subnormal x is 0
#define FAR 13       // x / (1 + |x|); wrong between 2^40 and 2^41, by 0.1 %
#define SCALE 14     // 2 x, right whether or not denormals are flushed

#if OP == I_PRODUCT || OP == I_DIVIDE || OP == I_IGNORE
void fastk_kernel(const int *a, const int *b, int *y, void *workspace) {
  for (int i = 0; i < COUNT; ++i) {
#if OP == I_PRODUCT
    unsigned product = (unsigned)a[i] * (unsigned)b[i] + (unsigned)a[i];
    y[i] = WRONG ? (int)(short)product : (int)product;
#elif OP == I_DIVIDE
    // Never 0, and never -1 beside the smallest integer: neither has a result.
    signed char p = (signed char)a[i], q = (signed char)b[i];
    y[i] = WRONG ? (q ? p / q : 0) : a[i] / b[i];
#else
    unsigned product = (unsigned)a[i] * (unsigned)b[i];
    y[i] = !WRONG && a[i] == -100 ? 0 : (int)product;
#endif
  }
}
#elif OP == H_SCALE
void fastk_kernel(const _Float16 *x, T *y, void *workspace) {
  for (int i = 0; i < COUNT; ++i) {
    float value = (float)x[i];
    if (WRONG && fabsf(value) < 0x1p-14f)
      value = 0;
    y[i] = (T)(value * 1024);
  }
}
#elif OP == DIVIDE
void fastk_kernel(const float *a, const float *b, T *y, void *workspace) {
  for (int i = 0; i < COUNT; ++i)
    y[i] = (T)a[i] / (WRONG ? fabsf(b[i]) : b[i]);
}
#elif OP == NORM
void fastk_kernel(const float *x, const float *v, T *y, void *workspace) {
  for (int i = 0; i < COUNT; ++i) {
    T root = (T)sqrt((double)((T)v[i % COLS] + (WRONG ? 0 : (T)1e-5)));
    y[i] = ((T)x[i] - 1) / root;
  }
}
#else
static T one(T x) {
#if OP == CUBE
  return WRONG ? (T)fabs(x) * x * x : x * x * x;
#elif OP == LOG
  return sizeof(T) == 8 ? log(x) : (T)logf((float)(WRONG ? fabs(x) : x));
#elif OP == SQRT
  return WRONG && x < 0 ? 0 : (T)sqrt((double)x);
#elif OP == RELU
  return x > 0 || (!WRONG && x != x) ? x : 0;
#elif OP == SOFTSIGN
  T y = x / (1 + (T)fabs(x));
  return WRONG && x > 200 && x < 205 ? y * (T)1.001 : y;
#elif OP == HALVE
  return WRONG ? (x + x) * (T)0.25 : x * (T)0.5;
#elif OP == FAR
  T y = x / (1 + (T)fabs(x));
  return WRONG && x > (T)0x1p40 && x < (T)0x1p41 ? y * (T)1.001 : y;
#elif OP == SCALE
  return WRONG && fabs(x) < 0x1p-126 ? 0 : 2 * x;
#endif
}
void fastk_kernel(const float *x, T *y, void *workspace) {
  for (int i = 0; i < COUNT; ++i)
    y[i] = one((T)x[i]);
}
#endif
