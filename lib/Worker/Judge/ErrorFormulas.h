//===- ErrorFormulas.h - Is one element right -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/validation.md asks of an element, given its condition. Compiled by
// the host and, as text behind ValueFormulas.h, by NVRTC.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_JUDGE_ERRORFORMULAS_H
#define FASTK_LIB_WORKER_JUDGE_ERRORFORMULAS_H

#ifndef __CUDACC_RTC__
#include "Values/ValueFormulas.h"
#endif

namespace fastk::worker {

/// The bounds of all classes for the elements of one result. Plain data: it is
/// an argument of kernels as it is.
struct ErrorRule {
  /// Times the condition: the bound of `ieee`, 8 u or more.
  double ieee;
  /// What `tf32` adds to it: 2^-11.
  double operands;
  /// Errors up to it are none.
  double tiny;
  /// Of the result's type.
  double largest;
  /// Of an element's magnitude and its row's mean: the bound of `half`.
  double half;
  /// As Job's NonFinite: 0 exact, 1 any, 2 free.
  int nonFinite;
  /// Without conditions: 1, an element's magnitude is its condition; 2, with
  /// the mean of its row. 0: there are conditions.
  int relative;
  /// Whether rows are bounded, too (rowShareOf): not where all roundings of a
  /// row may be alike.
  int rows;
};

enum class Judged {
  Finite,   ///< Has errors.
  Equal,    ///< Not finite, and as it should be.
  Masked,   ///< Nothing can be asked of it.
  Mismatch, ///< NaN or infinite and should not be, or the other way round.
};

/// The error of one element and its bounds.
struct ElementError {
  Judged judged;
  /// 0 where it is none.
  double error;
  /// Of `ieee`, but for what is no error.
  double bound;
  /// Of the classes.
  double ieee, tf32, half;
};

FASTK_FORMULA bool isFinite(double x) { return fabs(x) < infinityValue(); }

/// Raises a share to that of one more error. Few set a new maximum: the others
/// need no division.
FASTK_FORMULA void raiseShare(double &share, double error, double bound) {
  if (error > share * bound)
    share = bound > 0 ? error / bound : infinityValue();
}

/// \p y of a kernel, \p r exact, \p condition of r, \p mean of the magnitudes
/// in r's row.
FASTK_FORMULA ElementError judgeElement(const ErrorRule &rule, double y,
                                        double r, double condition,
                                        double mean) {
  ElementError result = {Judged::Equal, 0, 0, 0, 0, 0};
  if (!isFinite(r)) {
    if ((isNaN(r) && isNaN(y)) || y == r)
      return result;
    result.judged = rule.nonFinite == 2                   ? Judged::Masked
                    : rule.nonFinite == 1 && !isFinite(y) ? Judged::Equal
                                                          : Judged::Mismatch;
    return result;
  }
  double size = fabs(r);
  if (rule.relative)
    condition = rule.relative == 2 ? size + mean : size;
  if (!isFinite(condition)) {
    result.judged = Judged::Masked;
    return result;
  }
  double bound = rule.ieee * condition;
  double loose = bound + rule.operands * condition;
  double half = rule.half * (size + mean);
  half = half > loose ? half : loose;
  double error = fabs(y - r);
  if (!isFinite(y)) {
    // What was rounded to infinity lay beyond the type, on that side, perhaps
    // far from what is exact: sums cancel.
    double least = y > 0 ? rule.largest - r : rule.largest + r;
    bool mayOverflow = isInfinite(y) && least < half;
    if (!mayOverflow || least < bound) {
      result.judged = mayOverflow ? Judged::Masked : Judged::Mismatch;
      return result;
    }
    error = least;
  }
  result.judged = Judged::Finite;
  result.error = error > rule.tiny ? error : 0;
  result.bound = bound;
  result.ieee = bound + rule.tiny;
  result.tf32 = loose + rule.tiny;
  result.half = half + rule.tiny;
  return result;
}

/// Of its bounds, what the errors of a row may be together, and of how many
/// elements. Contract.h has them for the host.
constexpr double rowShare = 0.7;
constexpr int rowLength = 32;

/// The errors of a row as a share of what they may be together: 0.7 of its
/// bounds, in the root mean square, where many elements carry these. Of one
/// rounding to the result's type it is at most 0.53, of many far less. Sums of
/// squares, and of \p fourths powers of the bounds.
FASTK_FORMULA double rowShareOf(double errors, double bounds, double fourths) {
  bool many = bounds * bounds >= rowLength * fourths;
  return errors > 0 && many ? sqrt(errors / bounds) / rowShare : 0;
}

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_JUDGE_ERRORFORMULAS_H
