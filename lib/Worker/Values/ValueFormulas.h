//===- ValueFormulas.h - The value at a position ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number at a position of an operand depends on seed and position alone,
// and on nothing but these formulas: the host compiles them, and so does NVRTC,
// which gets this file as text. A GPU thus makes the inputs that the host would
// make, up to the rounding of pow, cbrt, exp, log and erfc. So: no headers for
// NVRTC, no library but the functions of math.h.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_VALUES_VALUEFORMULAS_H
#define FASTK_LIB_WORKER_VALUES_VALUEFORMULAS_H

// As text it stands behind that file.
#ifndef __CUDACC_RTC__
#include "fastk/Protocol/FloatFormulas.h"
#endif

namespace fastk::worker {

//===----------------------------------------------------------------------===//
// N(0, 1)
//===----------------------------------------------------------------------===//

/// The value that N(0, 1) stays below with probability \p p, by Newton's method
/// on erfc from a start that is right to 4.5e-4 (Abramowitz and
/// Stegun 26.2.23).
FASTK_RARE double inverseNormal(double p) {
  double tail = p < 0.5 ? p : 1 - p;
  double t = sqrt(-2 * log(tail));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                     (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int i = 0; i < 2; ++i) {
    double error = 0.5 * erfc(x * 0.7071067811865476) - tail;
    x += error / (0.3989422804014327 * exp(-0.5 * x * x));
  }
  return p < 0.5 ? -x : x;
}

/// The inverse of the distribution function of N(0, 1). Between two entries it
/// is a straight line to 1e-4; towards the tails a finer table takes over, and
/// beyond that one, once in 16384, it is computed.
struct NormalEntries {
  // Not static members: NVRTC would make variables of them.
  enum : uint64_t { entries = 4096, tail = 32 };
  enum : int { fineBits = 8 };
  enum : uint64_t { outerEntries = tail << fineBits };

  const double *middle; ///< entries + 1
  const double *outer;  ///< outerEntries + 1

