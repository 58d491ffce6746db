//===- TargetBudgets.cpp - The budget of each workload's search -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TargetBudgets.h"

using namespace llvm;
using namespace fastk;

/// What is left of `total` after finding out where the time goes.
static SearchBudget withoutProfiles(SearchBudget total,
                                    ArrayRef<SearchTarget> targets) {
  for (const SearchTarget &target : targets) {
    const SearchTarget::ProfileCost &cost = target.profile;
    // Not down to 0, which stands for no limit.
    if (total.evaluations > 0)
      total.evaluations =
          std::max<int64_t>(total.evaluations - cost.evaluations, 1);
    if (total.minutes > 0)
      total.minutes = std::max(
          total.minutes - (cost.seconds + cost.preparation) / 60, 1e-9);
  }
  return total;
}

TargetBudgets::TargetBudgets(const SearchBudget &total,
                             ArrayRef<SearchTarget> targets,
                             std::vector<double> weights)
    : shares(withoutProfiles(total, targets), std::move(weights)) {}

std::optional<SearchBudget> TargetBudgets::next(const SearchTarget &target,
                                                double leastSeconds,
                                                double laterSeconds) {
  std::optional<SearchBudget> share = shares.next(leastSeconds, laterSeconds);
  if (share && share->evaluations)
    share->evaluations += target.profile.evaluations;
  return share;
}

void TargetBudgets::spendEarlier(const SearchTarget &target,
                                 const SearchBudget &share) {
  Journal::Spent spent = Journal::spentIn(target.journal);
  // A search with a larger budget does not count for more than its share.
  if (share.evaluations)
    spent.evaluations = std::min(spent.evaluations, share.evaluations);
  if (share.tokens)
    spent.tokens = std::min(spent.tokens, share.tokens);
  if (share.usd > 0)
    spent.usd = std::min(spent.usd, share.usd);
  // Minutes are those of this run.
  shares.spend(spent.evaluations - target.profile.evaluations, /*seconds=*/0,
               spent.tokens, spent.usd);
}

void TargetBudgets::spend(const SearchTarget &target,
                          const SearchResult &result, double preparation) {
  shares.spend(result.counts.evaluations - target.profile.evaluations,
               preparation + result.runSeconds,
               result.models.inputTokens + result.models.outputTokens,
               result.models.usd);
}

void TargetBudgets::keep(const SearchTarget &target,
                         const SearchBudget &share) {
  shares.spend(share.evaluations - target.profile.evaluations,
               share.minutes * 60, share.tokens, share.usd);
}

void TargetBudgets::spendKept(const SearchTarget &target,
                              const SearchBudget &kept,
                              const SearchResult &result, unsigned workers) {
  shares.spend(target.profile.evaluations - kept.evaluations,
               -kept.minutes * 60, -kept.tokens, -kept.usd);
  shares.spend(result.counts.evaluations - target.profile.evaluations,
               result.workerSeconds / workers,
               result.models.inputTokens + result.models.outputTokens,
               result.models.usd);
}

void TargetBudgets::spendWhole(const SearchBudget &share, double preparation) {
  shares.spend(share.evaluations, preparation, share.tokens, share.usd);
}
