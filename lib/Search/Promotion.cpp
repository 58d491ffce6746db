//===- Promotion.cpp - The second measurement of a would-be winner --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PromotionRules.h"
#include "Searcher.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llvm;
using namespace fastk;

Error Searcher::promote() {
  phase = Phase::Promotion;
  phaseOver = false;
  round = "second measurement";
  std::vector<size_t> order = survivors();
  if (order.empty()) {
    std::string counts;
    for (auto &[status, count] : result.counts.statuses)
      counts +=
          (counts.empty() ? "" : ", ") + std::to_string(count) + " " + status;
    result.noWinnerReason = counts.empty() ? "nothing was evaluated"
                                           : "no variant passed: " + counts;
    return Error::success();
  }
  // The one that won its duels goes first, whatever noise says of the others.
  auto at = find(order, *best);
  std::rotate(order.begin(), at, std::next(at));
  int attempts = 0;
  // What is wrong with one realisation is often wrong with its relatives: the
  // other ideas come first then.
  StringSet<> failedIdeas;
  while (!order.empty()) {
    auto next = find_if(order, [&](size_t index) {
      return !failedIdeas.contains(trials[index].idea.id);
    });
    if (next == order.end())
      next = order.begin();
    const Trial &trial = trials[*next];
    order.erase(next);
    if (trial.speedup <= options.promotionGain)
      continue;
    if (attempts++ == options.promotions)
      break;
    if (input.progress)
      input.progress->evaluating(standing(trial.idea.title));
    Expected<std::optional<worker::Verdict>> verdict =
        askVerdict(trial.tried.variant, /*incumbent=*/nullptr,
                   /*promote=*/true);
    if (!verdict)
      return verdict.takeError();
    if (!*verdict) {
      if (result.noWinnerReason.empty() && !searchOver)
        result.noWinnerReason = "the budget ran out before '" +
                                trial.idea.title +
                                "' could be measured a second time";
      return Error::success();
    }
    ++result.counts.promotions;
    const worker::Verdict &second = **verdict;
    std::string problem = promotionProblem(
        second, input.workload.acceptedPrecision, options.promotionGain);
    if (problem.empty()) {
      result.winner = FoundWinner{trial.idea, trial.tried.variant, second,
                                  *precisionOf(second.precision)};
      result.noWinnerReason.clear();
      TrajectoryRow row = rowOf("promoted", trial);
      row.seconds = second.timing.candidate->medianNs * 1e-9;
      row.precision = second.precision;
      row.baselineSeconds =
          second.timing.baseline
              ? second.timing.baseline->medianNs * 1e-9
              : row.seconds * second.timing.speedupOverBaseline->median;
      row.evaluations = attempts;
      result.trajectory.push_back(std::move(row));
      return Error::success();
    }
    if (second.status != worker::Status::OK)
      failedIdeas.insert(trial.idea.id);
    result.noWinnerReason += (result.noWinnerReason.empty() ? "" : "; ") +
                             ("'" + trial.idea.title) +
                             "' failed its second measurement: " + problem;
  }
  if (attempts == 0)
    result.noWinnerReason = "the best variant reached " +
                            percent(bestTrial().speedup) +
                            " of its speed, and more than " +
                            percent(options.promotionGain) + " is needed";
  return Error::success();
}
