//===- Searcher.cpp - The procedure of a search ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Searcher.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace fastk;

std::string fastk::percent(double ratio) {
  std::string text;
  raw_string_ostream(text) << format("%.1f %%", 100 * ratio);
  return text;
}

Searcher::Searcher(const SearchInput &input, const SearchOptions &options)
    : input(input), options(options),
      strategy(options.strategy->create(options)), times(input.recording),
      exchanges(input, options.budget, times, [this] { return elapsedNow(); }),
      random(options.seed) {
  result.baselineSeconds = input.workload.baselineSeconds;
  result.floorSeconds = input.workload.floorSeconds;
}

Expected<SearchResult> Searcher::run() {
  clockStart = clockNow();
  if (input.journal) {
    journalStart = input.journal->elapsedSeconds();
    size_t events =
        input.earlier ? input.earlier->events : input.journal->resumedEvents();
    if (input.progress && events > 0)
      input.progress->note("resuming: " + std::to_string(events) +
                           (events == 1 ? " event" : " events") +
                           " of an earlier run are kept");
  }
  // Row 0, filled in when the first evaluation has measured it.
  result.trajectory.emplace_back();
  result.trajectory.front().round = "0";
  result.trajectory.front().title = "default lowering";

  if (Error error = recallSeeds())
    return std::move(error);
  if (Error error = recallKnownIdeas())
    return std::move(error);
  // Where answers come later the seeds go with the first round.
  if (!answersLater() || !strategy->seedsGoWithFirstRound())
    if (Error error = trySeeds())
      return std::move(error);
  if (Error error = strategy->run(*this))
    return std::move(error);
  if (!searchOver)
    if (Error error = finalSweep())
      return std::move(error);
  if (!searchOver)
    if (Error error = tryMissed())
      return std::move(error);
  if (!searchOver)
    if (Error error = promote())
      return std::move(error);
  if (input.progress)
    input.progress->ended();
  noteUnjudged();
  if (Error error = recordUnjudged())
    return std::move(error);

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
  result.history = history;
  result.isReplay = times.isReplay();
  result.models = exchanges.costs;
  result.modelFailures = exchanges.failures();
  result.elapsedSeconds = elapsedNow();
  result.runSeconds = runNow();
  result.earlierSeconds = earlierSeconds();
  result.evaluationSeconds = expectedSeconds();
  if (longestPromotion > 0 && result.evaluationSeconds > 0)
    result.promotionCost = longestPromotion / result.evaluationSeconds;
  result.answeredSeconds = times.last();
  return std::move(result);
}

void Searcher::noteUnjudged() {
  // A reply that is no program was not evaluated: it has no verdict.
  SmallVector<const Trial *> evaluated;
  for (const Trial &trial : trials)
    if (trial.tried.verdict)
      evaluated.push_back(&trial);
  if (searchOver || evaluated.empty() ||
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
  // What is pending goes on: failures among the answers are found again then,
  // and counted.
  if (!input.journal || result.end == SearchEnd::Pending)
    return Error::success();
  std::vector<std::string> names = failedSeconds;
  // After an interrupt nobody knows whether a row would have come of them.
  if (result.end == SearchEnd::Unjudged || result.end == SearchEnd::Interrupted)
    append_range(names, failedInARow);
  if (names.empty())
    return Error::success();
  return input.journal->recordUnjudged(names, elapsedNow());
}

void Searcher::stop(SearchEnd end, std::string detail) {
  phaseOver = true;
  if (end == SearchEnd::Interrupted || end == SearchEnd::Unfit ||
      end == SearchEnd::Unjudged || end == SearchEnd::Disagreement ||
      end == SearchEnd::Pending || end == SearchEnd::Unanswered)
    searchOver = true;
  // The first cause stands: what a later phase runs into is its consequence.
  if (phase == Phase::Rounds || searchOver) {
    result.end = end;
    result.detail = std::move(detail);
  }
}

ProposalContext Searcher::context() {
  ProposalContext context = input.workload;
  context.baselineSeconds = result.baselineSeconds;
  context.history = history;
  context.parents = parents;
  context.round = roundNumber;
  context.known = known;
  context.exchanges = &exchanges;
  return context;
}

SearchStanding Searcher::standing(StringRef title) const {
  SearchStanding standing;
  standing.round = round;
  standing.rounds = strategy->roundsAllowed();
  standing.evaluations = result.counts.evaluations;
  standing.evaluationBudget = options.budget.evaluations;
  standing.elapsedSeconds = runNow();
  standing.earlierSeconds = earlierSeconds();
  standing.baselineSeconds = result.baselineSeconds;
  standing.floorSeconds = result.floorSeconds;
  standing.title = title;
  standing.models = &exchanges.costs;
  if (best) {
    standing.bestSeconds = trials[*best].tried.seconds;
    standing.bestSpeedup = trials[*best].speedup;
    standing.bestTitle = trials[*best].idea.title;
  }
  return standing;
}

TrajectoryRow Searcher::rowOf(StringRef name, const Trial &trial) const {
  TrajectoryRow row;
  row.round = name.str();
  row.seconds = trial.tried.seconds;
  row.baselineSeconds = trial.tried.seconds * trial.speedup;
  row.precision = trial.verdict.precision;
  row.ideaId = trial.idea.id;
  row.title = trial.idea.title;
  row.category = stringify(trial.idea.category).str();
  row.parameters = trial.tried.variant.parameters;
  return row;
}
