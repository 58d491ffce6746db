//===- Effects.cpp - What is asked of the outside, by way of the journal --===//
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

Answer<std::vector<Idea>>
Searcher::obtainIdeas(Proposer &proposer, const std::string &name, int count) {
  bool isRecorded = false;
  if (input.journal)
    if (auto recorded = input.journal->findIdeas(name)) {
      isRecorded = true;
      if (!recorded->value.empty() || !mayAskAgain(proposer)) {
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
  if (input.journal && !(isRecorded && (*ideas)->empty()))
    if (Error error = input.journal->recordIdeas(name, **ideas, elapsedNow()))
      return std::move(error);
  return ideas;
}

Error Searcher::recallSeeds() {
  seeds = input.recording ? input.recording->seeds : input.seeds.vec();
  if (!input.journal)
    return Error::success();
  auto variants = input.journal->findVariants(Journal::kSeeds);
  if (!variants)
    return variants.takeError();
  auto ideas = input.journal->findIdeas(Journal::kSeeds);
  if (*variants && ideas) {
    seeds.clear();
    for (auto [idea, variant] : zip((*ideas).value, (*variants)->value))
      seeds.push_back({idea, variant});
    return Error::success();
  }
  // What a bank got since the search began is none.
  if (!*variants && input.journal->hasBegun())
    seeds.clear();
  if (seeds.empty())
    return Error::success();
  std::vector<Variant> programs;
  std::vector<Idea> texts;
  for (const SearchSeed &seed : seeds) {
    programs.push_back(seed.variant);
    texts.push_back(seed.idea);
  }
  if (!*variants)
    if (Error error = input.journal->recordVariants(Journal::kSeeds, programs,
                                                    elapsedNow()))
      return error;
  return input.journal->recordIdeas(Journal::kSeeds, texts, elapsedNow());
}

Error Searcher::recallKnownIdeas() {
  // Only those who ask by prompts read them.
  if (!asksModels())
    return Error::success();
  known = input.recording ? input.recording->known : input.known.vec();
  if (!input.journal)
    return Error::success();
  if (auto recorded = input.journal->findIdeas(Journal::kKnownIdeas)) {
    known = std::move(recorded->value);
    return Error::success();
  }
  return input.journal->recordIdeas(Journal::kKnownIdeas, known, elapsedNow());
}

Answers<std::vector<Variant>> Searcher::askVariants(
    ArrayRef<std::string> names, size_t wanted,
    function_ref<Proposer *(size_t)> ownerOf,
    function_ref<Answers<std::vector<Variant>>(ArrayRef<size_t>)> ask) {
  std::vector<std::optional<std::vector<Variant>>> result(names.size());
  std::vector<size_t> missing;
  for (auto [index, name] : enumerate(names)) {
    if (input.journal) {
      auto recorded = input.journal->findVariants(name);
      if (!recorded)
        return recorded.takeError();
      if (*recorded) {
        result[index] = std::move((*recorded)->value);
        if (result[index]->size() >= wanted || !mayAskAgain(*ownerOf(index)))
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
    if (input.journal)
      if (Error error = input.journal->recordVariants(names[index], *answer,
                                                      elapsedNow()))
        return std::move(error);
    result[index] = std::move(answer);
  }
  return result;
}

Answers<std::vector<Variant>> Searcher::askEachOwner(
    ArrayRef<size_t> indices, function_ref<Proposer *(size_t)> ownerOf,
    function_ref<Answers<std::vector<Variant>>(Proposer &, ArrayRef<size_t>)>
        ask) {
  std::vector<std::optional<std::vector<Variant>>> result(indices.size());
  for (Proposer *owner : input.proposers) {
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

void Searcher::endIfUnanswered() {
  if (exchanges.interrupted) {
    stop(SearchEnd::Interrupted);
  } else if (!exchanges.unanswered.empty()) {
    stop(SearchEnd::Unanswered, exchanges.unanswered);
  } else if (exchanges.pending > 0) {
    result.counts.pendingPrompts = exchanges.pending;
    stop(SearchEnd::Pending);
  } else if (exchanges.budgetSpent) {
    bool hasAsked = exchanges.costs.exchanges > 0;
    stop(SearchEnd::Budget, "its budget of " +
                                describeModelBudget(options.budget) +
                                " for language models " +
                                (hasAsked ? "is spent"
                                          : "has no room for a prompt and its "
                                            "reply"));
  }
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

Answers<std::vector<Variant>> Searcher::askRepairs(ArrayRef<size_t> failed) {
  std::vector<std::optional<std::vector<Variant>>> result(
      failed.size(), std::vector<Variant>());
  std::vector<size_t> places;
  std::vector<std::string> names;
  for (auto [place, index] : enumerate(failed)) {
    const Trial &trial = trials[index];
    if (!trial.owner || (trial.tried.variant.problem.empty() &&
                         !isRepairable(trial.verdict.status)))
      continue;
    places.push_back(place);
    names.push_back("repair/" + digestOf(trial.tried.variant));
  }
  if (places.empty())
    return result;
  auto trialAt = [&](size_t index) -> const Trial & {
    return trials[failed[places[index]]];
  };
  auto ownerAt = [&](size_t index) { return trialAt(index).owner; };
  Answers<std::vector<Variant>> answers =
      askVariants(names, /*wanted=*/1, ownerAt, [&](ArrayRef<size_t> missing) {
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
    const Trial &trial = trials[failed[place]];
    if (answer && answer->empty())
      noteMissed({trial.owner,
                  {},
                  /*count=*/1,
                  FailedVariant{trial.idea, trial.tried, trial.attempt}});
    result[place] = std::move(answer);
  }
  return result;
}

Expected<std::optional<worker::Verdict>>
Searcher::askVerdict(const Variant &variant, const Variant *incumbent,
                     bool promote, int repeat) {
  // The count is the same on every run, so it decides first and alone for what
  // is recorded.
  if (!hasEvaluationsLeft(promote))
    return std::nullopt;
  std::string name = verdictName(variant, promote, repeat);
  if (auto asked = answers.find(name); asked != answers.end()) {
    ++result.counts.evaluations;
    return std::move(asked->second);
  }
  if (input.journal)
    if (auto recorded = input.journal->findVerdict(name)) {
      times.found(name, recorded->elapsed);
      verdictAt = recorded->elapsed;
      double seconds = recorded->value.resources.wallSeconds;
      if (!promote && seconds > 0)
        durations.push_back(seconds);
      if (promote)
        longestPromotion = std::max(longestPromotion, seconds);
      if (promote && recorded->value.status == worker::Status::Error)
        failedSeconds.push_back(name);
      ++result.counts.evaluations;
      ++result.counts.replayed;
      return std::move(recorded->value);
    }
  if (!promote)
    if (Error error = secureBest())
      return std::move(error);
  if (searchOver || !mayEvaluate(name))
    return std::nullopt;
  Expected<std::optional<worker::Verdict>> verdict =
      obtainVerdict(name, {input.workload.workload, variant, incumbent,
                           input.workload.acceptedPrecision, promote,
                           /*firstOfBatch=*/false, asksModels(), repeat});
  if (!verdict || *verdict) {
    if (verdict)
      ++result.counts.evaluations;
    return verdict;
  }
  if (!searchOver) {
    ++result.counts.pending;
    stop(SearchEnd::Pending);
  }
  return std::nullopt;
}

Expected<std::optional<worker::Verdict>>
Searcher::obtainVerdict(const std::string &name,
                        const EvaluationRequest &request) {
  double start = elapsedNow();
  EvaluationRequest counted = request;
  if (input.journal)
    counted.failures = input.journal->failedEvaluations(name);
  Expected<std::optional<worker::Verdict>> verdict =
      input.evaluator.evaluate(counted);
  // A terminal sends its interrupt to children too: what failed while the user
  // asked to stop says nothing of the variant. What passed is kept.
  if (input.stopRequested && input.stopRequested() &&
      (!verdict || !*verdict || (*verdict)->status != worker::Status::OK)) {
    consumeError(verdict.takeError());
    stop(SearchEnd::Interrupted);
    return std::nullopt;
  }
  if (!verdict || !*verdict)
    return verdict;
  double end = times.arrived(name, elapsedNow());
  verdictAt = end;
  bool hasFailed = (*verdict)->status == worker::Status::Error;
  ++(hasFailed ? result.counts.failed : result.counts.judged);
  if (hasFailed && request.promote)
    failedSeconds.push_back(name);
  if (!request.promote)
    durations.push_back(end - start);
  else
    longestPromotion = std::max(longestPromotion, end - start);
  (*verdict)->reason = json::fixUTF8((*verdict)->reason);
  // What is decided on is what a resumed search will read.
  std::string problem;
  std::optional<worker::Verdict> reread =
      worker::parseVerdict(worker::toJSON(**verdict), problem);
  if (!reread)
    return createStringError(inconvertibleErrorCode(),
                             "the evaluator returned a verdict that cannot be "
                             "read back: " +
                                 problem);
  if (input.journal)
    if (Error error = input.journal->recordVerdict(name, *reread, end))
      return std::move(error);
  return std::move(*reread);
}
