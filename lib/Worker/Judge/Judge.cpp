//===- Judge.cpp - Which class does an error hold -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Judge.h"
#include "fastk/Protocol/Contract.h"
#include <algorithm>
#include <cmath>

using namespace fastk::worker;

namespace {

/// Round-offs of a job.
struct Roundoff {
  double compute; ///< Of the arithmetic an IEEE kernel uses.
  double output;  ///< Of the output's storage.
  double storage; ///< Of the coarsest float type among the operands.
  double rootK;
};

} // namespace

static Roundoff roundoffOf(const Job &job, size_t output) {
  Roundoff u;
  ElementType type = job.outputs[output].type;
  bool allDouble = type == ElementType::F64;
  u.output = unitRoundoff(type);
  u.storage = u.output;
  for (const Tensor &input : job.inputs)
    if (isFloat(input.type)) {
      allDouble &= input.type == ElementType::F64;
      u.storage = std::max(u.storage, unitRoundoff(input.type));
    }
  u.compute = unitRoundoff(allDouble ? ElementType::F64 : ElementType::F32);
  u.rootK = std::sqrt(double(job.reductionLength));
  return u;
}

/// An IEEE error never reaches an eighth of what TF32 operands would cause.
static constexpr double separation = 1024;

/// The most that a poor baseline excuses.
static Bounds capOf(const Job &job, size_t output, const ErrorContext &d) {
  Roundoff u = roundoffOf(job, output);
  double growth = std::min(8 * u.rootK, separation / 8);
  double limited = std::min(8 * u.rootK, separation);
  auto cap = [&](double slope) {
    double bound = 512 * u.compute + growth * u.compute +
                   limited * slope * u.compute + 8 * u.output;
    // Intermediate results may be rounded to the storage type.
    if (u.storage > u.compute)
      bound += 16 * u.storage + 8 * slope * u.storage;
    return bound;
  };
  return {cap(d.slopeMax), cap(d.slopeFrobenius)};
}

static Bounds ieeeBounds(const Job &job, size_t output, const ErrorContext &d) {
  Roundoff u = roundoffOf(job, output);
  double root = std::min(u.rootK, separation / 8);
  // Any order of summation passes: blocks, vectors, one after another. The
  // slope knows the 2-norm of the terms, partial sums may reach their 1-norm:
  // up to root K more.
  Bounds floor;
  floor.max = (16 + 2 * root) * u.compute + 2 * root * d.slopeMax * u.compute +
              2 * u.output;
  // A norm of few elements, or of elements that all round alike, is one error
  // rather than the average of many: up to five times the root mean square.
  // Where all terms of a sum are equal, errors add up instead of cancelling.
  double few = d.coherent ? 5 : 1 + 4 / std::sqrt(d.carriers);
  if (d.coherent)
    floor.max *= 3;
  floor.frobenius =
      ((8 + root) * u.compute + root * d.slopeFrobenius * u.compute) * few +
      0.6 * u.output * std::min(few, 1.6);
  Bounds relative = {4 * d.baseline.max + 4 * u.output,
                     2 * d.baseline.frobenius + 2 * u.compute};
  Bounds cap = capOf(job, output, d);
  auto pick = [](double relative, double floor, double cap) {
    return std::min(std::max(relative, floor), std::max(cap, floor));
  };
  return {pick(relative.max, floor.max, cap.max),
          pick(relative.frobenius, floor.frobenius, cap.frobenius)};
}

Bounds fastk::worker::boundsOf(const Job &job, size_t output,
                               Precision precision, const ErrorContext &d) {
  if (!isFloat(job.outputs[output].type))
    return {0, 0};
  // Round-off of TF32 and FP16 operands: 10 explicit bits.
  constexpr double tf32 = contract::tf32Operands;
  Bounds bounds = ieeeBounds(job, output, d);
  switch (precision) {
  case Precision::IEEE:
    if (d.exact)
      return {0, 0};
    return bounds;
  case Precision::TF32:
    return {bounds.max + 2 * d.slopeMax * tf32 + 4 * tf32,
            bounds.frobenius + 2 * d.slopeFrobenius * tf32 + tf32};
  case Precision::Half:
  case Precision::None:
    return {std::max({bounds.max, contract::half, 2 * d.slopeMax * tf32}),
            std::max({bounds.frobenius, contract::half,
                      2 * d.slopeFrobenius * tf32})};
  }
  return bounds;
}

ErrorRule fastk::worker::errorRuleOf(const Job &job, size_t output,
                                     const ErrorContext &d) {
  ElementType type = job.outputs[output].type;
  Roundoff u = roundoffOf(job, output);
  ErrorRule rule = {};
  // Eight times what one rounding of each operation may do; where operands
  // repeat values, all roundings of a sum may have one sign and its error grows
  // with the number of terms instead of its root.
  rule.ieee = contract::ieeeRoundoffs * u.compute;
  if (d.coherent)
    rule.ieee *= std::max(3.0, u.rootK / 2);
  rule.operands = contract::tf32Operands;
  // Such conditions are for this bound alone.
  if (job.conditionOfTF32) {
    rule.ieee += rule.operands;
    rule.operands = 0;
  }
  rule.half = contract::half;
  // f16 counts down to its last subnormal place, of which half is the rounding;
  // f32, bf16 and f64 may flush to zero what is below their normal numbers.
  rule.tiny = type == ElementType::F16 ? 1.1 * 0x1p-25 : smallestNormal(type);
  rule.largest = largestValue(type);
  rule.nonFinite = int(job.nonFinite);
  static_assert(rowShare == contract::rowShare &&
                rowLength == contract::rowLength);
  rule.rows =
      !d.coherent && scaleRowOf(job.outputs[output]) >= contract::rowLength;
  return rule;
}

Precision fastk::worker::classify(const Shares &shares, const ErrorContext &d) {
  if (shares.mismatches != 0)
    return d.exceedsHalf ? Precision::Half : Precision::None;
  if (d.exact && shares.ieee != 0)
    return Precision::None;
  if (shares.ieee <= 1)
    return Precision::IEEE;
  if (shares.tf32 <= 1)
    return Precision::TF32;
  return shares.half <= 1 || d.rangeOnly ? Precision::Half : Precision::None;
}

Precision fastk::worker::classify(const Job &job, size_t output,
                                  const Measure &m, const ErrorContext &d) {
  if (!isFloat(job.outputs[output].type))
    return m.mismatches == 0 ? Precision::IEEE : Precision::None;
  // No class forgives a NaN within its range.
  if (m.mismatches != 0 || std::isnan(m.max) || std::isnan(m.frobenius))
    return d.exceedsHalf ? Precision::Half : Precision::None;
  for (Precision precision :
       {Precision::IEEE, Precision::TF32, Precision::Half}) {
    if (precision == Precision::Half && d.rangeOnly)
      return Precision::Half;
    Bounds bounds = boundsOf(job, output, precision, d);
    if (m.max <= bounds.max && m.frobenius <= bounds.frobenius)
      return precision;
  }
  return Precision::None;
}
