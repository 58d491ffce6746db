//===- Promotion.cpp - The second measurement of a would-be winner --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Searcher.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llvm;
using namespace fastk;

static std::optional<Precision> precisionOf(worker::Precision precision) {
  switch (precision) {
  case worker::Precision::IEEE:
    return Precision::ieee;
  case worker::Precision::TF32:
    return Precision::tf32;
  case worker::Precision::Half:
    return Precision::half;
  case worker::Precision::None:
    return std::nullopt;
  }
  llvm_unreachable("all precisions are named above");
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
    std::optional<Precision> precision = precisionOf(second.precision);
    const auto &ratio = second.timing.speedupOverBaseline;
    std::string problem;
    if (second.status != worker::Status::OK)
      problem =
          std::string(worker::toString(second.status)) + ": " + second.reason;
    else if (!precision || *precision > input.workload.acceptedPrecision)
      problem = "its precision did not hold on fresh data";
    else if (!ratio || !second.timing.candidate)
      problem = "it came back without times";
    else if (const auto &control = second.timing.aaRatio;
             control && (control->low > 1.02 || control->high < 0.98))
      problem = "the baseline timed against itself gave " +
                percent(control->median) +
                ": the machine was too noisy for this measurement to count";
    else if (ratio->low <= options.promotionGain)
      problem = "at least " + percent(ratio->low) +
                " of the default lowering's speed is sure, and " +
                percent(options.promotionGain) + " is needed";
    if (problem.empty()) {
      result.winner =
          FoundWinner{trial.idea, trial.tried.variant, second, *precision};
      result.noWinnerReason.clear();
      TrajectoryRow row = rowOf("promoted", trial);
      row.seconds = second.timing.candidate->medianNs * 1e-9;
      row.precision = second.precision;
      row.baselineSeconds = second.timing.baseline
                                ? second.timing.baseline->medianNs * 1e-9
                                : row.seconds * ratio->median;
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
