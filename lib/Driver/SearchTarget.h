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
  bool isWanted = false;
  /// What an earlier run of this search finished has had its share of the
  /// budget: the others get the same as without the interruption.
  bool hasShare = false;
  /// Where its search is recorded.
  std::string journal;

  /// What finding out its default lowering's time has taken: in seconds and
  /// evaluations as its journal has it, and in seconds what had to be compiled
  /// for that in this run.
  struct ProfileCost {
    int64_t evaluations = 0;
    double seconds = 0, preparation = 0;
  };
  ProfileCost profile;
};

/// `workloads`, and which of them `run` searches.
std::vector<SearchTarget>
chooseTargets(const SearchRun &run, llvm::ArrayRef<DistinctWorkload> workloads);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_SEARCHTARGET_H
