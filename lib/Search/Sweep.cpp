//===- Sweep.cpp - Hill-climbing over numeric parameters ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Searcher.h"

using namespace llvm;
using namespace fastk;

static Answers<std::vector<Variant>>
oneAnswer(Expected<std::vector<Variant>> variants) {
  if (!variants)
    return variants.takeError();
  std::vector<std::optional<std::vector<Variant>>> answers;
  answers.emplace_back(std::move(*variants));
  return answers;
}

Error Searcher::sweep(size_t from, int limit) {
  size_t current = from;
  int used = 0;
  while (used < limit && !phaseOver) {
    Proposer *owner = trials[current].owner;
    std::string digest = digestOf(trials[current].tried.variant);
    // Where a full sweep found nothing better, another would ask the same.
    if (!owner || swept.contains(digest))
      return Error::success();
    Variant around = trials[current].tried.variant;
    int count = limit - used;
    // Asked again later, the untried neighbours are others.
    std::string name =
        "neighbours/" + digest + "/" + std::to_string(neighbourAsks[digest]++);
    Answers<std::vector<Variant>> answers = askVariants(
        name, /*wanted=*/0, [&](size_t) { return owner; },
        [&](ArrayRef<size_t>) {
          return oneAnswer(owner->neighbours(context(), around, count));
        });
    if (!answers)
      return answers.takeError();
    std::vector<Variant> variants = std::move(*answers->front());
    if (variants.empty())
      swept.insert(digest);
    if (Error error = askTogether(variants))
      return error;
    if (searchOver)
      return Error::success();
    Idea idea = trials[current].idea;
    bool improved = false;
    for (const Variant &variant : variants) {
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
      if (trials.back().speedup > trials[current].speedup * kNoise) {
        current = trials.size() - 1;
        improved = true;
        // What was asked for together is all there.
        if (!answersLater())
          break;
      }
    }
    if (!improved)
      return Error::success();
  }
  return Error::success();
}

Error Searcher::finalSweep() {
  phase = Phase::Sweep;
  phaseOver = false;
  round = "sweep";
  // The best of each idea: two variants of one idea would climb one hill.
  std::vector<size_t> starts;
  StringSet<> ideas;
  for (size_t index : survivors())
    if (static_cast<int>(starts.size()) < options.parents &&
        ideas.insert(trials[index].idea.id).second)
      starts.push_back(index);
  size_t first = trials.size();
  for (size_t index : starts)
    if (!phaseOver)
      if (Error error = sweep(index, options.finalSweep))
        return error;
  if (trials.size() > first)
    closeRound(first);
  return Error::success();
}
