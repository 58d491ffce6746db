//===- Batches.cpp - Many variants before the first answer ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An evaluator that answers later is asked for a whole round at once, and the
// search ends as pending until all of it is answered. Run again it asks the
// same, for every answer that it acts on is in the journal by then.
//
//===----------------------------------------------------------------------===//

#include "Novelty.h"
#include "Searcher.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;

Error Searcher::askTogether(ArrayRef<Variant> variants) {
  if (!answersLater())
    return Error::success();
  batchIncumbent = best;
  std::optional<Variant> incumbent;
  if (hasBest())
    incumbent = bestTrial().tried.variant;
  StringSet<> asked;
  std::optional<int64_t> left = evaluationsLeft(/*promote=*/false);
  for (const Variant &variant : variants) {
    if (!variant.problem.empty())
      continue;
    std::string digest = digestOf(variant);
    if (left && static_cast<int64_t>(asked.size()) >= *left)
      break;
    if (seen.contains(digest) || novel.contains(noveltyOf(variant)) ||
        !asked.insert(noveltyOf(variant)).second)
      continue;
    std::string name = "evaluate/" + digest;
    if (answers.contains(name))
      continue;
    if (input.journal)
      if (auto recorded = input.journal->findVerdict(name)) {
        times.found(name, recorded->elapsed);
        continue;
      }
    if (!mayEvaluate(name))
      break;
    Expected<std::optional<worker::Verdict>> verdict = obtainVerdict(
        name,
        {input.workload.workload, variant, incumbent ? &*incumbent : nullptr,
         input.workload.acceptedPrecision, /*promote=*/false,
         /*firstOfBatch=*/result.counts.pending == 0, asksModels()});
    if (!verdict)
      return verdict.takeError();
    if (*verdict)
      answers.try_emplace(name, std::move(**verdict));
    else if (searchOver)
      return Error::success();
    else
      ++result.counts.pending;
  }
  if (result.counts.pending == 0)
    return Error::success();
  // The others were answered; it is not their turn yet.
  result.counts.evaluations +=
      static_cast<int>(asked.size()) - result.counts.pending;
  stop(SearchEnd::Pending);
  return Error::success();
}

void Searcher::noteFailuresOf(ArrayRef<Planned> untried) {
  if (result.end != SearchEnd::Unjudged)
    return;
  for (const Planned &each : untried) {
    std::string name = verdictName(each.variant, /*promote=*/false);
    std::optional<worker::Status> status;
    if (auto asked = answers.find(name); asked != answers.end())
      status = asked->second.status;
    else if (input.journal)
      if (auto recorded = input.journal->findVerdict(name))
        status = recorded->value.status;
    if (status == worker::Status::Error)
      failedInARow.push_back(std::move(name));
  }
}

Error Searcher::tryTogether(std::vector<Planned> planned) {
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
      if (searchOver) {
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
      return trials[index].attempt >= options.repairs;
    });
    if (tried.empty() || phaseOver)
      return Error::success();
    Answers<std::vector<Variant>> mended = askRepairs(tried);
    if (!mended)
      return mended.takeError();
    endIfUnanswered();
    if (searchOver)
      return Error::success();
    for (auto [index, variants] : zip_equal(tried, *mended)) {
      if (!variants || variants->empty())
        continue;
      ++result.counts.repairs;
      planned.push_back({trials[index].idea, trials[index].owner,
                         std::move(variants->front()),
                         trials[index].attempt + 1});
    }
  }
  return Error::success();
}
