//===- SearchState.h - What the parts of a search share ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is searched, where the search is, and what it has come to. What only one
// part needs to remember is that part's.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_STATE_SEARCHSTATE_H
#define FASTK_LIB_SEARCH_STATE_SEARCHSTATE_H

#include "AnswerTimes.h"
#include "SearchClock.h"
#include "SearchCourse.h"
#include "Trials.h"
#include "fastk/Search/Search.h"
#include "llvm/ADT/STLExtras.h"

namespace fastk {

struct SearchState {
  SearchState(const SearchInput &input, const SearchOptions &options)
      : input(input), options(options), times(input.recording),
        clock(input, times), course(result) {
    result.baselineSeconds = input.workload.baselineSeconds;
    result.floorSeconds = input.workload.floorSeconds;
  }
  // Its parts refer to one another.
  SearchState(const SearchState &) = delete;
  SearchState &operator=(const SearchState &) = delete;

  /// True when verdicts come on a later run.
  bool answersLater() const {
    return input.recording ? input.recording->answersLater
                           : !input.evaluator.pendingHint().empty();
  }
  /// True when some proposer takes long, or money, to answer.
  bool asksModels() const {
    return llvm::any_of(input.proposers,
                        [](Proposer *each) { return each->prefersBatching(); });
  }
  /// True when the user wants it to end.
  bool stopRequested() const {
    return input.stopRequested && input.stopRequested();
  }
  /// Events of earlier runs.
  size_t earlierEvents() const {
    if (!input.journal)
      return 0;
    return input.earlier ? input.earlier->events
                         : input.journal->resumedEvents();
  }

  const SearchInput &input;
  const SearchOptions &options;
  SearchResult result;
  AnswerTimes times;
  SearchClock clock;
  SearchCourse course;
  Trials trials;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_STATE_SEARCHSTATE_H
