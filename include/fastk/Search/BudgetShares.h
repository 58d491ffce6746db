//===- BudgetShares.h - One budget for several searches ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_BUDGETSHARES_H
#define FASTK_SEARCH_BUDGETSHARES_H

#include "fastk/Search/SearchOptions.h"
#include <cstddef>
#include <optional>
#include <vector>

namespace fastk {

/// Deals the budget of a model out to its workloads, which are searched one
/// after the other. Each gets a part of what is left when its turn comes, in
/// proportion to its weight: what those before it did not need (they reached
/// the floor, stagnated, ran out of ideas) is shared by it and those after it.
/// However they end, their sum keeps the hard limits.
///
/// A function of the budget and of what was spent alone, so that a run that was
/// interrupted deals out the same shares again.
class BudgetShares {
public:
  /// Equal weights.
  BudgetShares(const SearchBudget &total, size_t workloads)
      : BudgetShares(total, std::vector<double>(workloads, 1)) {}
  /// A positive weight for each workload, in the order of their turns.
  BudgetShares(const SearchBudget &total, std::vector<double> weights)
      : left(total), total(total), weights(std::move(weights)) {}

  /// The share of the next workload; nothing when a limit leaves it none. Of
  /// the minutes it gets `leastSeconds` at least, where they are there: with
  /// less nothing could win. Those that come later are left `laterSeconds`,
  /// where these are there, for the same reason.
  std::optional<SearchBudget> next(double leastSeconds = 0,
                                   double laterSeconds = 0);
  /// True when no minutes are left of a budget that has some.
  bool isOutOfTime() const { return total.minutes > 0 && !(left.minutes > 0); }
  /// What the workload of the last next() used of its share.
  void spend(int64_t evaluations, double seconds, int64_t tokens = 0,
             double usd = 0);

private:
  SearchBudget left, total;
  std::vector<double> weights;
  /// Whose turn is next.
  size_t turn = 0;
};

} // namespace fastk

#endif // FASTK_SEARCH_BUDGETSHARES_H
