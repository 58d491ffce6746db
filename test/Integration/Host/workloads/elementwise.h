// Workloads that go element by element. Included by workloads.h.
#ifndef ELEMENTWISE_H
#define ELEMENTWISE_H

enum { PointRows = 64, PointRow = 200, Points = PointRows * PointRow };

static inline void quotient(const float *a, const float *b, T *y) {
  for (int i = 0; i < Points; ++i)
    y[i] = (T)a[i] / b[i];
}

static inline void cube(const float *x, T *y) {
  for (int i = 0; i < Points; ++i)
    y[i] = sizeof(T) == 8 ? pow(x[i], 3) : powf(x[i], 3);
}

/// What is not positive, NaN too, is negated.
static inline void logSqrt(const float *x, T *y) {
  for (int i = 0; i < Points; ++i)
    y[i] = x[i] > 0 ? MATH(log, x[i]) * MATH(sqrt, x[i]) : -(T)x[i];
}

static inline void exponential(const float *x, T *y) {
  for (int i = 0; i < Points; ++i)
    y[i] = MATH(exp, x[i]);
}

static inline void sine(const float *x, T *y) {
  for (int i = 0; i < Points; ++i)
    y[i] = MATH(sin, x[i]);
}

static inline void gelu(const float *x, T *y) {
  for (int i = 0; i < Points; ++i)
    y[i] = (T)0.5 * x[i] * (1 + MATH(erf, (T)0.70710678118654752 * (T)x[i]));
}

/// The approximation by a hyperbolic tangent.
static inline void geluTanh(const float *x, T *y) {
  for (int i = 0; i < Points; ++i) {
    T cubed = (T)x[i] * x[i] * x[i];
    T inside = (T)0.79788456080286536 * (x[i] + (T)0.044715 * cubed);
    y[i] = (T)0.5 * x[i] * (1 + MATH(tanh, inside));
  }
}

static inline void transpose(const float *x, T *y) {
  for (int i = 0; i < PointRows; ++i)
    for (int j = 0; j < PointRow; ++j)
      y[j * PointRows + i] = x[i * PointRow + j];
}

#endif
