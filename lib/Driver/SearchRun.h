//===- SearchRun.h - What all searches of a run share -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_SEARCHRUN_H
#define FASTK_LIB_DRIVER_SEARCHRUN_H

#include "fastk/Driver/SearchModel.h"
#include "mlir/IR/Location.h"

namespace fastk {

/// What all searches of a run have in common.
struct SearchRun {
  /// The model's.
  mlir::Location loc;
  BankStack &banks;
  WorkloadMatcher &matcher;
  Evaluator &evaluator;
  const SearchModelOptions &options;
  llvm::SmallVector<Proposer *> proposers;
  /// What is searched for, as far as it is known.
  TargetDescription device;

  llvm::raw_ostream &said() const { return *options.said; }
  const WinnerFilter &filter() const { return matcher.getFilter(); }
  /// Of one workload.
  WinnerFilter filterFor(llvm::StringRef key) const {
    return matcher.filterFor(key);
  }
  bool isStopRequested() const {
    return options.stopRequested && options.stopRequested();
  }
};

} // namespace fastk

#endif // FASTK_LIB_DRIVER_SEARCHRUN_H
