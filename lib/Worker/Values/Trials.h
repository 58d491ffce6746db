//===- Trials.h - Which inputs a program is judged on -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The distributions that fit a kind of op, and the trials of a job.
// docs/validation.md says what each one is there to catch.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_VALUES_TRIALS_H
#define FASTK_LIB_WORKER_VALUES_TRIALS_H

#include "ValueFormulas.h"
#include "fastk/Protocol/Job.h"
#include <string_view>
#include <vector>

namespace fastk::worker {

/// The last one: tests go through all.
inline constexpr Distribution lastLaw = Distribution::EmptyRows;

std::string_view toString(Distribution law);

/// One trial.
struct Trial {
  Distribution law = Distribution::Normal;
  /// Of laws that take turns, also which operand's turn it is.
  int64_t trial = 0;
  uint64_t seed = 0;
  /// Multiplies real operands; smaller where the op would overflow its type.
  double scale = 1;
};

/// The trials of a job, N(0,1) first: most wrong candidates end there.
struct Trials {
  std::vector<Trial> cases;
  /// The first so many are always run. The others are a reserve of mode
  /// evaluate on very large tensors: they stand in for distributions that are
  /// not legal, and run while a worthless result has passed all others.
  size_t required = 0;
};

/// Beyond this many elements of all tensors, evaluate draws N(0,1) once, and so
/// many other distributions at most.
inline constexpr int64_t largeElements = int64_t(1) << 20;
inline constexpr size_t largeLaws = 12;
/// Beyond this many, evaluate draws a secret subset of the distributions.
inline constexpr int64_t veryLargeElements = int64_t(1) << 22;
/// Distributions in the subset besides N(0,1): those that are always drawn,
/// such as the harshest for the kind of op, and others by the seed. Products
/// have one more, that of few terms.
inline constexpr size_t subsetLaws = 3;

/// Whether elements that a NaN or an infinity reaches are judged by a rule of
/// the op. Where they are not, products have no trial Nonfinite, for a masked
/// term may hide a NaN or not, and in that of other sums there is only NaN, for
/// a split or compensated sum makes NaN of an infinity.
bool judgesNonFinite(const Job &job);

Trials drawTrials(const Job &job, uint64_t seed);

/// Whether operands are multiplied with each other and summed up.
bool isProduct(Kind kind);
/// Operands that the laws of single values take by turns: floats that are data
/// or weights.
std::vector<size_t> turnsOf(const Job &job);
/// Whether all results are integers, so that integer operands of any size give
/// exact ones.
bool hasIntegerResults(const Job &job);

/// Exact arithmetic: every partial sum is a small integer.
bool isExact(Distribution law, Kind kind);
/// Tests range rather than precision; the half class need not hold on it.
bool testsRange(Distribution law);
/// Draws values that FP16 operands, which the job accepts, cannot hold.
bool exceedsHalf(const Job &job, Distribution law);
/// Sits exactly on discontinuities, where the response to a perturbation of
/// the inputs says nothing about rounding.
bool sitsOnBreakpoints(Distribution law);
/// Repeats values, so that rounding errors do not average out.
bool isCoherent(Distribution law);
/// The trials that must be legal for every op.
bool isCore(Distribution law);
/// Few terms of a sum are not 0, however long it is: what rounding operands
/// costs is seen.
bool hasFewTerms(Distribution law);
/// Puts single values into one operand at a time.
bool takesTurns(Distribution law);
/// Exact results may be infinite, NaN or beyond their type: the law is there
/// for them and for the elements beside them.
bool drawsNonfinite(Distribution law);
/// Draws numbers below the smallest normal one, which programs may flush to 0
/// unless their type is f16.
bool drawsDenormals(Distribution law);
/// Whether Trial::scale changes the values. Where it does not, a smaller one
/// makes no trial legal.
bool respondsToScale(Distribution law);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_VALUES_TRIALS_H