  FASTK_FORMULA double at(uint64_t bits) const;
  FASTK_FORMULA double outside(uint64_t bits) const;
};

FASTK_FORMULA double NormalEntries::outside(uint64_t bits) const {
  // By symmetry: the lower tail, and its mirror image.
  bool upper = bits >> 63;
  uint64_t low = upper ? ~bits : bits;
  uint64_t index = low >> (52 - fineBits);
  double x;
  if (index < tail) {
    x = inverseNormal(uniformOf(low));
  } else {
    double fraction = double(low & ((uint64_t(1) << (52 - fineBits)) - 1)) *
                      (1.0 / double(uint64_t(1) << (52 - fineBits)));
    x = outer[index] + fraction * (outer[index + 1] - outer[index]);
  }
  return upper ? -x : x;
}

FASTK_FORMULA double NormalEntries::at(uint64_t bits) const {
  uint64_t index = bits >> 52;
  if (index < tail || index >= entries - tail)
    return outside(bits);
  double fraction = double(int64_t(bits & 0xfffffffffffffu)) * 0x1p-52;
  return middle[index] + fraction * (middle[index + 1] - middle[index]);
}

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

enum class Distribution {
  Normal,
  Shifted,
  Scaled,
  Pareto,
  Spike,
  SpikeLast,
  Equal,
  Mixed,
  MixedHalf,
  Mean1000,
  ConstantRows,
  Logits80,
  QueryKey80,
  Ties,
  NegativeInfinity,
  Integers,
  Signs,
  Alternating,
  Runs,
  Breakpoints,
  Negatives,
  OneHot,
  FewNonzero,
  LogUniform,
  LogUniformHalf,
  Bands,
  Extremes,
  Denormals,
  Nonfinite,
  SignedDomain,
  NearZero,
  FullWidth,
  MaskBias,
  EmptyRows
};

/// What becomes of the law's value.
enum class Use {
  Integer,   ///< The law does not matter, unless it is FullWidth.
  Bit,       ///< 0 or 1.
  Mask,      ///< 0 or -inf; no row is empty, unless the law says so.
  Positive,  ///< |x| + 0.05.
  Divisor,   ///< x, moved away from 0 by 0.05.
  Magnitude, ///< |x|.
  Scale,     ///< Around 1, both signs.
  Plain      ///< Times `scale`.
};

/// All that decides the values of one operand of one trial. Plain data: it is
/// an argument of kernels as it is.
struct ValueRule {
  Distribution law;
  Use use;
  uint64_t seed;
  int64_t elements;
  /// Of the innermost dimension; of the outermost but one.
  int64_t row, sample;
  int64_t spike;
  /// Of Spike and Equal.
  double level;
  double scale;
  /// Values stay within +-largest; within [low, high] where there is a range.
  double largest, low, high;
  double special;
  /// Of queries and keys: alpha^2 sqrt(D) = 1, D the length of a query.
  double alpha;
  /// The exponent of Mixed, MixedHalf.
  double limit;
  /// The type's smallest normal number, and what the next after 1 is larger.
  double tiny, step;
  /// The largest of Extremes.
  double extreme;
  /// Laws that put special values at secret places: `places` of them in each
  /// `block` elements; -1 for everywhere.
  int64_t block, places;
  /// Consecutive elements that share a magnitude (Bands) or a domain
  /// (SignedDomain); one in `share` of those has the whole domain.
  int64_t segment, share;
  /// Exponents of 2 of the laws of magnitudes; of FullWidth the high one is the
  /// number of bits.
  int32_t lowExponent, highExponent;
  /// Of integers: never 0, and never -1 where the smallest integer is drawn.
  bool isDivisor;
  /// Nonfinite draws no infinities.
  bool onlyNaN;
  /// Of integers: one in 16 is `special`, whatever the law.
  bool hasSpecial;
  bool hasRange;
  /// Its rows have factors; keys have none.
  bool isQuery;
};

/// A full significand: in +-[1, 2).
FASTK_FORMULA double significandOf(uint64_t bits) {
  double value = 1 + double(bits >> 11) * 0x1p-53;
  return bits & 1 ? value : -value;
}

/// In +-[0.5, 2): close in magnitude, so that relative errors of products can
/// be compared, and no digit of the significand is 0 by construction.
FASTK_FORMULA double denseValueOf(uint64_t bits) {
  return significandOf(bits) * (bits & 2 ? 0.5 : 1);
}

/// Any exponent of [low, high] as likely as any other.
FASTK_FORMULA int32_t exponentOf(uint64_t bits, int32_t low, int32_t high) {
  return low + int32_t(bits % uint64_t(high - low + 1));
}

/// Whether element \p i is one of the secret places of its block.
FASTK_FORMULA bool isSpecialPlace(const ValueRule &rule, int64_t i) {
  if (rule.places < 0)
    return true;
  uint64_t number = uint64_t(i / rule.block), at = uint64_t(i % rule.block);
  for (int64_t k = 0; k < rule.places; ++k)
    if (bitsAt(rule.seed ^ 0x51ace, number * 4 + uint64_t(k)) %
            uint64_t(rule.block) ==
        at)
      return true;
  return false;
}

/// Where a type ends, where its precision does, and both zeros.
FASTK_FORMULA double extremeOf(const ValueRule &rule, uint64_t bits) {
  double sign = bits & 1 ? 1 : -1;
  switch ((bits >> 8) % 6) {
  case 0:
    return sign * rule.extreme;
  case 1:
    return sign * rule.extreme * 0.5;
  case 2:
    return sign * rule.tiny;
  case 3:
    return sign * 0.0;
  case 4:
    return sign * (1 + rule.step);
  }
  return sign * (1 - rule.step / 2);
}

/// What is the same in a whole row.
template <Distribution law>
FASTK_FORMULA double rowValueOf(const ValueRule &rule, int64_t number) {
  if (law == Distribution::Mixed || law == Distribution::MixedHalf) {
    // Row by row: within a row, an error is measured against the row.
    return pow(
        10.0,
        (2 * uniformOf(bitsAt(rule.seed ^ 0xabcd, uint64_t(number))) - 1) *
            rule.limit);
  }
  if (law == Distribution::QueryKey80) {
    // Query i is f_i alpha (1, 1, ...) plus noise, a key alpha (1, 1, ...) plus
    // noise: with the usual factor 1 / sqrt(D) the logits of row i lie around
    // f_i = +-80 to 120, a whole row on one side. The mean is the same along
    // all axes, so it does not matter which one is contracted.
    constexpr double key = 10;
    if (!rule.isQuery)
      return key * rule.alpha;
    uint64_t bits = bitsAt(rule.seed ^ 0x80f1, uint64_t(number));
    double level = (80 + 40 * uniformOf(bits)) / key;
    return (bits & 1 ? level : -level) * rule.alpha;
  }
  if (law == Distribution::Ties) {
    if ((number & 1) == 0 && rule.elements > rule.row)
      return double(int64_t(bitsAt(rule.seed ^ 0x7135, uint64_t(number)) % 9)) -
             4;
    return nanValue(); // The row is not constant.
  }
  return 0;
}

/// The law's value of element \p i, whose bits are \p bits, in a row of
/// rowValueOf \p ofRow.
template <Distribution law>
FASTK_FORMULA double elementValueOf(const ValueRule &rule,
                                    const NormalEntries &n, double ofRow,
                                    int64_t i, uint64_t bits) {
  if (law == Distribution::Normal)
    return n.at(bits);
  if (law == Distribution::Shifted)
    return 5 + n.at(bits);
  if (law == Distribution::Scaled)
    return 10 * n.at(bits);
  if (law == Distribution::Pareto) {
    // alpha = 1.5, scale 0.01, random sign.
    double root = cbrt(uniformOf(bits));
    double magnitude = 0.01 / (root * root);
    return bits & 1 ? magnitude : -magnitude;
  }
  if (law == Distribution::Spike || law == Distribution::SpikeLast)
    return i == rule.spike ? (rule.level < 0 ? -100.0 : 100.0)
                           : 1e-3 * n.at(bits);
  if (law == Distribution::Equal)
    return rule.level;
  if (law == Distribution::Mixed || law == Distribution::MixedHalf)
    return n.at(bits) * ofRow;
  if (law == Distribution::Mean1000)
    return 1000 + 0.1 * n.at(bits);
  if (law == Distribution::ConstantRows) {
    // Every second sample is constant; the others give the scale.
    if ((i / rule.sample) % 2 == 0 && rule.elements > rule.sample)
      return double(int64_t(bitsAt(rule.seed, 5) % 7)) + 1;
    return n.at(bits);
  }
  if (law == Distribution::Logits80)
    return 160 * uniformOf(bits) - 80;
  if (law == Distribution::QueryKey80)
    return ofRow + 0.5 * n.at(bits);
  if (law == Distribution::Ties)
    return isNaN(ofRow) ? double(int64_t(bits % 3)) - 1 : ofRow;
  if (law == Distribution::NegativeInfinity) {
    // Whole windows and rows of what has maxima.
    if (rule.segment > 0 &&
        bitsAt(rule.seed ^ 0x1f1f, uint64_t(i / rule.segment)) % 4 == 0)
      return -infinityValue();
    // An op over any one axis still finds finite values.
    return bits % 4 == 0 ? -infinityValue() : n.at(mix(bits));
  }
  if (law == Distribution::Integers)
    return double(int64_t(bits % 5)) - 2;
  if (law == Distribution::Signs)
    return bits & 1 ? 1.0 : -1.0;
  if (law == Distribution::Alternating)
    return (i & 1 ? -1 : 1) * (1 + 0.01 * n.at(bits));
  if (law == Distribution::Runs)
    return n.at(bitsAt(rule.seed, uint64_t(i / 97)));
  if (law == Distribution::Breakpoints) {
    if (bits % 2 == 0)
      return n.at(mix(bits));
    constexpr double points[] = {0,  -0.0, 0.5, -0.5, 1,  -1,    2,
                                 -2, 3,    -3,  6,    -6, 1e-40, -20};
    constexpr uint64_t count = sizeof(points) / sizeof(points[0]);
    return points[(bits >> 8) % count];
  }
  if (law == Distribution::OneHot || law == Distribution::FewNonzero)
    return isSpecialPlace(rule, i) ? denseValueOf(bits) : 0;
  if (law == Distribution::LogUniform || law == Distribution::LogUniformHalf)
    return ldexp(significandOf(bits),
                 exponentOf(mix(bits), rule.lowExponent, rule.highExponent));
  if (law == Distribution::Bands) {
    uint64_t ofSegment = bitsAt(rule.seed ^ 0xba4d, uint64_t(i / rule.segment));
    return ldexp(significandOf(bits),
                 exponentOf(ofSegment, rule.lowExponent, rule.highExponent));
  }
  if (law == Distribution::Extremes)
    return isSpecialPlace(rule, i) ? extremeOf(rule, mix(bits)) : n.at(bits);
  if (law == Distribution::Denormals)
    return isSpecialPlace(rule, i) ? rule.tiny * (2 * uniformOf(mix(bits)) - 1)
                                   : n.at(bits);
  if (law == Distribution::Nonfinite) {
    if (!isSpecialPlace(rule, i))
      return n.at(bits);
    // All three where there are three places.
    uint64_t which = (rule.seed + uint64_t(i / rule.block)) % 3;
    return which == 0 || rule.onlyNaN ? nanValue()
           : which == 1               ? infinityValue()
                                      : -infinityValue();
  }
  if (law == Distribution::SignedDomain) {
    double value = n.at(bits);
    uint64_t ofSegment = bitsAt(rule.seed ^ 0xd0a1, uint64_t(i / rule.segment));
    if (ofSegment % uint64_t(rule.share) != 0)
      return fabs(value) + 0.05;
    return mix(bits) % 16 == 0 ? (bits & 1 ? 0.0 : -0.0) : value;
  }
  if (law == Distribution::NearZero)
    return mix(bits) % 8 == 0
               ? 0
               : ldexp(significandOf(bits),
                       exponentOf(mix(bits) >> 8, rule.lowExponent,
                                  rule.highExponent));
  if (law == Distribution::MaskBias)
    // A bias as in ALiBi; and the large finite number that some models mask by.
    return mix(bits) % 32 == 0 ? -rule.largest : 4 * n.at(bits);
  if (law == Distribution::FullWidth || law == Distribution::EmptyRows)
    return n.at(bits);
  return -fabs(n.at(bits)) - 0.1; // Negatives
}

FASTK_FORMULA double integerOf(const ValueRule &rule, uint64_t bits) {
  double span = rule.high - rule.low + 1;
  if (span > 0x1p53)
    span = 0x1p53;
  if (!(span >= 1))
    return rule.low;
  // The ends are where programs branch: a class that does not count, the last
  // row of a table. Of a wide range chance alone may draw neither.
  uint64_t end = mix(bits) >> 32;
  if (end % 16 == 0)
    return end & 16 ? rule.low : rule.low + (span - 1);
  return rule.low + floor(uniformOf(bits) * span);
}

/// Any number of bits as likely as any other, and the integers at which code
/// branches: the ends of narrower types, and the class that losses ignore.
FASTK_FORMULA double wideIntegerOf(const ValueRule &rule, uint64_t bits) {
  uint64_t other = mix(bits);
  double value;
  if (bits % 8 == 0) {
    constexpr double points[] = {-1,  0,   1,   -100,  -128,   127,   -129,
                                 128, 255, 256, 32767, -32768, 65535, 65536};
    constexpr uint64_t count = sizeof(points) / sizeof(points[0]);
    uint64_t which = other % (count + 4);
    value = which < count ? points[which] : which & 1 ? rule.low : rule.high;
  } else {
    value =
        floor(ldexp(uniformOf(bits), exponentOf(other, 1, rule.highExponent)));
    value = (other >> 32) & 1 ? value : -value;
  }
  if (rule.low >= 0)
    value = fabs(value);
  value = value < rule.low ? rule.low : value > rule.high ? rule.high : value;
  if (rule.isDivisor && (value == 0 || value == -1))
    return rule.low > 0 ? rule.low : value - 2;
  return value;
}

/// The mask of a row: scattered, or all before or after one place, as causal
/// masks and padding do. That place itself is kept, so that no row is empty.
FASTK_FORMULA bool isMasked(const ValueRule &rule, int64_t i, uint64_t bits) {
  int64_t number = i / rule.row, at = i % rule.row;
  uint64_t ofRow = bitsAt(rule.seed ^ 0x3a5c, uint64_t(number));
  if (rule.law == Distribution::EmptyRows && ofRow % 4 == 0)
    return true;
  int64_t kept = int64_t((ofRow >> 8) % uint64_t(rule.row));
  switch ((ofRow >> 2) % 4) {
  case 0:
    return at < kept;
  case 1:
    return at > kept;
  }
  return at != kept && bits % 4 == 0;
}

/// Values that follow no law.
FASTK_FORMULA bool isLawless(Use use) {
  return use == Use::Integer || use == Use::Bit || use == Use::Mask ||
         use == Use::Scale;
}

FASTK_FORMULA double lawlessValueOf(const ValueRule &rule,
                                    const NormalEntries &n, int64_t i,
                                    uint64_t bits) {
  if (rule.use == Use::Bit) {
    // Which of 0 and 1 masks is the op's secret: rows of both.
    uint64_t ofRow = rule.law == Distribution::EmptyRows
                         ? bitsAt(rule.seed ^ 0x3a5c, uint64_t(i / rule.row))
                         : 2;
    return ofRow % 4 < 2 ? double(ofRow % 4) : double(bits & 1);
  }
  if (rule.use == Use::Mask)
    return isMasked(rule, i, bits) ? -infinityValue() : 0;
  if (rule.use == Use::Scale)
    return rule.law == Distribution::Integers ? double(int64_t(bits % 5)) - 2
                                              : 1 + 0.5 * n.at(bits);
  if (rule.hasSpecial && mix(bits) % 16 == 0)
    return rule.special;
  if (rule.law == Distribution::FullWidth && rule.highExponent > 0)
    return wideIntegerOf(rule, bits);
  if (rule.law == Distribution::FullWidth && bits % 8 == 0)
    return bits & 8 ? rule.low : rule.high;
  double value = integerOf(rule, bits);
  return rule.isDivisor && value == 0 ? rule.high : value;
}

FASTK_FORMULA double limitedTo(double largest, double value) {
  value = value < largest ? value : largest;
  return value > -largest ? value : -largest;
}

FASTK_FORMULA bool isNonfiniteLaw(Distribution law) {
  return law == Distribution::NegativeInfinity ||
         law == Distribution::Nonfinite;
}

/// What the operand may hold of \p value: its use, its range, its type's.
FASTK_FORMULA double finishedValueOf(const ValueRule &rule, double value,
                                     uint64_t bits) {
  if (rule.use == Use::Integer || rule.use == Use::Bit || rule.use == Use::Mask)
    return value;
  if (rule.use == Use::Positive)
    value = fabs(value) + 0.05;
  else if (rule.use == Use::Divisor)
    value = value < 0 ? value - 0.05 : value + 0.05;
  else if (rule.use == Use::Magnitude)
    value = fabs(value);
  else if (rule.use == Use::Plain && rule.scale != 1)
    value *= rule.scale;
  if (rule.hasRange) {
    // Kept where it is in the range, else drawn uniformly.
    if (value >= rule.low && value <= rule.high)
      return value;
    value = rule.low + (rule.high - rule.low) * uniformOf(mix(bits));
    return value < rule.low ? rule.low : value > rule.high ? rule.high : value;
  }
  // What is not finite by a law's will stays.
  if (isNonfiniteLaw(rule.law) && (isInfinite(value) || isNaN(value)))
    return value;
  return limitedTo(rule.largest, value);
}

/// A law as a type.
template <Distribution law>
struct LawTag {};

template <Distribution law>
FASTK_FORMULA constexpr Distribution lawOf(LawTag<law>) {
  return law;
}

/// Calls \p body with the LawTag of \p law: what it loops over, the compiler
/// sees one law at a time.
template <typename Body>
FASTK_FORMULA void dispatch(Distribution law, Body body) {
#define FASTK_LAW(NAME)                                                        \
  case Distribution::NAME:                                                     \
    return body(LawTag<Distribution::NAME>());
  switch (law) {
    FASTK_LAW(Normal)
    FASTK_LAW(Shifted)
    FASTK_LAW(Scaled)
    FASTK_LAW(Pareto)
    FASTK_LAW(Spike)
    FASTK_LAW(SpikeLast)
    FASTK_LAW(Equal)
    FASTK_LAW(Mixed)
    FASTK_LAW(MixedHalf)
    FASTK_LAW(Mean1000)
    FASTK_LAW(ConstantRows)
    FASTK_LAW(Logits80)
    FASTK_LAW(QueryKey80)
    FASTK_LAW(Ties)
    FASTK_LAW(NegativeInfinity)
    FASTK_LAW(Integers)
    FASTK_LAW(Signs)
    FASTK_LAW(Alternating)
    FASTK_LAW(Runs)
    FASTK_LAW(Breakpoints)
    FASTK_LAW(Negatives)
    FASTK_LAW(OneHot)
    FASTK_LAW(FewNonzero)
    FASTK_LAW(LogUniform)
    FASTK_LAW(LogUniformHalf)
    FASTK_LAW(Bands)
    FASTK_LAW(Extremes)
    FASTK_LAW(Denormals)
    FASTK_LAW(Nonfinite)
    FASTK_LAW(SignedDomain)
    FASTK_LAW(NearZero)
    FASTK_LAW(FullWidth)
    FASTK_LAW(MaskBias)
    FASTK_LAW(EmptyRows)
  }
#undef FASTK_LAW
}

/// Element \p i of an operand. Only what a law alone does is compiled for each
/// law: all of it would take NVRTC ten times as long.
FASTK_FORMULA double valueOf(const ValueRule &rule, const NormalEntries &n,
                             int64_t i) {
  uint64_t bits = mix(streamOf(rule.seed) + uint64_t(i));
  double value = 0;
  if (isLawless(rule.use))
    value = lawlessValueOf(rule, n, i, bits);
  else
    dispatch(rule.law, [&](auto tag) {
      constexpr Distribution law = lawOf(decltype(tag)());
      value = elementValueOf<law>(rule, n, rowValueOf<law>(rule, i / rule.row),
                                  i, bits);
    });
  return finishedValueOf(rule, value, bits);
}

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_VALUES_VALUEFORMULAS_H
