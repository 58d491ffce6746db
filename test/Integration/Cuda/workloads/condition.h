// Condition numbers by a running analysis of first order. A Value is a number
// and how much an error in it may be amplified: computed with unit round-off u,
// each step rounding a few times, it may be off by 8 u k. The rules say what a
// step adds. For C and, before the text of a condition.cu, for CUDA-C.
#ifndef CONDITION_H
#define CONDITION_H
#ifdef __CUDACC_RTC__
#define RULE __device__ inline
#else
#include <math.h>
#define RULE static inline
#endif

typedef struct {
  double v, k;
} Value;

RULE Value valueOf(double v, double k) {
  Value value;
  value.v = v;
  value.k = k;
  return value;
}
/// An operand or a constant.
RULE Value exact(double v) { return valueOf(v, 0); }

RULE Value plus(Value a, Value b) {
  return valueOf(a.v + b.v, a.k + b.k + fabs(a.v + b.v));
}
RULE Value negated(Value a) { return valueOf(-a.v, a.k); }
RULE Value minus(Value a, Value b) { return plus(a, negated(b)); }
/// Products of three terms are allowed.
RULE Value times(Value a, Value b) {
  return valueOf(a.v * b.v,
                 fabs(a.v) * b.k + fabs(b.v) * a.k + 3 * fabs(a.v * b.v));
}
/// By a constant.
RULE Value scaled(Value a, double c) {
  return valueOf(a.v * c, fabs(c) * a.k + fabs(a.v * c));
}
RULE Value over(Value a, Value b) {
  double r = a.v / b.v;
  return valueOf(r, (a.k + fabs(r) * b.k) / fabs(b.v) + 2 * fabs(r));
}
/// The larger. Where errors may decide which it is, the larger condition.
RULE Value larger(Value a, Value b) {
  Value most = a.v > b.v || a.v != a.v ? a : b;
  if (fabs(a.v - b.v) <= 64 * 0x1p-24 * (a.k + b.k))
    most.k = a.k > b.k ? a.k : b.k;
  return most;
}
RULE Value expOf(Value a) {
  double r = exp(a.v);
  return valueOf(r, r == 0 ? 0 : r * (a.k + 2 + fabs(a.v)));
}
RULE Value logOf(Value a) {
  double r = log(a.v);
  return valueOf(r, a.k / fabs(a.v) + 2 * fabs(r));
}
RULE Value sqrtOf(Value a) {
  double r = sqrt(a.v);
  return valueOf(r, (a.k == 0 ? 0 : a.k / (2 * r)) + fabs(r));
}
RULE Value rsqrtOf(Value a) {
  double r = 1 / sqrt(a.v);
  return valueOf(r, r * a.k / (2 * fabs(a.v)) + 2 * r);
}
RULE Value tanhOf(Value a) {
  double r = tanh(a.v);
  return valueOf(r, (1 - r * r) * a.k + 4 * fabs(r));
}
RULE Value erfOf(Value a) {
  double r = erf(a.v);
  return valueOf(r, 1.1283791670955126 * exp(-a.v * a.v) * a.k + 4 * fabs(r));
}
RULE Value powOf(Value a, Value b) {
  double r = pow(a.v, b.v), l = log(fabs(a.v));
  double slope = a.k == 0 ? 0 : fabs(b.v) * a.k / fabs(a.v);
  slope += b.k == 0 ? 0 : fabs(l) * b.k;
  return valueOf(r, r == 0 ? 0 : fabs(r) * (slope + 3 + fabs(b.v * l)));
}
RULE Value sinOf(Value a) {
  double r = sin(a.v);
  return valueOf(r, fabs(cos(a.v)) * a.k + 2 * fabs(r));
}

/// A tensor that is stored with round-off u and, where it is close to zero, an
/// error of half its smallest subnormal number: by 10 % more than that.
RULE Value stored(Value a, double u, double smallest) {
  double error = fabs(a.v) * u > smallest / 2 ? fabs(a.v) * u : smallest / 2;
  return valueOf(a.v, a.k + 1.1 * error / (8 * 0x1p-24));
}
RULE Value storedF16(Value a) { return stored(a, 0x1p-11, 0x1p-24); }
RULE Value storedBF16(Value a) { return stored(a, 0x1p-8, 0x1p-133); }

/// A sum in any order.
typedef struct {
  double v, k, magnitudes;
  long long terms; ///< That are not zero.
} Sum;

RULE Sum noTerms(void) {
  Sum sum;
  sum.v = sum.k = sum.magnitudes = 0;
  sum.terms = 0;
  return sum;
}
RULE void add(Sum *sum, Value term) {
  sum->v += term.v;
  sum->k += term.k;
  sum->magnitudes += fabs(term.v);
  sum->terms += term.v != 0;
}
RULE Value total(Sum sum) {
  double order = sum.terms > 1 ? 1 + sqrt((double)sum.terms) / 4 : 0;
  return valueOf(sum.v, sum.k + (order > 0 ? order * sum.magnitudes : 0));
}

#endif
