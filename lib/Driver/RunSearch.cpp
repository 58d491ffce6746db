//===- RunSearch.cpp - A search as the user set it ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/RunSearch.h"
#include "SearchEvaluator.h"
#include "fastk/Driver/SearchBoundaries.h"
#include "fastk/Evaluate/MeteredEvaluator.h"

using namespace mlir;
using namespace fastk;

std::string fastk::journalOf(const SearchSettings &settings,
                             const BankStack &banks) {
  // Beside the bank, so that it is found again by the same command.
  return settings.journal.empty()
             ? banks.getWritable()->getDirectory().str() + ".journal"
             : settings.journal;
}

llvm::Expected<SearchModelEnd>
fastk::runSearch(ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
                 const SearchSettings &settings, const SearchRequest &request) {
  if (!banks.getWritable())
    return llvm::createStringError(
        "there is no bank to store winners in: name a folder with --bank=DIR, "
        "or set FASTK_BANK or HOME");
  SearchModelOptions search{settings, request};
  search.journal = journalOf(settings, banks);
  search.jobs.reproducers = search.journal + ".reproducers";
  llvm::Expected<std::unique_ptr<Evaluator>> evaluator =
      makeEvaluator(search, /*atOnce=*/settings.boundaries);
  if (!evaluator)
    return evaluator.takeError();
  if (request.metrics)
    *evaluator = meterEvaluator(std::move(*evaluator), *request.metrics);
  return settings.boundaries
             ? searchBoundaries(module, banks, matcher, **evaluator, search)
             : searchModel(module, banks, matcher, **evaluator, search);
}
