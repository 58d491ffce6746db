//===- SearchStrategy.h - The shape of a search -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strategies differ in what is asked and tried in which order. What all of them
// share is the engine's: the journal, budgets, repairs, the sweep at the end
// and the second measurement. A new strategy is a file with a class, its
// function here and its row in Strategies.cpp; see docs/extending.md.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_STRATEGY_SEARCHSTRATEGY_H
#define FASTK_LIB_SEARCH_STRATEGY_SEARCHSTRATEGY_H

#include "SearchMoves.h"
#include <memory>

namespace fastk {

struct SearchOptions;

class SearchStrategy {
public:
  virtual ~SearchStrategy();
  /// Makes the rounds, until roundsAllowed() were made or they are over.
  virtual llvm::Error run(SearchMoves &moves) = 0;
  /// Rounds, where nothing ends the search before.
  virtual int roundsAllowed() const = 0;
  /// So many rounds in a row that gain too little end the search.
  virtual int patience() const = 0;
  /// True: where answers come later, the winners that a search begins with are
  /// tried together with the ideas of round 1, which has to use tryIdeas()
  /// then. False: they are always tried, and waited for, before it.
  virtual bool seedsGoWithFirstRound() const { return false; }
};

std::unique_ptr<SearchStrategy> createBranching(const SearchOptions &options);
std::unique_ptr<SearchStrategy> createSequential(const SearchOptions &options);

} // namespace fastk

#endif // FASTK_LIB_SEARCH_STRATEGY_SEARCHSTRATEGY_H
