//===- SearchLimits.h - What the budget leaves ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluations and minutes, and what of both is kept for the second measurement.
// Tokens and money are watched where they are spent: SearchExchanges.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_BUDGET_SEARCHLIMITS_H
#define FASTK_LIB_SEARCH_BUDGET_SEARCHLIMITS_H

#include "State/SearchState.h"
#include <optional>
#include <vector>

namespace fastk {

class SearchLimits {
public:
  explicit SearchLimits(SearchState &search) : search(search) {}

  /// An evaluation, or a promotion, took so long; an earlier run's is no time
  /// of this one.
  void took(bool promote, double seconds, bool isOfThisRun = true);

  /// False stops the search, or its phase.
  bool hasEvaluationsLeft(bool promote);
  /// The same for the minutes, the user's interrupt and the end of a recording,
  /// before the evaluation `name` is made.
  bool mayEvaluate(llvm::StringRef name);

  /// A second measurement that noise spoiled in an earlier run, so that it is
  /// made again: the budget leaves one more.
  void excuse() { ++excused; }

  /// Evaluations that the budget leaves; nothing where it has no limit.
  std::optional<int64_t> evaluationsLeft(bool promote) const;
  /// What of the minutes is spent, and how much there is, in seconds: of this
  /// run by the clock, or of the workers that several searches share.
  double spentSeconds() const;
  double limitSeconds() const;
  /// Of this run's evaluations, as their workers say.
  double workerSeconds() const { return total; }
  /// What the next evaluation takes, by those before; before the first as much
  /// as others said, or 0.
  double expectedSeconds() const;
  /// Evaluations that a second measurement takes.
  double promotionCost() const;
  /// Seconds of the longest one; 0: none was made.
  double longestPromotion() const { return longest; }

private:
  /// What is kept of the minutes for the second measurement.
  double secondsKept() const;

  SearchState &search;
  /// Of evaluations, promotions apart, seconds.
  std::vector<double> durations;
  double longest = 0, total = 0;
  int64_t excused = 0;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_BUDGET_SEARCHLIMITS_H
