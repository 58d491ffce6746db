//===- Judge.h - How wrong is an output -------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures outputs against the oracle and draws the bounds of the precision
// classes. docs/validation.md gives the reasons for every constant.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_JUDGE_JUDGE_H
#define FASTK_LIB_WORKER_JUDGE_JUDGE_H

#include "ErrorFormulas.h"
#include "fastk/Protocol/Job.h"
#include <functional>
#include <vector>

namespace fastk::worker {

struct Measure {
  /// Largest |y - r| / (|r| + mean |r| of the row).
  double max = 0;
  /// ||y - r|| / ||r|| over the finite elements.
  double frobenius = 0;
  /// Elements that are NaN or infinite in one and not alike in the other;
  /// for integers: elements that differ.
  int64_t mismatches = 0;
  /// Where the first mismatch or the largest error is.
  int64_t where = 0;
  /// How many elements of the reference carry its norm: (sum r^2)^2 / sum r^4.
  double carriers = 1;
};

/// The errors of all elements as shares of their own bounds.
struct Shares {
  /// The largest of a class; that of `ieee` over rows as well.
  double ieee = 0, tf32 = 0, half = 0;
  /// Elements of which nothing can be asked, and those judged.
  int64_t masked = 0, judged = 0;
  int64_t mismatches = 0;
  /// Where the first mismatch or the largest share is.
  int64_t where = 0;
  /// For people, as measure's.
  double max = 0, frobenius = 0;
  /// The largest condition as a multiple of |r|, and of |r| and its row's mean.
  double relativeCondition = 0, rowCondition = 0;
};

/// Sums over finite elements: what frobenius and carriers are made of.
struct ErrorSums {
  double errors = 0;
  double references = 0;
  /// Of r^2 / 2^64 squared, so that no square of FP32 data overflows.
  double referenceFourths = 0;
};

/// Sets frobenius and carriers from the sums over \p elements.
void setMeans(Measure &measure, const ErrorSums &squares, ElementType type,
              int64_t elements);

/// Elements [begin, end) of some output as doubles.
using Reader = std::function<void(int64_t begin, int64_t end, double *out)>;

Reader readerOf(ElementType type, const void *data);

/// Measures \p output, of type \p type, against \p reference of the same shape.
/// Integers are compared bit by bit by compareExact instead.
/// \p from: only of the rows from that element on, which begins one.
Measure measure(const Tensor &tensor, const Reader &output,
                const Reader &reference, int64_t from = 0);

/// The elements that an error is measured against together: the innermost
/// dimension, or as many as make 32.
int64_t scaleRowOf(const Tensor &tensor);

/// Judges \p output against \p reference and the \p condition of its
/// elements; without conditions where \p rule is relative. \p from as
/// measure's.
Shares judgeElements(const Tensor &tensor, const Reader &output,
                     const Reader &reference, const Reader &condition,
                     const ErrorRule &rule, int64_t from = 0);

/// For integer outputs, and for floats where every bit is known.
Measure compareExact(const Tensor &tensor, const void *output,
                     const void *reference);

/// Whether every finite value of \p reference is representable in \p type
/// without overflow.
bool fits(const Tensor &tensor, const Reader &reference);

/// What is known about one trial before the candidate is judged.
struct ErrorContext {
  /// Errors of the trusted kernel.
  Measure baseline;
  /// Change of the oracle's output per unit of relative perturbation of the
  /// inputs; 0 where not measured.
  double slopeMax = 0;
  double slopeFrobenius = 0;
  /// Elements that carry the oracle's norm; few of them average nothing.
  double carriers = 1;
  /// The inputs repeat values: rounding errors of all elements are alike.
  bool coherent = false;
  /// The baseline was right to the last bit on exact data: so must be others.
  bool exact = false;
  /// Tests range: any error is half, but a NaN or infinity that the oracle has
  /// not is an error still.
  bool rangeOnly = false;
  /// There are conditions: the job has a program that computes them.
  bool perElement = false;
  /// Of N(0,1): the conditions of results, for calls that have none.
  double relativeCondition = 0;
  double rowCondition = 0;
  /// Of rangeOnly: the values are beyond FP16, which the job accepts; a NaN
  /// shows a kernel without the range of the other classes.
  bool exceedsHalf = false;
};

struct Bounds {
  double max = 0;
  double frobenius = 0;
};

/// The rule for the elements of output \p output under these \p difficulties.
ErrorRule errorRuleOf(const Job &job, size_t output, const ErrorContext &d);

/// The tightest class whose bounds hold for all elements.
Precision classify(const Shares &shares, const ErrorContext &difficulty);

/// The bounds of a class for output \p output of \p job.
Bounds boundsOf(const Job &job, size_t output, Precision precision,
                const ErrorContext &difficulty);

/// The tightest class whose bounds hold.
Precision classify(const Job &job, size_t output, const Measure &measure,
                   const ErrorContext &difficulty);

/// The looser of two classes.
inline Precision looser(Precision a, Precision b) { return a > b ? a : b; }

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_JUDGE_JUDGE_H
