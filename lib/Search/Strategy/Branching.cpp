//===- Branching.cpp - Rounds of several ideas and parents ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each round: several ideas of each proposer, several realisations of each, on
// several parents; then a sweep from the round's best.
//
//===----------------------------------------------------------------------===//

#include "SearchStrategy.h"
#include "fastk/Search/SearchOptions.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;

namespace {

class Branching : public SearchStrategy {
public:
  explicit Branching(const SearchOptions &options) : options(options) {}

  Error run(SearchMoves &moves) override;
  int roundsAllowed() const override { return options.rounds; }
  int patience() const override { return options.patience; }
  bool seedsGoWithFirstRound() const override { return true; }

private:
  /// All of a round's ideas, before the first is tried: every proposer sees the
  /// same history.
  Expected<std::vector<AskedIdea>> askAll(SearchMoves &moves, bool isFirst);
  /// The rest of a round. False: the search is over without an end of it.
  Expected<bool> tryAll(SearchMoves &moves, ArrayRef<AskedIdea> asked);

  const SearchOptions &options;
};

} // namespace

Expected<std::vector<AskedIdea>> Branching::askAll(SearchMoves &moves,
                                                   bool isFirst) {
  std::vector<AskedIdea> asked;
  Expected<std::vector<int>> counts = moves.shareIdeas();
  if (!counts)
    return counts.takeError();
  for (auto [index, proposer] : enumerate(moves.proposers())) {
    if (!moves.mayAskMore())
      break;
    bool all = isFirst && proposer->wantsAllTried();
    Answer<std::vector<AskedIdea>> ideas =
        moves.askIdeas(index, all ? 1 << 20 : (*counts)[index]);
    if (!ideas)
      return ideas.takeError();
    // Others may be asked while this one thinks.
    if (*ideas)
      append_range(asked, **ideas);
  }
  moves.endIfUnanswered();
  return asked;
}

Expected<bool> Branching::tryAll(SearchMoves &moves,
                                 ArrayRef<AskedIdea> asked) {
  size_t before = moves.tried().size();
  Expected<bool> goesOn = moves.tryIdeas(asked, options.implementations);
  if (!goesOn || !*goesOn)
    return goesOn;
  bool triedAny = moves.tried().size() > before;
  // The sweep starts at the round's best, if it is in reach of the best.
  std::optional<size_t> promising = moves.bestOfRound();
  if (promising && !moves.areRoundsOver() &&
      moves.tried()[*promising].speedup * 1.3 >
          moves.tried()[*moves.bestOfAll()].speedup)
    if (Error error = moves.sweep(*promising, options.roundSweep))
      return std::move(error);
  moves.endRound();
  if (!triedAny && !moves.areRoundsOver())
    moves.endWithoutPrograms();
  return true;
}

Error Branching::run(SearchMoves &moves) {
  for (int number = 1; number <= options.rounds && !moves.areRoundsOver();
       ++number) {
    moves.beginRound(number);
    if (!moves.mayPayForIdeas())
      break;
    moves.chooseParents(options.parents);
    Expected<std::vector<AskedIdea>> asked = askAll(moves, number == 1);
    if (!asked)
      return asked.takeError();
    if (moves.isSearchOver())
      break;
    if (asked->empty() && !moves.areRoundsOver()) {
      moves.endWithoutIdeas();
      break;
    }
    Expected<bool> goesOn = tryAll(moves, *asked);
    if (!goesOn)
      return goesOn.takeError();
    if (!*goesOn)
      break;
  }
  return Error::success();
}

std::unique_ptr<SearchStrategy>
fastk::createBranching(const SearchOptions &options) {
  return std::make_unique<Branching>(options);
}
