//===- Trial.cpp - One variant is tried -----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Novelty.h"
#include "Searcher.h"
#include <memory>

using namespace llvm;
using namespace fastk;

Searcher::TryOutcome Searcher::recordUnreadable(Trial trial) {
  trial.tried.status = "unreadable";
  trial.tried.reason = trial.tried.variant.problem;
  ++result.counts.statuses[trial.tried.status];
  history.push_back(trial.tried);
  trials.push_back(std::move(trial));
  if (input.progress)
    input.progress->evaluated(standing(trials.back().idea.title),
                              trials.back().tried.status,
                              trials.back().tried.reason);
  return TryOutcome::Evaluated;
}

Expected<Searcher::TryOutcome> Searcher::tryVariant(const Idea &idea,
                                                    Proposer *owner,
                                                    const Variant &variant,
                                                    int attempt) {
  ++result.counts.variants;
  bool isNew = seen.insert(digestOf(variant)).second;
  isNew &= novel.insert(noveltyOf(variant)).second;
  if (!isNew) {
    ++result.counts.duplicates;
    return TryOutcome::Duplicate;
  }
  if (input.progress)
    input.progress->evaluating(standing(idea.title));
  Trial trial;
  trial.idea = idea;
  trial.owner = owner;
  trial.attempt = attempt;
  trial.tried.variant = variant;
  trial.tried.variant.ideaId = idea.id;
  trial.tried.idea = idea;
  trial.tried.round = roundNumber;
  if (!variant.problem.empty())
    return recordUnreadable(std::move(trial));
  Expected<std::optional<worker::Verdict>> verdict =
      askVerdict(variant, hasBest() ? &bestTrial().tried.variant : nullptr,
                 /*promote=*/false);
  if (!verdict)
    return verdict.takeError();
  if (!*verdict)
    return TryOutcome::Stopped;

  trial.verdict = std::move(**verdict);
  trial.measuredAt = verdictAt;
  trial.tried.verdict = std::make_shared<worker::Verdict>(trial.verdict);
  const worker::TimingReport &timing = trial.verdict.timing;
  trial.tried.status = std::string(worker::toString(trial.verdict.status));
  trial.tried.reason = trial.verdict.reason;
  if (timing.candidate)
    trial.tried.seconds = timing.candidate->medianNs * 1e-9;
  if (timing.baseline)
    trial.tried.baselineSeconds = timing.baseline->medianNs * 1e-9;
  if (result.baselineSeconds == 0)
    result.baselineSeconds = trial.tried.baselineSeconds;
  if (trial.verdict.status == worker::Status::OK && trial.tried.seconds > 0) {
    // Side by side cancels drift; the quotient of medians is second best.
    if (timing.speedupOverBaseline)
      trial.speedup = timing.speedupOverBaseline->median;
    else
      trial.speedup = trial.tried.baselineSeconds / trial.tried.seconds;
  }
  ++result.counts.statuses[trial.tried.status];
  history.push_back(trial.tried);
  trials.push_back(std::move(trial));
  const Trial &done = trials.back();

  if (done.speedup > 0) {
    bool better = !hasBest();
    // In a batch all had the incumbent from before it; and one that an earlier
    // run measured had none that a failure kept out of that run.
    bool isDuel = timing.speedupOverIncumbent && hasBest() &&
                  (answersLater() ? best == batchIncumbent
                                  : bestTrial().measuredAt <= done.measuredAt);
    if (!better && isDuel)
      better = timing.speedupOverIncumbent->low > kNoise;
    else if (!better)
      better = done.speedup > bestTrial().speedup * kNoise;
    if (better)
      best = trials.size() - 1;
  }
  if (input.progress)
    input.progress->evaluated(standing(idea.title), done.tried.status,
                              done.tried.reason);

  if (done.verdict.status == worker::Status::Unfit) {
    stop(SearchEnd::Unfit, done.tried.reason);
  } else if (done.verdict.status == worker::Status::Disagreement) {
    stop(SearchEnd::Disagreement, done.tried.reason);
  } else if (done.verdict.status == worker::Status::Error) {
    failedInARow.push_back(verdictName(variant, /*promote=*/false));
    if (failedInARow.size() == kErrorsInARow)
      stop(SearchEnd::Unjudged, std::to_string(kErrorsInARow) +
                                    " evaluations in a row failed through no "
                                    "fault of their variants: " +
                                    done.tried.reason);
  } else {
    failedInARow.clear();
  }
  if (hasBest() && result.floorSeconds > 0 &&
      result.floorSeconds >= options.floorShare * bestTrial().tried.seconds)
    stop(SearchEnd::Floor,
         "the best variant reached " +
             percent(result.floorSeconds / bestTrial().tried.seconds) +
             " of the floor");
  return TryOutcome::Evaluated;
}
