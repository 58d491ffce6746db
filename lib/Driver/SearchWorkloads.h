//===- SearchWorkloads.h - Search some workloads ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_SEARCHWORKLOADS_H
#define FASTK_LIB_DRIVER_SEARCHWORKLOADS_H

#include "DistinctWorkloads.h"
#include "fastk/Driver/SearchModel.h"

namespace fastk {

/// What searchModel() does, for workloads that are known already. They are of a
/// model at `loc`, and their forms outlive the search.
llvm::Expected<SearchModelEnd>
searchWorkloads(mlir::Location loc, llvm::ArrayRef<DistinctWorkload> workloads,
                BankStack &banks, WorkloadMatcher &matcher,
                Evaluator &evaluator, const SearchModelOptions &options);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_SEARCHWORKLOADS_H
