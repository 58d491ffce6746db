//===- SearchModel.cpp - Search the workloads of a model ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/SearchModel.h"
#include "SearchWorkloads.h"

using namespace mlir;
using namespace fastk;

/// A cassette is of one target and, for the host, of one number of threads.
static llvm::Error checkReplay(const SearchModelOptions &options,
                               const WinnerFilter &filter) {
  const Cassette &cassette = *options.replay;
  if (cassette.target != filter.target)
    return llvm::createStringError(
        cassette.path + " was recorded for " + cassette.target + ", not for " +
        filter.target + ": replay it with --target=" + cassette.target);
  for (const RecordedSearch &search : cassette.searches)
    if (options.jobs.threads && cassette.target == "host" &&
        options.jobs.threads != search.device.threads)
      return llvm::createStringError(
          cassette.path + " was recorded with " +
          llvm::Twine(search.device.threads) + " threads, not with " +
          llvm::Twine(options.jobs.threads) + ": leave out --num-threads");
  return llvm::Error::success();
}

llvm::Expected<SearchModelEnd>
fastk::searchModel(ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
                   Evaluator &evaluator, const SearchModelOptions &options) {
  if (options.replay)
    if (llvm::Error error = checkReplay(options, matcher.getFilter()))
      return std::move(error);
  auto workloads = distinctWorkloads(module, matcher);
  if (!workloads)
    return workloads.takeError();
  return searchWorkloads(module.getLoc(), *workloads, banks, matcher, evaluator,
                         options);
}
