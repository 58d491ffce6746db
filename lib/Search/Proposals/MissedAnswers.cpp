//===- MissedAnswers.cpp - What failed in rounds that are over ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MissedAnswers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace llvm;
using namespace fastk;

void MissedAnswers::note(MissedAnswer what, ArrayRef<TriedVariant> parents) {
  int round = search.course.round();
  bool isLeft =
      search.times.isReplay() ||
      (search.input.journal && search.input.journal->hasRoundAfter(round));
  if (!what.owner->prefersBatching() || !isLeft)
    return;
  missed.push_back({std::move(what), search.trials.size(), parents.vec(), round,
                    search.result.baselineSeconds});
}

Expected<std::vector<Planned>>
MissedAnswers::realise(MissedAnswer &missed, const ProposalContext &then) {
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
    missed.count = search.options.implementations;
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

Expected<std::vector<Planned>>
MissedAnswers::repair(const MissedAnswer &missed, const ProposalContext &then) {
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

Expected<std::vector<Planned>>
MissedAnswers::askAgain(const ProposalContext &context,
                        const SeenPrograms &seen) {
  exchanges.asksAgain = true;
  llvm::scope_exit asksAsBefore([&] {
    exchanges.asksAgain = false;
    // It has answered others.
    exchanges.unanswered.clear();
  });
  std::vector<Planned> planned;
  for (Missed &each : missed) {
    ProposalContext then = context;
    then.history = search.trials.history().take_front(each.triedBefore);
    then.parents = each.parents;
    then.round = each.round;
    then.baselineSeconds = each.baselineSeconds;
    Expected<std::vector<Planned>> late =
        each.what.failed ? repair(each.what, then) : realise(each.what, then);
    if (!late)
      return late.takeError();
    for (Planned &one : *late)
      if (!seen.containsExactly(one.variant))
        planned.push_back(std::move(one));
  }
  return planned;
}

Error MissedAnswers::record(ArrayRef<Planned> planned) const {
  const SearchInput &input = search.input;
  if (!input.journal)
    return Error::success();
  for (auto [number, owner] : enumerate(input.proposers)) {
    std::string name = search.course.label() + "/" + std::to_string(number);
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
      if (Error error =
              input.journal->recordIdeas(name, ideas, search.clock.elapsed()))
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
        if (Error error = input.journal->recordVariants(realised, list,
                                                        search.clock.elapsed()))
          return error;
    }
  }
  return Error::success();
}
