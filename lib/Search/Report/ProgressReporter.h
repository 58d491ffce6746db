//===- ProgressReporter.h - Says where a search stands ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_REPORT_PROGRESSREPORTER_H
#define FASTK_LIB_SEARCH_REPORT_PROGRESSREPORTER_H

#include "State/SearchState.h"
#include "fastk/Search/Progress.h"

namespace fastk {

/// Says nothing where nobody listens.
class ProgressReporter {
public:
  /// `costs` are those of language models, `rounds` as many as are allowed.
  ProgressReporter(const SearchState &search, const ModelCosts &costs,
                   int rounds)
      : search(search), costs(costs), rounds(rounds) {}

  void note(llvm::StringRef text) const;
  void evaluating(llvm::StringRef title) const;
  void evaluated(const Trial &trial) const;
  void roundEnded() const;
  void ended() const;

private:
  SearchStanding standing(llvm::StringRef title) const;

  const SearchState &search;
  const ModelCosts &costs;
  int rounds;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_REPORT_PROGRESSREPORTER_H
