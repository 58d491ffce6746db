//===- Sequential.cpp - One chain of ideas --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each step is one idea, on the best so far. To compare against.
//
//===----------------------------------------------------------------------===//

#include "SearchStrategy.h"
#include "fastk/Search/SearchOptions.h"

using namespace llvm;
using namespace fastk;

namespace {

class Sequential : public SearchStrategy {
public:
  explicit Sequential(const SearchOptions &options) : options(options) {}

  Error run(SearchMoves &moves) override;
  /// As many realisations as the branching search would make.
  int roundsAllowed() const override {
    return options.rounds * options.ideas * options.implementations;
  }
  int patience() const override { return options.patience * options.ideas; }

private:
  /// Asks proposers in turn until one has an idea, and tries that. False: none
  /// has one.
  Expected<bool> step(SearchMoves &moves);

  const SearchOptions &options;
  /// Of proposers that were asked.
  size_t turn = 0;
};

} // namespace

Expected<bool> Sequential::step(SearchMoves &moves) {
  size_t count = moves.proposers().size();
  for (size_t i = 0; i < count; ++i) {
    Answer<AskedIdea> idea = moves.askIdea(turn++ % count);
    if (!idea)
      return idea.takeError();
    moves.endIfUnanswered();
    if (moves.areRoundsOver())
      return true;
    if (!*idea)
      continue;
    if (Error error = moves.tryIdea(**idea, /*count=*/1))
      return std::move(error);
    if (!moves.isSearchOver())
      moves.endRound();
    return true;
  }
  return false;
}

Error Sequential::run(SearchMoves &moves) {
  for (int number = 1; number <= roundsAllowed() && !moves.areRoundsOver();
       ++number) {
    moves.beginRound(number);
    moves.chooseParents(/*count=*/1);
    Expected<bool> hasIdea = step(moves);
    if (!hasIdea)
      return hasIdea.takeError();
    if (!*hasIdea) {
      moves.endWithoutIdeas();
      break;
    }
  }
  return Error::success();
}

std::unique_ptr<SearchStrategy>
fastk::createSequential(const SearchOptions &options) {
  return std::make_unique<Sequential>(options);
}
