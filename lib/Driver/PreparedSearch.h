//===- PreparedSearch.h - A search that is about to begin -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_PREPAREDSEARCH_H
#define FASTK_LIB_DRIVER_PREPAREDSEARCH_H

#include "SearchRun.h"
#include "SearchTarget.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Search/Search.h"

namespace fastk {

/// A search that is about to begin. What `input` refers to lives here.
struct PreparedSearch {
  /// Fills in what is known of the workload; `workload` stays null where it has
  /// no default lowering.
  PreparedSearch(const SearchRun &run, const SearchTarget &target);

  /// The time that no kernel of the workload beats, in seconds.
  double floorSeconds() const;
  /// Fills in what `evaluator` is asked for, and compiles what it judges with.
  llvm::Error makeInput(Evaluator &evaluator);
  /// Opens the journal, and takes from it what the search began with. Comes
  /// after makeInput(). False: another search has it at this moment, and
  /// `holder` says who.
  llvm::Expected<bool> openJournal(const JournalBinding &binding,
                                   std::string &holder);

  const SearchRun &run;
  const SearchTarget &target;
  mlir::OwningOpRef<mlir::ModuleOp> scratch;
  LoweringOp workload;
  WorkloadFeatures features;
  Roofline roofline;
  TargetDescription device;
  /// What is replayed; null where answers are new.
  const RecordedSearch *recording = nullptr;
  std::vector<SearchSeed> seeds;
  std::vector<Idea> known;
  /// Null: silent.
  std::unique_ptr<SearchProgress> progress;
  std::unique_ptr<Journal> journal;
  std::optional<SearchInput> input;
};

} // namespace fastk

#endif // FASTK_LIB_DRIVER_PREPAREDSEARCH_H
