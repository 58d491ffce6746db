//===- AnswerTimes.h - When the answers of a search came --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a replay the recorded times count: so it takes, by its own account, as
// long as the recorded search, and ends where a limit ended that.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_STATE_ANSWERTIMES_H
#define FASTK_LIB_SEARCH_STATE_ANSWERTIMES_H

#include "fastk/Propose/LLM/RecordedSearch.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace fastk {

/// Answers are named as in the journal: exchanges and evaluations.
class AnswerTimes {
public:
  /// `recording` is null unless it is replayed.
  explicit AnswerTimes(const RecordedSearch *recording);

  bool isReplay() const { return recording; }
  /// An answer has come; `now` is the clock's opinion. Seconds of searching
  /// until then.
  double arrived(llvm::StringRef name, double now);
  /// The same for one that was found in the journal.
  void found(llvm::StringRef name, double elapsed);
  /// Seconds until the last answer.
  double last() const { return latest; }

  bool isRecorded(llvm::StringRef name) const { return times.contains(name); }
  /// True when the recorded search was at its end before it asked for this: it
  /// is complete, and all its answers of this kind were given. Only a limit can
  /// have ended it there.
  bool endsBefore(llvm::StringRef name) const;

private:
  const RecordedSearch *recording;
  llvm::StringMap<double> times;
  llvm::StringSet<> given;
  double latest = 0;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_STATE_ANSWERTIMES_H
