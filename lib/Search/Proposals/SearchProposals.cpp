//===- SearchProposals.cpp - What proposers say, kept ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchProposals.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <map>

using namespace llvm;
using namespace fastk;

ProposalContext SearchProposals::context() {
  ProposalContext context = search.input.workload;
  context.baselineSeconds = search.result.baselineSeconds;
  context.history = search.trials.history();
  context.parents = parents;
  context.round = search.course.round();
  context.known = known;
  context.exchanges = &exchanges;
  return context;
}

bool SearchProposals::mayAskAgain(const Proposer &owner) const {
  return owner.prefersBatching() &&
         !search.input.journal->hasRoundAfter(search.course.round());
}

Answer<std::vector<Idea>>
SearchProposals::ideas(Proposer &proposer, const std::string &name, int count) {
  bool isRecorded = false;
  if (journal)
    if (auto recorded = journal->findIdeas(name)) {
      isRecorded = true;
      if (!recorded->value.empty() || !mayAskAgain(proposer) ||
          journal->isOfThisRun(Journal::EventType::Ideas, name)) {
        if (recorded->value.empty())
          noteMissed({&proposer, {}, count});
        return std::move(recorded->value);
      }
    }
  Answer<std::vector<Idea>> ideas = proposer.proposeIdeas(context(), count);
  if (!ideas || !*ideas)
    return ideas;
  // A model that never answers had no word in this search.
  if (!exchanges.unanswered.empty())
    return std::nullopt;
  if (static_cast<int>((*ideas)->size()) > count)
    (*ideas)->resize(count);
  if ((*ideas)->empty())
    noteMissed({&proposer, {}, count});
  if (journal && !(isRecorded && (*ideas)->empty()))
    if (Error error =
            journal->recordIdeas(name, **ideas, search.clock.elapsed()))
      return std::move(error);
  return ideas;
}

