//===- Batches.cpp - Many variants before the first answer ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Searcher.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;

Error Searcher::askTogether(ArrayRef<Variant> variants) {
  if (search.answersLater())
    batchIncumbent = search.trials.best();
  return verdicts.askTogether(variants, seen);
}

void Searcher::noteFailuresOf(ArrayRef<Planned> untried) {
  if (search.result.end != SearchEnd::Unjudged)
    return;
  for (const Planned &each : untried) {
    std::string name = verdictName(each.variant, /*promote=*/false);
    if (verdicts.statusOf(name) == worker::Status::Error)
      failedInARow.push_back(std::move(name));
  }
}

Expected<bool> Searcher::tryBatch(ArrayRef<AskedIdea> ideas, int count) {
  SearchCourse &course = search.course;
  std::vector<Planned> together;
  if (search.answersLater() && course.round() == 1 &&
      strategy->seedsGoWithFirstRound())
    for (const SearchSeed &seed : seeds)
      together.push_back({seed.idea, /*owner=*/nullptr, seed.variant});
  Answers<std::vector<Variant>> realised = proposals.realise(ideas, count);
  if (!realised)
    return realised.takeError();
  bool wasOver = course.isPhaseOver();
  endIfUnanswered();
  if (course.isSearchOver())
    return false;
  for (auto [each, variants] : zip_equal(ideas, *realised))
    if (variants)
      for (Variant &variant : *variants)
        together.push_back({each.idea, each.owner, std::move(variant)});
  // What was paid for is tried, though the budget has no more answers.
  bool answersSpent = course.isPhaseOver() && !wasOver;
  if (answersSpent)
    course.setPhaseOver(false);
  if (!together.empty() && !course.isPhaseOver())
    if (Error error = tryTogether(std::move(together)))
      return std::move(error);
  if (answersSpent)
    course.setPhaseOver(true);
  return !course.isPending();
}

Error Searcher::tryTogether(std::vector<Planned> planned) {
  const Trials &trials = search.trials;
  while (!planned.empty()) {
    std::vector<Variant> variants;
    for (const Planned &each : planned)
      variants.push_back(each.variant);
    if (Error error = askTogether(variants))
      return error;
    // All were measured, so all count, also those after one that would have
    // ended the round.
    std::vector<size_t> tried;
    for (auto [index, each] : enumerate(planned)) {
      if (search.course.isSearchOver()) {
        noteFailuresOf(ArrayRef(planned).drop_front(index));
        return Error::success();
      }
      Expected<TryOutcome> outcome =
          tryVariant(each.idea, each.owner, each.variant, each.attempt);
      if (!outcome)
        return outcome.takeError();
      if (*outcome == TryOutcome::Stopped)
        return Error::success();
      if (*outcome == TryOutcome::Evaluated)
        tried.push_back(trials.size() - 1);
    }
    planned.clear();
    erase_if(tried, [&](size_t index) {
      return trials[index].attempt >= search.options.repairs;
    });
    if (tried.empty() || search.course.isPhaseOver())
      return Error::success();
    Answers<std::vector<Variant>> mended = proposals.repairs(tried);
    if (!mended)
      return mended.takeError();
    endIfUnanswered();
    if (search.course.isSearchOver())
      return Error::success();
    for (auto [index, variants] : zip_equal(tried, *mended)) {
      if (!variants || variants->empty())
        continue;
      ++search.result.counts.repairs;
      planned.push_back({trials[index].idea, trials[index].owner,
                         std::move(variants->front()),
                         trials[index].attempt + 1});
    }
  }
  return Error::success();
}

Error Searcher::tryMissed() {
  SearchCourse &course = search.course;
  SearchEnd end = search.result.end;
  bool isRegularEnd = end == SearchEnd::Rounds ||
                      end == SearchEnd::Stagnation ||
                      end == SearchEnd::Exhausted;
  // Nothing is paid for that could not be tried.
  if (proposals.missed.empty() || !isRegularEnd || course.isPhaseOver() ||
      limits.evaluationsLeft(/*promote=*/false).value_or(1) == 0 ||
      (!search.times.isReplay() && !limits.mayEvaluate("")))
    return Error::success();
  course.beginRound(strategy->roundsAllowed() + 1);
  Expected<std::vector<Planned>> planned =
      proposals.missed.askAgain(proposals.context(), seen);
  if (!planned)
    return planned.takeError();
  if (proposals.exchanges.interrupted || proposals.exchanges.pending > 0)
    endIfUnanswered();
  if (course.isSearchOver() || planned->empty())
    return Error::success();
  if (Error error = proposals.missed.record(*planned))
    return error;
  search.result.counts.repairs += static_cast<int>(
      count_if(*planned, [](const Planned &each) { return each.attempt > 0; }));
  size_t first = search.trials.size();
  if (Error error = tryTogether(std::move(*planned)))
    return error;
  closeRound(first);
  return Error::success();
}
