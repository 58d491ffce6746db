//===- Sweep.cpp - Hill-climbing over numeric parameters ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Searcher.h"

using namespace llvm;
using namespace fastk;

Error Searcher::sweep(size_t from, int limit) {
  const Trials &trials = search.trials;
  size_t current = from;
  int used = 0;
  while (used < limit && !search.course.isPhaseOver()) {
    Proposer *owner = trials[current].owner;
    std::string digest = digestOf(trials[current].tried.variant);
    // Where a full sweep found nothing better, another would ask the same.
    if (!owner || swept.contains(digest))
      return Error::success();
    // Asked again later, the untried neighbours are others.
    std::string name =
        "neighbours/" + digest + "/" + std::to_string(neighbourAsks[digest]++);
    Expected<std::vector<Variant>> variants = proposals.neighbours(
        name, *owner, trials[current].tried.variant, limit - used);
    if (!variants)
      return variants.takeError();
    if (variants->empty())
      swept.insert(digest);
    if (Error error = askTogether(*variants))
      return error;
    if (search.course.isSearchOver())
      return Error::success();
    Idea idea = trials[current].idea;
    bool improved = false;
    for (const Variant &variant : *variants) {
      if (used >= limit)
        break;
      Expected<TryOutcome> outcome = tryVariant(idea, owner, variant);
      if (!outcome)
        return outcome.takeError();
      if (*outcome == TryOutcome::Stopped)
        return Error::success();
      if (*outcome == TryOutcome::Duplicate)
        continue;
      ++used;
      if (trials.last().speedup > trials[current].speedup * kNoise) {
        current = trials.size() - 1;
        improved = true;
        // What was asked for together is all there.
        if (!search.answersLater())
          break;
      }
    }
    if (!improved)
      return Error::success();
  }
  return Error::success();
}

Error Searcher::finalSweep() {
  search.course.beginPhase(SearchPhase::Sweep, "sweep");
  const Trials &trials = search.trials;
  // The best of each idea: two variants of one idea would climb one hill.
  std::vector<size_t> starts;
  StringSet<> ideas;
  for (size_t index : trials.survivors())
    if (static_cast<int>(starts.size()) < search.options.parents &&
        ideas.insert(trials[index].idea.id).second)
      starts.push_back(index);
  size_t first = trials.size();
  for (size_t index : starts)
    if (!search.course.isPhaseOver())
      if (Error error = sweep(index, search.options.finalSweep))
        return error;
  if (trials.size() > first)
    closeRound(first);
  return Error::success();
}
