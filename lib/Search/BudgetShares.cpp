//===- BudgetShares.cpp - One budget for several searches -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/BudgetShares.h"
#include <cassert>

using namespace fastk;

std::optional<SearchBudget> BudgetShares::next() {
  assert(workloads > 0 && "more workloads than were told");
  auto sharers = static_cast<int64_t>(workloads--);
  // 0 stands for no limit, so a limit of which nothing is left is no share.
  if ((total.evaluations > 0 && left.evaluations <= 0) ||
      (total.minutes > 0 && !(left.minutes > 0)) ||
      (total.tokens > 0 && left.tokens <= 0) ||
      (total.usd > 0 && !(left.usd > 0)))
    return std::nullopt;
  SearchBudget share;
  // Rounded up: the remainder goes to the first ones.
  if (total.evaluations > 0)
    share.evaluations = (left.evaluations + sharers - 1) / sharers;
  if (total.minutes > 0)
    share.minutes = left.minutes / static_cast<double>(sharers);
  if (total.tokens > 0)
    share.tokens = (left.tokens + sharers - 1) / sharers;
  if (total.usd > 0)
    share.usd = left.usd / static_cast<double>(sharers);
  return share;
}

void BudgetShares::spend(int64_t evaluations, double seconds, int64_t tokens,
                         double usd) {
  left.evaluations -= evaluations;
  left.minutes -= seconds / 60;
  left.tokens -= tokens;
  left.usd -= usd;
}
