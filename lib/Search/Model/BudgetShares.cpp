//===- BudgetShares.cpp - One budget for several searches -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/BudgetShares.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace fastk;

std::optional<SearchBudget> BudgetShares::next(double leastSeconds,
                                               double laterSeconds) {
  assert(turn < weights.size() && "more workloads than were told");
  double rest = 0;
  for (size_t i = turn; i < weights.size(); ++i)
    rest += weights[i];
  double part = weights[turn++] / rest;
  // What is counted is rounded up: the remainder goes to the first ones. A part
  // like 1/3 must not be rounded to one more.
  auto count = [&](int64_t of) {
    return std::min(of, static_cast<int64_t>(std::ceil(of * part - 1e-9)));
  };
  // 0 stands for no limit, so a limit of which nothing is left is no share.
  if ((total.evaluations > 0 && left.evaluations <= 0) ||
      (total.minutes > 0 && !(left.minutes > 0)) ||
      (total.tokens > 0 && left.tokens <= 0) ||
      (total.usd > 0 && !(left.usd > 0)))
    return std::nullopt;
  SearchBudget share;
  // A winner takes two: whoever comes later is left that much, where it is
  // there.
  constexpr int64_t enoughToWin = 2;
  auto later = static_cast<int64_t>(weights.size() - turn);
  if (total.evaluations > 0) {
    int64_t least = std::min(enoughToWin, left.evaluations);
    int64_t most = std::max(least, left.evaluations - enoughToWin * later);
    share.evaluations = std::clamp(count(left.evaluations), least, most);
  }
  if (total.minutes > 0) {
    double most = std::min(left.minutes * part,
                           std::max(left.minutes - laterSeconds / 60, 0.0));
    // 0 stands for no limit: who needs nothing to win has its part.
    if (leastSeconds == 0 && most == 0)
      most = left.minutes * part;
    share.minutes = std::min(left.minutes, std::max(most, leastSeconds / 60));
  }
  if (total.tokens > 0)
    share.tokens = std::max<int64_t>(count(left.tokens), 1);
  if (total.usd > 0)
    share.usd = left.usd * part;
  return share;
}

void BudgetShares::spend(int64_t evaluations, double seconds, int64_t tokens,
                         double usd) {
  left.evaluations -= evaluations;
  left.minutes -= seconds / 60;
  left.tokens -= tokens;
  left.usd -= usd;
}
