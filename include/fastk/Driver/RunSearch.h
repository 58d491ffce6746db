//===- RunSearch.h - A search as the user set it ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_RUNSEARCH_H
#define FASTK_DRIVER_RUNSEARCH_H

#include "fastk/Driver/SearchModel.h"

namespace fastk {

/// The folder of journals that a search with these settings has.
std::string journalOf(const SearchSettings &settings, const BankStack &banks);

/// Searches the workloads of `module` and stores winners in the first bank.
llvm::Expected<SearchModelEnd>
runSearch(mlir::ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
          const SearchSettings &settings, const SearchRequest &request);

/// The same by the pass fastk-search, so that a caller's search is that of a
/// pipeline, and is timed as a step.
llvm::Expected<SearchModelEnd>
runSearchPass(mlir::ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
              const SearchSettings &settings, const SearchRequest &request);

/// Registers fastk-search.
void registerSearchPass();

} // namespace fastk

#endif // FASTK_DRIVER_RUNSEARCH_H
