//===- SearchTarget.h - A workload that may be searched ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_SEARCHTARGET_H
#define FASTK_LIB_DRIVER_SEARCHTARGET_H

#include "DistinctWorkloads.h"
#include "SearchRun.h"
#include "fastk/Bank/Winner.h"
#include "fastk/Search/Search.h"

namespace fastk {

/// A distinct workload of the model.
struct SearchTarget {
  std::string name;
  /// Kept by the matcher.
  CanonicalForm *form = nullptr;
  /// How often the model has it.
  int64_t calls = 0;
  /// The known winner, when it is searched all the same: kept by the matcher,
  /// or here when it is another machine's.
  const Winner *known = nullptr;
  std::unique_ptr<Winner> foreign;
  /// It is from a server that is not trusted: its record says nothing. And
  /// nobody has judged it here.
  bool isOfStranger = false, isUnjudged = false;
  bool isWanted = false;
  /// What an earlier run of this search finished has had its share of the
  /// budget: the others get the same as without the interruption.
  bool hasShare = false;
  /// Where its search is recorded.
  std::string journal;

  /// What finding out its default lowering's time has taken: evaluations as its
  /// journal has it, and of this run the seconds, and those of what had to be
  /// compiled for it.
  struct ProfileCost {
    int64_t evaluations = 0;
    double seconds = 0, preparation = 0;
    /// Of the longest of these evaluations.
    double evaluationSeconds = 0;
    /// What the journal held before, if it was made in this run.
    std::optional<SearchInput::Earlier> earlier;
  };
  ProfileCost profile;
};

/// `workloads`, and which of them `run` searches.
std::vector<SearchTarget>
chooseTargets(const SearchRun &run, llvm::ArrayRef<DistinctWorkload> workloads);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_SEARCHTARGET_H
