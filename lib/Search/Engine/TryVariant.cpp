//===- TryVariant.cpp - One variant is tried ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report/Percent.h"
#include "Searcher.h"
#include <memory>

using namespace llvm;
using namespace fastk;

Searcher::TryOutcome Searcher::recordUnreadable(Trial trial) {
  trial.tried.status = "unreadable";
  trial.tried.reason = trial.tried.variant.problem;
  ++search.result.counts.statuses[trial.tried.status];
  search.trials.add(std::move(trial));
  progress.evaluated(search.trials.last());
  return TryOutcome::Evaluated;
}

/// Fills in what its verdict says.
static void readVerdict(Trial &trial) {
  const worker::Verdict &verdict = trial.verdict;
  const worker::TimingReport &timing = verdict.timing;
  TriedVariant &tried = trial.tried;
  tried.verdict = std::make_shared<worker::Verdict>(verdict);
  tried.status = std::string(worker::toString(verdict.status));
  tried.reason = verdict.reason;
  if (timing.candidate)
    tried.seconds = timing.candidate->medianNs * 1e-9;
  if (timing.baseline)
    tried.baselineSeconds = timing.baseline->medianNs * 1e-9;
  if (verdict.status != worker::Status::OK || !(tried.seconds > 0))
    return;
  // Side by side cancels drift; the quotient of medians is second best.
  trial.speedup = timing.speedupOverBaseline
                      ? timing.speedupOverBaseline->median
                      : tried.baselineSeconds / tried.seconds;
}

void Searcher::chooseBest() {
  Trials &trials = search.trials;
  const Trial &done = trials.last();
  if (!(done.speedup > 0))
    return;
  const auto &duel = done.verdict.timing.speedupOverIncumbent;
  bool better = !trials.hasBest();
  // In a batch all had the incumbent from before it; and one that an earlier
  // run measured had none that a failure kept out of that run.
  bool isDuel = duel && trials.hasBest() &&
                (search.answersLater()
                     ? trials.best() == batchIncumbent
                     : trials.bestTrial().measuredAt <= done.measuredAt);
  if (!better && isDuel)
    better = duel->low > kNoise;
  else if (!better)
    better = done.speedup > trials.bestTrial().speedup * kNoise;
  if (better)
    trials.setBest(trials.size() - 1);
}

void Searcher::endByVerdict() {
  const Trial &done = search.trials.last();
  switch (done.verdict.status) {
  case worker::Status::Unfit:
    search.course.stop(SearchEnd::Unfit, done.tried.reason);
    break;
  case worker::Status::Disagreement:
    search.course.stop(SearchEnd::Disagreement, done.tried.reason);
    break;
  case worker::Status::Error:
    failedInARow.push_back(verdictName(done.tried.variant, /*promote=*/false));
    if (failedInARow.size() == kErrorsInARow)
      search.course.stop(SearchEnd::Unjudged,
                         std::to_string(kErrorsInARow) +
                             " evaluations in a row failed through no fault "
                             "of their variants: " +
                             done.tried.reason);
    break;
  default:
    failedInARow.clear();
  }
  const SearchResult &result = search.result;
  if (!search.trials.hasBest() || !(result.floorSeconds > 0))
    return;
  double best = search.trials.bestTrial().tried.seconds;
  if (result.floorSeconds >= search.options.floorShare * best)
    search.course.stop(SearchEnd::Floor,
                       "the best variant reached " +
                           percent(result.floorSeconds / best) +
                           " of the floor");
}

Expected<Searcher::TryOutcome> Searcher::tryVariant(const Idea &idea,
                                                    Proposer *owner,
                                                    const Variant &variant,
                                                    int attempt) {
  SearchResult &result = search.result;
  ++result.counts.variants;
  if (!seen.insert(variant)) {
    ++result.counts.duplicates;
    return TryOutcome::Duplicate;
  }
  progress.evaluating(idea.title);
  Trial trial;
  trial.idea = idea;
  trial.owner = owner;
  trial.attempt = attempt;
  trial.tried.variant = variant;
  trial.tried.variant.ideaId = idea.id;
  trial.tried.idea = idea;
  trial.tried.round = search.course.round();
  if (!variant.problem.empty())
    return recordUnreadable(std::move(trial));
  Expected<std::optional<worker::Verdict>> verdict =
      verdicts.ask(variant, search.trials.bestVariant(), /*promote=*/false);
  if (!verdict)
    return verdict.takeError();
  if (!*verdict)
    return TryOutcome::Stopped;
  trial.verdict = std::move(**verdict);
  trial.measuredAt = verdicts.lastAt();
  readVerdict(trial);
  if (result.baselineSeconds == 0)
    result.baselineSeconds = trial.tried.baselineSeconds;
  ++result.counts.statuses[trial.tried.status];
  search.trials.add(std::move(trial));
  chooseBest();
  progress.evaluated(search.trials.last());
  endByVerdict();
  return TryOutcome::Evaluated;
}
