//===- Rounds.cpp - What a strategy does in a round -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IdeaShares.h"
#include "Searcher.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace fastk;

Error Searcher::trySeeds() {
  round = "1";
  roundNumber = 1;
  for (const SearchSeed &seed : seeds) {
    if (phaseOver)
      break;
    Expected<TryOutcome> outcome =
        tryVariant(seed.idea, /*owner=*/nullptr, seed.variant);
    if (!outcome)
      return outcome.takeError();
  }
  return Error::success();
}

std::string Searcher::exhausted(StringRef what) const {
  std::string text = ("the proposers " + what).str();
  if (!exchanges.lastFailure.empty())
    text += "; " + exchanges.lastFailure;
  return text;
}

void Searcher::beginRound(int number) {
  roundNumber = number;
  round = std::to_string(number);
  exchanges.lastFailure.clear();
  // The winners to begin with are of round 1.
  firstOfRound = number == 1 ? 0 : trials.size();
  variantsBefore = result.counts.variants;
}

bool Searcher::mayPayForIdeas() {
  return !asksModels() || hasEvaluationsLeft(/*promote=*/false);
}

Answer<std::vector<AskedIdea>> Searcher::askIdeas(size_t proposer, int count) {
  Proposer *owner = input.proposers[proposer];
  std::string name = round + "/" + std::to_string(proposer);
  Answer<std::vector<Idea>> ideas = obtainIdeas(*owner, name, count);
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
  Proposer *owner = input.proposers[proposer];
  std::string name = round + "/" + std::to_string(proposer);
  Answer<std::vector<Idea>> ideas = obtainIdeas(*owner, name, /*count=*/1);
  if (!ideas)
    return ideas.takeError();
  if (!*ideas || (*ideas)->empty())
    return std::nullopt;
  return AskedIdea{(*ideas)->front(), owner, name};
}

Expected<bool> Searcher::tryBatch(ArrayRef<AskedIdea> ideas, int count) {
  std::vector<Planned> together;
  if (answersLater() && roundNumber == 1 && strategy->seedsGoWithFirstRound())
    for (const SearchSeed &seed : seeds)
      together.push_back({seed.idea, /*owner=*/nullptr, seed.variant});
  Answers<std::vector<Variant>> realised = realise(ideas, count);
  if (!realised)
    return realised.takeError();
  bool wasOver = phaseOver;
  endIfUnanswered();
  if (searchOver)
    return false;
  for (auto [each, variants] : zip_equal(ideas, *realised))
    if (variants)
      for (Variant &variant : *variants)
        together.push_back({each.idea, each.owner, std::move(variant)});
  // What was paid for is tried, though the budget has no more answers.
  bool answersSpent = phaseOver && !wasOver;
  if (answersSpent)
    phaseOver = false;
  if (!together.empty() && !phaseOver)
    if (Error error = tryTogether(std::move(together)))
      return std::move(error);
  phaseOver |= answersSpent;
  return !searchOver || result.end != SearchEnd::Pending;
}

Expected<bool> Searcher::tryIdeas(ArrayRef<AskedIdea> ideas, int count) {
  if (worksInBatches())
    return tryBatch(ideas, count);
  for (const AskedIdea &each : ideas)
    if (!phaseOver)
      if (Error error = tryIdea(each, count))
        return std::move(error);
  return !searchOver || result.end != SearchEnd::Pending;
}

void Searcher::endWithoutIdeas() {
  stop(SearchEnd::Exhausted, exhausted("had no further idea"));
  --roundNumber;
}

void Searcher::endWithoutPrograms() {
  stop(SearchEnd::Exhausted, result.counts.variants > variantsBefore
                                 ? "the proposers only repeated what was tried"
                                 : exhausted("had no program for their ideas"));
}

Expected<std::vector<int>> Searcher::shareIdeas() {
  std::vector<int> counts(input.proposers.size(), options.ideas);
  std::vector<size_t> models;
  for (auto [index, proposer] : enumerate(input.proposers))
    if (proposer->prefersBatching())
      models.push_back(index);
  if (models.size() < 2)
    return counts;
  std::vector<ProposerYield> yields;
  bool arePriced = exchanges.costs.unpriced == 0;
  for (size_t index : models) {
    Proposer *proposer = input.proposers[index];
    ProposerYield yield;
    ModelCosts costs = exchanges.costsOf(proposer->name());
    yield.cost =
        arePriced ? costs.usd : double(costs.inputTokens + costs.outputTokens);
    // The best of each idea against the best from before its round.
    std::map<std::string, std::pair<int, double>> bestOfIdea;
    std::map<int, double> bestBefore;
    double bestSoFar = 1;
    for (const Trial &trial : trials) {
      bestBefore.try_emplace(trial.tried.round, bestSoFar);
      bestSoFar = std::max(bestSoFar, trial.speedup);
      if (trial.owner != proposer)
        continue;
      auto &[round, best] = bestOfIdea[trial.idea.id];
      round = trial.tried.round;
      best = std::max(best, trial.speedup);
    }
    for (const auto &[id, idea] : bestOfIdea) {
      ++yield.ideas;
      if (idea.second > bestBefore[idea.first])
        yield.gain += std::log2(idea.second / bestBefore[idea.first]);
    }
    yields.push_back(yield);
  }
  std::vector<int> shares = fastk::shareIdeas(
      yields, options.ideas * static_cast<int>(models.size()));
  for (auto [index, share] : zip_equal(models, shares))
    counts[index] = share;
  // When the search is resumed amid this round its costs are known already.
  if (input.journal)
    if (Error error = input.journal->recallCounts(round, counts, elapsedNow()))
      return std::move(error);
  return counts;
}

