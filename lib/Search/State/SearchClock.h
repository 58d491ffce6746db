//===- SearchClock.h - The time that a search has taken ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_STATE_SEARCHCLOCK_H
#define FASTK_LIB_SEARCH_STATE_SEARCHCLOCK_H

#include "AnswerTimes.h"
#include "fastk/Search/Search.h"

namespace fastk {

/// In a replay it goes by the recorded times.
class SearchClock {
public:
  SearchClock(const SearchInput &input, const AnswerTimes &times)
      : input(input), times(times) {}

  /// The run begins.
  void start();
  /// Seconds of searching, those of earlier runs included,
  double elapsed() const;
  /// of this run,
  double run() const;
  /// and of the earlier ones.
  double earlier() const;
  /// This run has asked for an evaluation that is not answered yet;
  void asks(llvm::StringRef name) { begun.asked.insert(name); }
  /// and whether it has.
  bool hasAsked(llvm::StringRef name) const {
    return begun.asked.contains(name);
  }
  /// For the next time that this run asks.
  const SearchInput::Begun &begunAt() const { return begun; }

private:
  double now() const;

  const SearchInput &input;
  const AnswerTimes &times;
  SearchInput::Begun begun;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_STATE_SEARCHCLOCK_H