Answers<std::vector<Variant>>
SearchProposals::realise(ArrayRef<AskedIdea> asked, int count) {
  search.result.counts.ideas += static_cast<int>(asked.size());
  std::vector<std::string> names;
  for (const AskedIdea &each : asked)
    names.push_back("realise/" + each.name);
  auto ownerOf = [&](size_t index) { return asked[index].owner; };
  Answers<std::vector<Variant>> answers =
      variants(names, count, ownerOf, [&](ArrayRef<size_t> missing) {
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

Answers<std::vector<Variant>> SearchProposals::variants(
    ArrayRef<std::string> names, size_t wanted,
    function_ref<Proposer *(size_t)> ownerOf,
    function_ref<Answers<std::vector<Variant>>(ArrayRef<size_t>)> ask) {
  std::vector<std::optional<std::vector<Variant>>> result(names.size());
  std::vector<size_t> missing;
  for (auto [index, name] : enumerate(names)) {
    if (journal) {
      auto recorded = journal->findVariants(name);
      if (!recorded)
        return recorded.takeError();
      if (*recorded) {
        result[index] = std::move((*recorded)->value);
        if (result[index]->size() >= wanted || !mayAskAgain(*ownerOf(index)) ||
            journal->isOfThisRun(Journal::EventType::Variants, name))
          continue;
      }
    }
    missing.push_back(index);
  }
  if (missing.empty())
    return result;
  Answers<std::vector<Variant>> answers = ask(missing);
  if (!answers)
    return answers;
  for (auto [index, answer] : zip_equal(missing, *answers)) {
    // Once more as before: what is recorded stands.
    if (answer && result[index] && answer->size() <= result[index]->size())
      continue;
    if (!answer) {
      result[index] = std::nullopt;
      continue;
    }
    if (journal)
      if (Error error = journal->recordVariants(names[index], *answer,
                                                search.clock.elapsed()))
        return std::move(error);
    result[index] = std::move(answer);
  }
  return result;
}

static Answers<std::vector<Variant>>
oneAnswer(Expected<std::vector<Variant>> variants) {
  if (!variants)
    return variants.takeError();
  std::vector<std::optional<std::vector<Variant>>> answers;
  answers.emplace_back(std::move(*variants));
  return answers;
}

Expected<std::vector<Variant>>
SearchProposals::neighbours(const std::string &name, Proposer &owner,
                            const Variant &around, int count) {
  Answers<std::vector<Variant>> answers = variants(
      name, /*wanted=*/0, [&](size_t) { return &owner; },
      [&](ArrayRef<size_t>) {
        return oneAnswer(owner.neighbours(context(), around, count));
      });
  if (!answers)
    return answers.takeError();
  return std::move(*answers->front());
}

Answers<std::vector<Variant>> SearchProposals::askEachOwner(
    ArrayRef<size_t> indices, function_ref<Proposer *(size_t)> ownerOf,
    function_ref<Answers<std::vector<Variant>>(Proposer &, ArrayRef<size_t>)>
        ask) {
  std::vector<std::optional<std::vector<Variant>>> result(indices.size());
  for (Proposer *owner : search.input.proposers) {
    std::vector<size_t> places, own;
    for (auto [place, index] : enumerate(indices))
      if (ownerOf(index) == owner) {
        places.push_back(place);
        own.push_back(index);
      }
    if (own.empty())
      continue;
    Answers<std::vector<Variant>> answers = ask(*owner, own);
    if (!answers)
      return answers;
    for (auto [place, answer] : zip_equal(places, *answers))
      result[place] = std::move(answer);
  }
  return result;
}

ProposerYield SearchProposals::yieldOf(const Proposer &proposer,
                                       bool arePriced) const {
  ProposerYield yield;
  ModelCosts costs = exchanges.costsOf(proposer.name());
  yield.cost =
      arePriced ? costs.usd : double(costs.inputTokens + costs.outputTokens);
  // The best of each idea against the best from before its round.
  std::map<std::string, std::pair<int, double>> bestOfIdea;
  std::map<int, double> bestBefore;
  double bestSoFar = 1;
  for (const Trial &trial : search.trials.all()) {
    bestBefore.try_emplace(trial.tried.round, bestSoFar);
    bestSoFar = std::max(bestSoFar, trial.speedup);
    if (trial.owner != &proposer)
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
  return yield;
}

Expected<std::vector<int>> SearchProposals::ideasOfProposers() {
  std::vector<int> counts(search.input.proposers.size(), search.options.ideas);
  std::vector<size_t> models;
  for (auto [index, proposer] : enumerate(search.input.proposers))
    if (proposer->prefersBatching())
      models.push_back(index);
  if (models.size() < 2)
    return counts;
  std::vector<ProposerYield> yields;
  bool arePriced = exchanges.costs.unpriced == 0;
  for (size_t index : models)
    yields.push_back(yieldOf(*search.input.proposers[index], arePriced));
  std::vector<int> shares = shareIdeas(
      yields, search.options.ideas * static_cast<int>(models.size()));
  for (auto [index, share] : zip_equal(models, shares))
    counts[index] = share;
  // When the search is resumed amid this round its costs are known already.
  if (journal)
    if (Error error = journal->recallCounts(search.course.label(), counts,
                                            search.clock.elapsed()))
      return std::move(error);
  return counts;
}

/// "50000 tokens", "2.5 USD".
static std::string describeModelBudget(const SearchBudget &budget) {
  std::string text;
  raw_string_ostream os(text);
  if (budget.tokens > 0)
    os << budget.tokens << " tokens";
  if (budget.tokens > 0 && budget.usd > 0)
    os << " or ";
  if (budget.usd > 0)
    os << format("%.4g USD", budget.usd);
  return text;
}

void SearchProposals::endIfUnanswered() {
  if (exchanges.interrupted) {
    search.course.stop(SearchEnd::Interrupted);
  } else if (!exchanges.unanswered.empty()) {
    search.course.stop(SearchEnd::Unanswered, exchanges.unanswered);
  } else if (exchanges.pending > 0) {
    search.result.counts.pendingPrompts = exchanges.pending;
    search.course.stop(SearchEnd::Pending);
  } else if (exchanges.budgetSpent) {
    bool hasAsked = exchanges.costs.exchanges > 0;
    search.course.stop(SearchEnd::Budget,
                       "its budget of " +
                           describeModelBudget(search.options.budget) +
                           " for language models " +
                           (hasAsked ? "is spent"
                                     : "has no room for a prompt and its "
                                       "reply"));
  }
}

std::string SearchProposals::exhausted(StringRef what) const {
  std::string text = ("the proposers " + what).str();
  if (!exchanges.lastFailure.empty())
    text += "; " + exchanges.lastFailure;
  return text;
}

/// What a proposer may be able to mend.
static bool isRepairable(worker::Status status) {
  switch (status) {
  case worker::Status::Wrong:
  case worker::Status::Crash:
  case worker::Status::Timeout:
  case worker::Status::Memory:
  case worker::Status::Refused:
  case worker::Status::CompileTimeout:
    return true;
  case worker::Status::OK:
  case worker::Status::Slow:
  case worker::Status::Impossible:
  case worker::Status::Unfit:
  case worker::Status::Error:
  case worker::Status::Disagreement:
    return false;
  }
  llvm_unreachable("all statuses are named above");
}

Answers<std::vector<Variant>>
SearchProposals::repairs(ArrayRef<size_t> failed) {
  std::vector<std::optional<std::vector<Variant>>> result(
      failed.size(), std::vector<Variant>());
  std::vector<size_t> places;
  std::vector<std::string> names;
  for (auto [place, index] : enumerate(failed)) {
    const Trial &trial = search.trials[index];
    if (!trial.owner || (trial.tried.variant.problem.empty() &&
                         !isRepairable(trial.verdict.status)))
      continue;
    places.push_back(place);
    names.push_back("repair/" + digestOf(trial.tried.variant));
  }
  if (places.empty())
    return result;
  auto trialAt = [&](size_t index) -> const Trial & {
    return search.trials[failed[places[index]]];
  };
  auto ownerAt = [&](size_t index) { return trialAt(index).owner; };
  Answers<std::vector<Variant>> answers =
      variants(names, /*wanted=*/1, ownerAt, [&](ArrayRef<size_t> missing) {
        return askEachOwner(
            missing, ownerAt, [&](Proposer &owner, ArrayRef<size_t> indices) {
              std::vector<FailedVariant> list;
              for (size_t index : indices) {
                const Trial &trial = trialAt(index);
                list.push_back({trial.idea, trial.tried, trial.attempt});
              }
              return owner.repair(context(), list);
            });
      });
  if (!answers)
    return answers;
  for (auto [place, answer] : zip_equal(places, *answers)) {
    const Trial &trial = search.trials[failed[place]];
    if (answer && answer->empty())
      noteMissed({trial.owner,
                  {},
                  /*count=*/1,
                  FailedVariant{trial.idea, trial.tried, trial.attempt}});
    result[place] = std::move(answer);
  }
  return result;
}
