//===- TargetBudgets.h - The budget of each workload's search ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_TARGETBUDGETS_H
#define FASTK_LIB_DRIVER_TARGETBUDGETS_H

#include "SearchTarget.h"
#include "fastk/Search/BudgetShares.h"
#include "fastk/Search/Search.h"

namespace fastk {

/// Deals the budget of a model out to the searches of its workloads, as
/// BudgetShares does. What finding out where the time goes has cost is not
/// dealt out. Evaluations are given to whom they were spent on: their journals
/// have them.
class TargetBudgets {
public:
  /// A positive weight for each of `targets` that has a turn, in the order of
  /// their turns.
  TargetBudgets(const SearchBudget &total, llvm::ArrayRef<SearchTarget> targets,
                std::vector<double> weights);

  /// The budget of `target`, whose turn it is; nothing when a limit leaves it
  /// none. Of the minutes `leastSeconds` at least, and `laterSeconds` are left
  /// to those after it, as far as these are there.
  std::optional<SearchBudget> next(const SearchTarget &target,
                                   double leastSeconds, double laterSeconds);

  /// True when the minutes are spent.
  bool isOutOfTime() const { return shares.isOutOfTime(); }
  /// One of these after each next() that gave something. An earlier run made
  /// the search: its journal tells what it has spent.
  void spendEarlier(const SearchTarget &target, const SearchBudget &share);
  /// The search ended; `preparation` are the seconds before it began.
  void spend(const SearchTarget &target, const SearchResult &result,
             double preparation);
  /// The search goes on in a later run: until it has ended nobody knows what it
  /// leaves of its share.
  void spendWhole(const SearchBudget &share, double preparation);
  /// Its search comes later in this run: `share` is kept for it.
  void keep(const SearchTarget &target, const SearchBudget &share);
  /// A search for which `kept` was set aside by keep() ended; so many workers
  /// were at its evaluations and those of others.
  void spendKept(const SearchTarget &target, const SearchBudget &kept,
                 const SearchResult &result, unsigned workers);
  /// There was no time left to begin the search.
  void spendPreparation(double seconds) { shares.spend(0, seconds); }

private:
  BudgetShares shares;
};

} // namespace fastk

#endif // FASTK_LIB_DRIVER_TARGETBUDGETS_H
