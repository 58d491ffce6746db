// Conditions by a running analysis of first order, as fastk-derive-condition
// has the rules (docs/validation.md): how far rounding may move each number,
// such that 8 u k bounds the error of a right kernel with unit round-off u. For
// C, and before the text of a condition.cu for CUDA-C.
#ifndef CONDITION_H
#define CONDITION_H
#ifdef __CUDACC_RTC__
#define RULE __device__ inline
#define INFINITY FASTK_INFINITY
#else
#include <math.h>
#define RULE static inline
#endif

/// 8 u of the arithmetic that is judged, f32.
#define ROUNDOFF (8 * 0x1p-24)
/// What makes up for a number below the smallest normal one, flushed to zero.
#define FLUSHED (0x1p-126 / ROUNDOFF)

typedef struct {
  double v;
  double k;        ///< 0: exact.
  double reckoned; ///< What arithmetic reckons with: an operand's magnitude.
} Value;

RULE Value valueOf(double v, double k, double reckoned) {
  Value value;
  value.v = v;
  value.k = k;
  value.reckoned = reckoned;
  return value;
}
RULE Value operand(double v) { return valueOf(v, 0, fabs(v) + FLUSHED); }
RULE Value constant(double v) { return valueOf(v, 0, 0); }

/// A result; what depends on one beyond its type may be anything.
RULE Value within(double v, double k, double largest) {
  int isBeyond = fabs(v) > largest && fabs(v) <= 0x1.fffffffffffffp1023;
  k = isBeyond ? INFINITY : k;
  return valueOf(v, k, k);
}
RULE Value computed(double v, double k) { return within(v, k, 0x1.fffffep127); }

/// Zero where the factor is, whatever the condition.
RULE double passed(double factor, double k) {
  return factor == 0 ? 0 : fabs(factor) * k;
}

RULE Value plus(Value a, Value b) {
  return computed(a.v + b.v, a.reckoned + b.reckoned + fabs(a.v + b.v));
}
RULE Value negated(Value a) { return valueOf(-a.v, a.k, a.reckoned); }
RULE Value minus(Value a, Value b) { return plus(a, negated(b)); }
RULE Value times(Value a, Value b) {
  double k = passed(a.v, b.reckoned) + passed(b.v, a.reckoned);
  return computed(a.v * b.v, k + 2 * fabs(a.v * b.v) + FLUSHED);
}
/// By a constant.
RULE Value scaled(Value a, double c) {
  return computed(a.v * c, passed(c, a.reckoned) + fabs(a.v * c) + FLUSHED);
}
RULE Value over(Value a, Value b) {
  double r = a.v / b.v;
  double k = (a.reckoned + passed(r, b.reckoned)) / fabs(b.v);
  return computed(r, k + 2 * fabs(r) + FLUSHED);
}
/// The larger. Where errors may decide which it is, the larger condition.
RULE Value larger(Value a, Value b) {
  Value most = a.v > b.v || a.v != a.v ? a : b;
  if (a.k + b.k > 0 && fabs(a.v - b.v) <= ROUNDOFF * (a.k + b.k)) {
    most.k = a.k > b.k ? a.k : b.k;
    most.reckoned = a.reckoned > b.reckoned ? a.reckoned : b.reckoned;
  }
  return most;
}
RULE Value expOf(Value a) {
  double r = exp(a.v), argument = fabs(a.v) < 1100 ? fabs(a.v) : 1100;
  return computed(r, passed(r, a.reckoned + argument + 2) + FLUSHED);
}
RULE Value logOf(Value a) {
  double r = log(a.v);
  return computed(r, a.reckoned / fabs(a.v) + 2 * fabs(r));
}
RULE Value sqrtOf(Value a) {
  double r = sqrt(a.v);
  return computed(r, passed(0.5 / r, a.reckoned) + 2 * fabs(r));
}
RULE Value rsqrtOf(Value a) {
  double r = 1 / sqrt(a.v);
  return computed(r, passed(0.5 * r / a.v, a.reckoned) + 3 * r);
}
RULE Value tanhOf(Value a) {
  double r = tanh(a.v);
  return computed(r, passed(1 - r * r, a.reckoned) + 4 * fabs(r));
}
RULE Value erfOf(Value a) {
  double slope = 1.1283791670955126 * exp(-a.v * a.v);
  return computed(erf(a.v), passed(slope, a.reckoned) + 4 * fabs(erf(a.v)));
}
RULE Value sinOf(Value a) {
  return computed(sin(a.v), passed(cos(a.v), a.reckoned) + 3 * fabs(sin(a.v)));
}
RULE Value powOf(Value a, Value b) {
  double r = pow(a.v, b.v), l = log(fabs(a.v));
  double k = fabs(b.v) * a.reckoned / fabs(a.v) + passed(l, b.reckoned);
  return computed(r, passed(r, k + 3 + passed(b.v, fabs(l))));
}

/// A tensor that the definition keeps in f16: its round-off and, near zero,
/// half of its last place, by 10 % more than that.
RULE Value storedF16(Value a) {
  double error = fabs(a.v) * 0x1p-11;
  error = error > 0x1p-25 ? error : 0x1p-25;
  return within(a.v, a.reckoned + 1.1 * error / ROUNDOFF, 65504);
}

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
  sum->k += term.reckoned;
  sum->magnitudes += fabs(term.v);
  sum->terms += term.v != 0;
}
RULE Value total(Sum sum) {
  double order = sum.terms > 1 ? 1 + sqrt((double)sum.terms) / 4 : 0;
  return computed(sum.v, sum.k + passed(order, sum.magnitudes));
}

#endif
