//===- Searcher.cpp - The procedure of a search ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Searcher.h"
#include "Start/SearchStart.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;

Searcher::Searcher(const SearchInput &input, const SearchOptions &options)
    : search(input, options), strategy(options.strategy->create(options)),
      limits(search), proposals(search), verdicts(search, limits),
      progress(search, proposals.exchanges.costs, strategy->roundsAllowed()),
      promotion(search, limits, verdicts, progress), random(options.seed) {
  verdicts.beforeNew = [this] { return promotion.secureBest(); };
}

Expected<SearchResult> Searcher::run() {
  search.clock.start();
  if (size_t events = search.input.begun ? 0 : search.earlierEvents())
    progress.note("resuming: " + std::to_string(events) +
                  (events == 1 ? " event" : " events") +
                  " of an earlier run are kept");
  // Row 0, filled in when the first evaluation has measured it.
  search.result.trajectory.emplace_back();
  search.result.trajectory.front().round = "0";
  search.result.trajectory.front().title = "default lowering";

  if (Error error = recallStart())
    return std::move(error);
  if (Error error = runPhases())
    return std::move(error);
  progress.ended();
  noteUnjudged();
  if (Error error = recordUnjudged())
    return std::move(error);
  fillResult();
  return std::move(search.result);
}

Error Searcher::recallStart() {
  if (Error error = recallSeeds(search).moveInto(seeds))
    return error;
  return recallKnownIdeas(search).moveInto(proposals.known);
}

Error Searcher::runPhases() {
  // Where answers come later they may go with the first round.
  if (!search.answersLater() || !strategy->seedsGoWithFirstRound())
    if (Error error = trySeeds())
      return error;
  if (Error error = strategy->run(*this))
    return error;
  if (!search.course.isSearchOver())
    if (Error error = finalSweep())
      return error;
  if (!search.course.isSearchOver())
    if (Error error = tryMissed())
      return error;
  if (!search.course.isSearchOver())
    return promotion.run();
  return Error::success();
}

void Searcher::fillResult() {
  SearchResult &result = search.result;
  if (!result.winner && result.noWinnerReason.empty())
    result.noWinnerReason = result.end == SearchEnd::Interrupted
                                ? "the search was interrupted; run it again to "
                                  "go on where it was"
                            : result.end == SearchEnd::Pending
                                ? "answers are pending; run it again when "
                                  "they are there"
                                : result.detail;
  result.trajectory.front().seconds = result.baselineSeconds;
  result.trajectory.front().baselineSeconds = result.baselineSeconds;
  result.trajectory.front().precision = worker::Precision::IEEE;
  result.bankHasWinner = search.input.bankHasWinner;
  result.history = search.trials.history().vec();
  result.isReplay = search.times.isReplay();
  result.models = proposals.exchanges.costs;
  result.modelFailures = proposals.exchanges.failures();
  result.elapsedSeconds = search.clock.elapsed();
  result.runSeconds = search.clock.run();
  result.begun = search.clock.begunAt();
  result.workerSeconds = limits.workerSeconds();
  result.earlierSeconds = search.clock.earlier();
  result.evaluationSeconds = limits.expectedSeconds();
  if (limits.longestPromotion() > 0 && result.evaluationSeconds > 0)
    result.promotionCost = limits.longestPromotion() / result.evaluationSeconds;
  result.answeredSeconds = search.times.last();
}

void Searcher::noteUnjudged() {
  SearchResult &result = search.result;
  // A reply that is no program was not evaluated: it has no verdict.
  SmallVector<const Trial *> evaluated;
  for (const Trial &trial : search.trials.all())
    if (trial.tried.verdict)
      evaluated.push_back(&trial);
  if (search.course.isSearchOver() || evaluated.empty() ||
      !all_of(evaluated, [](const Trial *trial) {
        return trial->verdict.status == worker::Status::Error;
      }))
    return;
  size_t count = evaluated.size();
  result.end = SearchEnd::Unjudged;
  result.detail =
      (count == 1 ? "its only evaluation"
                  : "all " + std::to_string(count) + " evaluations") +
      " failed through no fault of the variant: " +
      evaluated.back()->tried.reason;
  result.noWinnerReason = result.detail;
}

Error Searcher::recordUnjudged() {
  SearchEnd end = search.result.end;
  // What is pending goes on: failures among the answers are found again then,
  // and counted.
  if (!search.input.journal || end == SearchEnd::Pending)
    return Error::success();
  std::vector<std::string> names = verdicts.failedPromotions();
  // After an interrupt nobody knows whether a row would have come of them.
  if (end == SearchEnd::Unjudged || end == SearchEnd::Interrupted)
    append_range(names, failedInARow);
  if (names.empty())
    return Error::success();
  return search.input.journal->recordUnjudged(names, search.clock.elapsed());
}
