//===- SearchMoves.h - What a strategy may do -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine of a search as its strategy sees it. Whatever is asked here is
// looked for in the journal first, and recorded when it is answered. So a
// strategy that decides by what these functions return, and by nothing else,
// decides the same when a search is resumed or replayed.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_STRATEGY_SEARCHMOVES_H
#define FASTK_LIB_SEARCH_STRATEGY_SEARCHMOVES_H

#include "State/Trial.h"
#include "fastk/Propose/Proposer.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <vector>

namespace fastk {

class SearchMoves {
public:
  virtual ~SearchMoves();

  // What is known.
  virtual llvm::ArrayRef<Proposer *> proposers() const = 0;
  /// Everything that was tried so far, in order.
  virtual llvm::ArrayRef<Trial> tried() const = 0;
  /// The best of all, and of this round; nothing before something passed.
  virtual std::optional<size_t> bestOfAll() const = 0;
  virtual std::optional<size_t> bestOfRound() const = 0;
  /// True when a limit was reached: no further round begins.
  virtual bool areRoundsOver() const = 0;
  /// True when nothing follows the rounds either.
  virtual bool isSearchOver() const = 0;

  // A round, from its begin to its end.
  /// Rounds count from 1.
  virtual void beginRound(int number) = 0;
  /// False, and the end of the rounds, where ideas would be paid for that no
  /// evaluation is left to try.
  virtual bool mayPayForIdeas() = 0;
  /// The best of all, and up to `count` - 1 others of other ideas: what
  /// proposers build on in this round.
  virtual void chooseParents(int count) = 0;
  /// How many ideas each proposer is to be asked for: as many as the options
  /// say or, of several language models, more of those that gained more.
  virtual llvm::Expected<std::vector<int>> shareIdeas() = 0;
  /// False where no other proposer is to be asked in this round.
  virtual bool mayAskMore() const = 0;
  /// Nothing: the answer is not there, but others may be asked meanwhile. Then
  /// endIfUnanswered() says whether the search goes on.
  virtual Answer<std::vector<AskedIdea>> askIdeas(size_t proposer,
                                                  int count) = 0;
  /// The same for one idea. Nothing: there is none.
  virtual Answer<AskedIdea> askIdea(size_t proposer) = 0;
  /// Ends the search, or its rounds, where proposers left questions open.
  virtual void endIfUnanswered() = 0;
  /// Realises each idea up to `count` times, and tries the programs; where
  /// answers come later, all together. False: they are not there, and the
  /// search is over without an end of this round.
  virtual llvm::Expected<bool> tryIdeas(llvm::ArrayRef<AskedIdea> ideas,
                                        int count) = 0;
  /// The same for one idea, one program after the other.
  virtual llvm::Error tryIdea(const AskedIdea &idea, int count) = 0;
  /// Climbs from a trial in the space of its numeric parameters, by at most
  /// `limit` evaluations.
  virtual llvm::Error sweep(size_t trial, int limit) = 0;
  /// Writes the round's line, and ends the rounds where they stopped paying.
  virtual void endRound() = 0;

  // Ends that the strategy finds.
  /// No proposer had an idea: the search is exhausted, and this round is none.
  virtual void endWithoutIdeas() = 0;
  /// The same after the end of a round whose ideas came to no new program.
  virtual void endWithoutPrograms() = 0;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_STRATEGY_SEARCHMOVES_H
