//===- SearchCourse.h - Where a search is, and whether it is over -*- C++ -*-=//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_STATE_SEARCHCOURSE_H
#define FASTK_LIB_SEARCH_STATE_SEARCHCOURSE_H

#include "fastk/Search/Search.h"
#include <string>

namespace fastk {

/// The parts of a search, which leave one another a share of the budget.
enum class SearchPhase { Rounds, Sweep, Promotion };

class SearchCourse {
public:
  /// The end, and why, go into `result`.
  explicit SearchCourse(SearchResult &result) : result(result) {}

  void beginRound(int number);
  /// The round was made: what follows is told as behind it.
  void passRound() { ++number; }
  /// It counts as none.
  void dropRound() { --number; }
  void beginPhase(SearchPhase next, llvm::StringRef name);
  /// Ends the phase or, where nothing could follow, the search. The first cause
  /// stands: what a later phase runs into is its consequence.
  void stop(SearchEnd end, std::string detail = "");
  /// Ends the phase, or takes that back, for a cause that was told.
  void setPhaseOver(bool isOver) { phaseOver = isOver; }

  bool isPhaseOver() const { return phaseOver; }
  bool isSearchOver() const { return searchOver; }
  bool isPending() const {
    return searchOver && result.end == SearchEnd::Pending;
  }
  SearchPhase phase() const { return current; }
  int round() const { return number; }
  /// "1", "sweep", "second measurement".
  const std::string &label() const { return name; }

private:
  SearchResult &result;
  SearchPhase current = SearchPhase::Rounds;
  std::string name;
  int number = 0;
  bool phaseOver = false, searchOver = false;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_STATE_SEARCHCOURSE_H
