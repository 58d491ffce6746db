//===- AskAgain.cpp - What failed in rounds that are over -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A prompt that failed while the search went on to another round cannot be
// asked again in its place: all that was asked, paid for and decided since
// rests on what was known then. So it is asked behind everything else, in the
// words that it had then, and what comes of it is tried there, on every run.
//
//===----------------------------------------------------------------------===//

#include "Searcher.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace llvm;
using namespace fastk;

void Searcher::noteMissed(Missed what) {
  bool isLeft = times.isReplay() ||
                (input.journal && input.journal->hasRoundAfter(roundNumber));
  if (!what.owner->prefersBatching() || !isLeft)
    return;
  what.triedBefore = history.size();
  what.parents = parents;
  what.round = roundNumber;
  what.baselineSeconds = result.baselineSeconds;
  missed.push_back(std::move(what));
}

Expected<std::vector<Searcher::Planned>>
Searcher::realiseMissed(Missed &missed, const ProposalContext &then) {
  std::vector<Planned> planned;
  if (missed.ideas.empty()) {
    Answer<std::vector<Idea>> ideas =
        missed.owner->proposeIdeas(then, missed.count);
    if (!ideas)
      return ideas.takeError();
    if (!*ideas)
      return planned;
    missed.ideas = std::move(**ideas);
    if (static_cast<int>(missed.ideas.size()) > missed.count)
      missed.ideas.resize(missed.count);
    missed.count = options.implementations;
  }
  if (missed.ideas.empty())
    return planned;
  Answers<std::vector<Variant>> made =
      missed.owner->realise(then, missed.ideas, missed.count);
  if (!made)
    return made.takeError();
  for (auto [idea, variants] : zip_equal(missed.ideas, *made))
    if (variants)
      for (Variant &variant : *variants)
        planned.push_back({idea, missed.owner, std::move(variant)});
  return planned;
}

Expected<std::vector<Searcher::Planned>>
Searcher::repairMissed(const Missed &missed, const ProposalContext &then) {
  std::vector<Planned> planned;
  const FailedVariant &failed = *missed.failed;
  Answers<std::vector<Variant>> mended = missed.owner->repair(then, failed);
  if (!mended)
    return mended.takeError();
  if (mended->front() && !mended->front()->empty())
    planned.push_back({failed.idea, missed.owner,
                       std::move(mended->front()->front()),
                       failed.attempt + 1});
  return planned;
}

Expected<std::vector<Searcher::Planned>> Searcher::askMissedAgain() {
  exchanges.asksAgain = true;
  llvm::scope_exit asksAsBefore([&] {
    exchanges.asksAgain = false;
    // It has answered others.
    exchanges.unanswered.clear();
  });
  std::vector<Planned> planned;
  for (Missed &each : missed) {
    ProposalContext then = context();
    then.history = ArrayRef(history).take_front(each.triedBefore);
    then.parents = each.parents;
    then.round = each.round;
    then.baselineSeconds = each.baselineSeconds;
    Expected<std::vector<Planned>> late =
        each.failed ? repairMissed(each, then) : realiseMissed(each, then);
    if (!late)
      return late.takeError();
    for (Planned &one : *late)
      if (!seen.contains(digestOf(one.variant)))
        planned.push_back(std::move(one));
  }
  return planned;
}

Error Searcher::recordMissed(ArrayRef<Planned> planned) {
  if (!input.journal)
    return Error::success();
  for (auto [number, owner] : enumerate(input.proposers)) {
    std::string name = round + "/" + std::to_string(number);
    std::vector<Idea> ideas;
    if (auto recorded = input.journal->findIdeas(name))
      ideas = std::move(recorded->value);
    size_t before = ideas.size();
    auto numberOf = [&](const Idea &idea) {
      return find_if(ideas,
                     [&](const Idea &other) { return other.id == idea.id; }) -
             ideas.begin();
    };
    for (const Planned &each : planned)
      if (each.owner == owner &&
          numberOf(each.idea) == static_cast<ptrdiff_t>(ideas.size()))
        ideas.push_back(each.idea);
    if (ideas.size() > before)
      if (Error error = input.journal->recordIdeas(name, ideas, elapsedNow()))
        return error;
    std::vector<std::vector<Variant>> variants(ideas.size());
    for (const Planned &each : planned)
      if (each.owner == owner)
        variants[numberOf(each.idea)].push_back(each.variant);
    for (auto [index, list] : enumerate(variants)) {
      std::string realised = "realise/" + name + "/" + std::to_string(index);
      auto recorded = input.journal->findVariants(realised);
      if (!recorded)
        return recorded.takeError();
      size_t had = *recorded ? (*recorded)->value.size() : 0;
      if (list.size() > had)
        if (Error error =
                input.journal->recordVariants(realised, list, elapsedNow()))
          return error;
    }
  }
  return Error::success();
}

Error Searcher::tryMissed() {
  bool isRegularEnd = result.end == SearchEnd::Rounds ||
                      result.end == SearchEnd::Stagnation ||
                      result.end == SearchEnd::Exhausted;
  // Nothing is paid for that could not be tried.
  if (missed.empty() || !isRegularEnd || phaseOver ||
      evaluationsLeft(/*promote=*/false).value_or(1) == 0 ||
      (!times.isReplay() && !mayEvaluate("")))
    return Error::success();
  roundNumber = strategy->roundsAllowed() + 1;
  round = std::to_string(roundNumber);
  Expected<std::vector<Planned>> planned = askMissedAgain();
  if (!planned)
    return planned.takeError();
  if (exchanges.interrupted || exchanges.pending > 0)
    endIfUnanswered();
  if (searchOver || planned->empty())
    return Error::success();
  if (Error error = recordMissed(*planned))
    return error;
  result.counts.repairs +=
      count_if(*planned, [](const Planned &each) { return each.attempt > 0; });
  size_t first = trials.size();
  if (Error error = tryTogether(std::move(*planned)))
    return error;
  closeRound(first);
  return Error::success();
}