Answers<std::vector<Variant>> Searcher::realise(ArrayRef<AskedIdea> asked,
                                                int count) {
  result.counts.ideas += static_cast<int>(asked.size());
  std::vector<std::string> names;
  for (const AskedIdea &each : asked)
    names.push_back("realise/" + each.name);
  auto ownerOf = [&](size_t index) { return asked[index].owner; };
  Answers<std::vector<Variant>> answers =
      askVariants(names, count, ownerOf, [&](ArrayRef<size_t> missing) {
        return askEachOwner(missing, ownerOf,
                            [&](Proposer &owner, ArrayRef<size_t> indices) {
                              std::vector<Idea> ideas;
                              for (size_t index : indices)
                                ideas.push_back(asked[index].idea);
                              return owner.realise(context(), ideas, count);
                            });
      });
  if (answers)
    for (auto [each, variants] : zip_equal(asked, *answers)) {
      if (variants && static_cast<int>(variants->size()) > count)
        variants->resize(count);
      else if (variants && static_cast<int>(variants->size()) < count)
        noteMissed({each.owner, {each.idea}, count});
    }
  return answers;
}

Error Searcher::tryIdea(const AskedIdea &asked, int count) {
  Answers<std::vector<Variant>> variants = realise(asked, count);
  if (!variants)
    return variants.takeError();
  endIfUnanswered();
  if (phaseOver || !variants->front())
    return Error::success();
  for (const Variant &variant : *variants->front()) {
    Expected<TryOutcome> outcome = tryVariant(asked.idea, asked.owner, variant);
    if (!outcome)
      return outcome.takeError();
    if (*outcome == TryOutcome::Evaluated && !phaseOver)
      if (Error error = repair(asked.idea, asked.owner, trials.size() - 1))
        return error;
    if (phaseOver)
      break;
  }
  return Error::success();
}

Error Searcher::repair(const Idea &idea, Proposer *owner, size_t failed) {
  for (int attempt = 1; attempt <= options.repairs && !phaseOver; ++attempt) {
    Answers<std::vector<Variant>> mended = askRepairs(failed);
    if (!mended)
      return mended.takeError();
    endIfUnanswered();
    if (!mended->front() || mended->front()->empty())
      return Error::success();
    ++result.counts.repairs;
    Expected<TryOutcome> outcome =
        tryVariant(idea, owner, mended->front()->front(), attempt);
    if (!outcome)
      return outcome.takeError();
    if (*outcome != TryOutcome::Evaluated)
      return Error::success();
    failed = trials.size() - 1;
  }
  return Error::success();
}

std::optional<size_t> Searcher::bestSince(size_t firstTrial) const {
  std::optional<size_t> fastest;
  for (size_t i = firstTrial; i < trials.size(); ++i)
    if (trials[i].speedup > 0 &&
        (!fastest || trials[i].speedup > trials[*fastest].speedup))
      fastest = i;
  return fastest;
}

void Searcher::closeRound(size_t firstTrial) {
  TrajectoryRow row;
  if (std::optional<size_t> fastest = bestSince(firstTrial))
    row = rowOf(round, trials[*fastest]);
  row.round = round;
  row.evaluations = static_cast<int>(trials.size() - firstTrial);
  // A round that a limit cut off before its first evaluation has no line.
  if (row.evaluations > 0)
    result.trajectory.push_back(std::move(row));
  if (input.progress)
    input.progress->roundEnded(standing(""));
}

void Searcher::countGain() {
  if (phaseOver)
    return;
  if (hasBest() &&
      bestTrial().speedup > bestAtLastGain * (1 + options.patienceGain)) {
    bestAtLastGain = bestTrial().speedup;
    roundsWithoutGain = 0;
    return;
  }
  // Until something passes there is nothing that could stagnate.
  if (!hasBest())
    return;
  int patience = strategy->patience();
  if (++roundsWithoutGain >= patience)
    stop(SearchEnd::Stagnation, std::to_string(patience) +
                                    " rounds gained less than " +
                                    percent(options.patienceGain));
}

void Searcher::endRound() {
  closeRound(firstOfRound);
  countGain();
  // What follows the rounds is told as behind the last of them.
  ++roundNumber;
}
