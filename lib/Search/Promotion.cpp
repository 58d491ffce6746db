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

/// Whether a program has barriers at which threads arrive and wait separately.
/// compute-sanitizer follows them only in part (docs/cuda.md).
static bool hasSplitBarriers(StringRef program) {
  for (StringRef sign : {"mbar", "barArrive", "bar.arrive", "barrier.arrive"})
    if (program.contains(sign))
      return true;
  return false;
}

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
  int attempts = 0, faults = 0;
  // What is wrong with one realisation is often wrong with its relatives: the
  // other ideas come first then, and before them those that do without what a
  // tool could not follow.
  StringSet<> failedIdeas;
  bool avoidsBarriers = false;
  while (!order.empty()) {
    auto isOther = [&](size_t index) {
      return !failedIdeas.contains(trials[index].idea.id);
    };
    auto next = find_if(order, [&](size_t index) {
      return isOther(index) &&
             !(avoidsBarriers &&
               hasSplitBarriers(trials[index].tried.variant.program));
    });
    if (next == order.end())
      next = find_if(order, isOther);
    if (next == order.end())
      next = order.begin();
    const Trial &trial = trials[*next];
    order.erase(next);
    if (trial.speedup <= options.promotionGain)
      continue;
    // The best of many measurements is biased: so few are made again. A fault
    // is no measurement, but each costs as much.
    if (attempts - faults == options.promotions ||
        faults == 2 * options.promotions)
      break;
    ++attempts;
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
    if (second.status != worker::Status::OK) {
      failedIdeas.insert(trial.idea.id);
      ++faults;
      avoidsBarriers |= hasSplitBarriers(trial.tried.variant.program);
    }
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
