//===- ModelJournals.h - The journals of a model's searches -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_MODELJOURNALS_H
#define FASTK_LIB_DRIVER_MODELJOURNALS_H

#include "fastk/Bank/Bank.h"
#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <limits>
#include <string>

namespace fastk {

/// The folder in `journals` where the search of the workload with this key is
/// recorded. A search that accepts other winners is another search.
std::string journalFolder(llvm::StringRef journals, llvm::StringRef key,
                          const WinnerFilter &accepted);

/// What a journal tells of the default lowering.
struct RecordedBaseline {
  /// Its time as measured first; 0 where none of the evaluations tells it.
  double seconds = 0;
  /// How many evaluations were looked at: up to the one that tells it.
  size_t evaluations = 0;
  /// Seconds that the longest of these took.
  double longestSeconds = 0;
};

/// Reads it from the first `atMost` evaluations of the journal in `folder`. The
/// same whether the search has only begun or is over: what is decided by it is
/// decided again. Nothing is known where there is no journal, or a damaged one:
/// whoever opens it to search says what is wrong.
RecordedBaseline
recordedBaseline(llvm::StringRef folder,
                 size_t atMost = std::numeric_limits<size_t>::max());

} // namespace fastk

#endif // FASTK_LIB_DRIVER_MODELJOURNALS_H
