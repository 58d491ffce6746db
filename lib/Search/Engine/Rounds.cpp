//===- Rounds.cpp - What a strategy does in a round -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report/Percent.h"
#include "Searcher.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;

Error Searcher::trySeeds() {
  search.course.beginRound(1);
  for (const SearchSeed &seed : seeds) {
    if (search.course.isPhaseOver())
      break;
    Expected<TryOutcome> outcome =
        tryVariant(seed.idea, /*owner=*/nullptr, seed.variant);
    if (!outcome)
      return outcome.takeError();
  }
  return Error::success();
}

void Searcher::beginRound(int number) {
  search.course.beginRound(number);
  proposals.exchanges.lastFailure.clear();
  // The winners to begin with are of round 1.
  firstOfRound = number == 1 ? 0 : search.trials.size();
  variantsBefore = search.result.counts.variants;
}

bool Searcher::mayPayForIdeas() {
  return !search.asksModels() || limits.hasEvaluationsLeft(/*promote=*/false);
}

void Searcher::chooseParents(int count) {
  proposals.parents = search.trials.chooseParents(count, random);
}

Expected<std::vector<int>> Searcher::shareIdeas() {
  return proposals.ideasOfProposers();
}

bool Searcher::mayAskMore() const {
  return !search.course.isPhaseOver() && proposals.exchanges.unanswered.empty();
}

Answer<std::vector<AskedIdea>> Searcher::askIdeas(size_t proposer, int count) {
  Proposer *owner = search.input.proposers[proposer];
  std::string name = search.course.label() + "/" + std::to_string(proposer);
  Answer<std::vector<Idea>> ideas = proposals.ideas(*owner, name, count);
  if (!ideas)
    return ideas.takeError();
  if (!*ideas)
    return std::nullopt;
  std::vector<AskedIdea> asked;
  for (auto [number, idea] : enumerate(**ideas))
    asked.push_back({idea, owner, name + "/" + std::to_string(number)});
  return asked;
}

Answer<AskedIdea> Searcher::askIdea(size_t proposer) {
  Proposer *owner = search.input.proposers[proposer];
  std::string name = search.course.label() + "/" + std::to_string(proposer);
  Answer<std::vector<Idea>> ideas = proposals.ideas(*owner, name, /*count=*/1);
  if (!ideas)
    return ideas.takeError();
  if (!*ideas || (*ideas)->empty())
    return std::nullopt;
  return AskedIdea{(*ideas)->front(), owner, name};
}

void Searcher::endIfUnanswered() { proposals.endIfUnanswered(); }

Expected<bool> Searcher::tryIdeas(ArrayRef<AskedIdea> ideas, int count) {
  if (worksInBatches())
    return tryBatch(ideas, count);
  for (const AskedIdea &each : ideas)
    if (!search.course.isPhaseOver())
      if (Error error = tryIdea(each, count))
        return std::move(error);
  return !search.course.isPending();
}

Error Searcher::tryIdea(const AskedIdea &asked, int count) {
  Answers<std::vector<Variant>> variants = proposals.realise(asked, count);
  if (!variants)
    return variants.takeError();
  endIfUnanswered();
  if (search.course.isPhaseOver() || !variants->front())
    return Error::success();
  for (const Variant &variant : *variants->front()) {
    Expected<TryOutcome> outcome = tryVariant(asked.idea, asked.owner, variant);
    if (!outcome)
      return outcome.takeError();
    if (*outcome == TryOutcome::Evaluated && !search.course.isPhaseOver())
      if (Error error =
              repair(asked.idea, asked.owner, search.trials.size() - 1))
        return error;
    if (search.course.isPhaseOver())
      break;
  }
  return Error::success();
}

Error Searcher::repair(const Idea &idea, Proposer *owner, size_t failed) {
  for (int attempt = 1;
       attempt <= search.options.repairs && !search.course.isPhaseOver();
       ++attempt) {
    Answers<std::vector<Variant>> mended = proposals.repairs(failed);
    if (!mended)
      return mended.takeError();
    endIfUnanswered();
    if (!mended->front() || mended->front()->empty())
      return Error::success();
    ++search.result.counts.repairs;
    Expected<TryOutcome> outcome =
        tryVariant(idea, owner, mended->front()->front(), attempt);
    if (!outcome)
      return outcome.takeError();
    if (*outcome != TryOutcome::Evaluated)
      return Error::success();
    failed = search.trials.size() - 1;
  }
  return Error::success();
}

void Searcher::endRound() {
  closeRound(firstOfRound);
  countGain();
  search.course.passRound();
}

void Searcher::closeRound(size_t firstTrial) {
  const std::string &label = search.course.label();
  TrajectoryRow row;
  if (std::optional<size_t> fastest = search.trials.bestSince(firstTrial))
    row = rowOf(label, search.trials[*fastest]);
  row.round = label;
  row.evaluations = static_cast<int>(search.trials.size() - firstTrial);
  // A round that a limit cut off before its first evaluation has no line.
  if (row.evaluations > 0)
    search.result.trajectory.push_back(std::move(row));
  // One of which something is pending has not ended.
  if (!search.course.isPending())
    progress.roundEnded();
}

void Searcher::countGain() {
  // Until something passes there is nothing that could stagnate.
  if (search.course.isPhaseOver() || !search.trials.hasBest())
    return;
  double speedup = search.trials.bestTrial().speedup;
  double gain = search.options.patienceGain;
  if (speedup > bestAtLastGain * (1 + gain)) {
    bestAtLastGain = speedup;
    roundsWithoutGain = 0;
    return;
  }
  int patience = strategy->patience();
  if (++roundsWithoutGain >= patience)
    search.course.stop(SearchEnd::Stagnation, std::to_string(patience) +
                                                  " rounds gained less than " +
                                                  percent(gain));
}

void Searcher::endWithoutIdeas() {
  search.course.stop(SearchEnd::Exhausted,
                     proposals.exhausted("had no further idea"));
  search.course.dropRound();
}

void Searcher::endWithoutPrograms() {
  search.course.stop(
      SearchEnd::Exhausted,
      search.result.counts.variants > variantsBefore
          ? "the proposers only repeated what was tried"
          : proposals.exhausted("had no program for their ideas"));
}
