//===- Rounds.cpp - The two strategies, round by round --------------------===//
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

Error Searcher::runBranching() {
  for (roundNumber = 1; roundNumber <= options.rounds && !phaseOver;
       ++roundNumber) {
    round = std::to_string(roundNumber);
    exchanges.lastFailure.clear();
    int firstTrial = roundNumber == 1 ? 0 : trials.size();
    int firstOfProposers = trials.size();
    int madeBefore = result.counts.variants;
    // Ideas that nothing is left to try with are not paid for.
    if (asksModels() && !hasEvaluationsLeft(/*promote=*/false))
      break;
    chooseParents();
    // All ideas of a round are asked for before the first is tried, so that
    // every proposer sees the same history.
    std::vector<Asked> asked;
    Expected<std::vector<int>> counts = ideasOfProposers();
    if (!counts)
      return counts.takeError();
    for (auto [index, proposer] : enumerate(input.proposers)) {
      if (phaseOver || !exchanges.unanswered.empty())
        break;
      std::string name = round + "/" + std::to_string(index);
      bool all = roundNumber == 1 && proposer->wantsAllTried();
      Answer<std::vector<Idea>> ideas =
          askIdeas(*proposer, name, all ? 1 << 20 : (*counts)[index]);
      if (!ideas)
        return ideas.takeError();
      // Others may be asked while this one thinks.
      if (!*ideas)
        continue;
      for (auto [number, idea] : enumerate(**ideas))
        asked.push_back({idea, proposer, name + "/" + std::to_string(number)});
    }
    endIfUnanswered();
    if (searchOver)
      return Error::success();
    if (asked.empty() && !phaseOver) {
      stop(SearchEnd::Exhausted, exhausted("had no further idea"));
      --roundNumber;
      break;
    }
    std::vector<Planned> together;
    if (answersLater() && roundNumber == 1)
      for (const SearchSeed &seed : seeds)
        together.push_back({seed.idea, /*owner=*/nullptr, seed.variant});
    if (worksInBatches()) {
      Answers<std::vector<Variant>> realised =
          realise(asked, options.implementations);
      if (!realised)
        return realised.takeError();
      bool wasOver = phaseOver;
      endIfUnanswered();
      if (searchOver)
        return Error::success();
      for (auto [each, variants] : zip_equal(asked, *realised))
        if (variants)
          for (Variant &variant : *variants)
            together.push_back({each.idea, each.owner, std::move(variant)});
      // What was paid for is tried, though the budget has no more answers.
      bool answersSpent = phaseOver && !wasOver;
      if (answersSpent)
        phaseOver = false;
      if (!together.empty() && !phaseOver)
        if (Error error = tryTogether(std::move(together)))
          return error;
      phaseOver |= answersSpent;
    } else {
      for (const Asked &each : asked)
        if (!phaseOver)
          if (Error error = tryIdea(each, options.implementations))
            return error;
    }
    if (searchOver && result.end == SearchEnd::Pending)
      return Error::success();
    bool triedAny = static_cast<int>(trials.size()) > firstOfProposers;
    // The sweep starts at the round's best, if it is in reach of the best.
    std::optional<size_t> promising;
    for (size_t i = firstTrial; i < trials.size(); ++i)
      if (trials[i].speedup > 0 &&
          (!promising || trials[i].speedup > trials[*promising].speedup))
        promising = i;
    if (promising && !phaseOver &&
        trials[*promising].speedup * 1.3 > bestTrial().speedup)
      if (Error error = sweep(*promising, options.roundSweep))
        return error;
    endRound(firstTrial, /*countsForPatience=*/true);
    if (!triedAny && !phaseOver)
      stop(SearchEnd::Exhausted,
           result.counts.variants > madeBefore
               ? "the proposers only repeated what was tried"
               : exhausted("had no program for their ideas"));
  }
  return Error::success();
}

Expected<std::vector<int>> Searcher::ideasOfProposers() {
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
  std::vector<int> shares =
      shareIdeas(yields, options.ideas * static_cast<int>(models.size()));
  for (auto [index, share] : zip_equal(models, shares))
    counts[index] = share;
  // When the search is resumed amid this round its costs are known already.
  if (input.journal)
    if (Error error = input.journal->recallCounts(round, counts, elapsedNow()))
      return std::move(error);
  return counts;
}

Error Searcher::runSequential() {
  // As many realisations as the branching search would make.
  int steps = roundsAllowed();
  size_t turn = 0;
  for (roundNumber = 1; roundNumber <= steps && !phaseOver; ++roundNumber) {
    round = std::to_string(roundNumber);
    exchanges.lastFailure.clear();
    int firstTrial = roundNumber == 1 ? 0 : trials.size();
    parents.clear();
    if (hasBest())
      parents.push_back(bestTrial().tried);
    bool asked = false;
    for (size_t i = 0; i < input.proposers.size() && !asked; ++i) {
      size_t index = turn++ % input.proposers.size();
      Proposer &proposer = *input.proposers[index];
      std::string name = round + "/" + std::to_string(index);
      Answer<std::vector<Idea>> ideas = askIdeas(proposer, name, 1);
      if (!ideas)
        return ideas.takeError();
      endIfUnanswered();
      if (phaseOver)
        return Error::success();
      if (!*ideas || (*ideas)->empty())
        continue;
      asked = true;
      if (Error error = tryIdea({(*ideas)->front(), &proposer, name}, 1))
        return error;
      if (searchOver)
        return Error::success();
    }
    if (!asked) {
      stop(SearchEnd::Exhausted, exhausted("had no further idea"));
      --roundNumber;
      break;
    }
    endRound(firstTrial, /*countsForPatience=*/true);
  }
  return Error::success();
}

Answers<std::vector<Variant>> Searcher::realise(ArrayRef<Asked> asked,
                                                int count) {
  result.counts.ideas += static_cast<int>(asked.size());
  std::vector<std::string> names;
  for (const Asked &each : asked)
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

Error Searcher::tryIdea(const Asked &asked, int count) {
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

void Searcher::endRound(int firstTrial, bool countsForPatience) {
  TrajectoryRow row;
  std::optional<size_t> roundBest;
  for (size_t i = firstTrial; i < trials.size(); ++i)
    if (trials[i].speedup > 0 &&
        (!roundBest || trials[i].speedup > trials[*roundBest].speedup))
      roundBest = i;
  if (roundBest)
    row = rowOf(round, trials[*roundBest]);
  row.round = round;
  row.evaluations = trials.size() - firstTrial;
  // A round that a limit cut off before its first evaluation has no line.
  if (row.evaluations > 0)
    result.trajectory.push_back(std::move(row));
  if (input.progress)
    input.progress->roundEnded(standing(""));
  if (!countsForPatience || phaseOver)
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
  int patience = options.strategy == SearchStrategy::Branching
                     ? options.patience
                     : options.patience * options.ideas;
  if (++roundsWithoutGain >= patience)
    stop(SearchEnd::Stagnation, std::to_string(patience) +
                                    " rounds gained less than " +
                                    percent(options.patienceGain));
}
