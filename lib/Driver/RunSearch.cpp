//===- RunSearch.cpp - A search as the user set it ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/RunSearch.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/Driver/SearchBoundaries.h"
#include "fastk/Evaluate/LocalPool.h"
#include "fastk/Evaluate/Replay.h"
#include "fastk/Evaluate/Spool.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fastk;

/// What is searched for, as far as it is known.
static TargetDescription describeTarget(const SearchSettings &settings) {
  TargetDescription target;
  if (settings.device)
    target = settings.device->target();
  target.target = settings.target;
  return target;
}

/// A local worker needs the GPU that is searched for; nothing else would be
/// measured.
static llvm::Error checkLocalDevice(const SearchSettings &settings) {
  DeviceDescription here;
  std::string problem = cuda::queryCudaDevice(here);
  if (!problem.empty())
    return llvm::createStringError(
        "--evaluator=local needs a GPU: " + problem +
        "; with --evaluator=spool:DIR another machine evaluates");
  if ("cuda:" + here.arch != settings.target || !settings.device ||
      here.model != settings.device->model)
    return llvm::createStringError(
        "the GPU here is " + here.model + " (cuda:" + here.arch + "), not " +
        (settings.device ? settings.device->model : "the device of") + " (" +
        settings.target +
        "): search with --target=cuda, or with --evaluator=spool:DIR for the "
        "other");
  return llvm::Error::success();
}

/// A program of fastk.
static std::string toolOf(const SearchSettings &settings, StringRef name) {
  llvm::SmallString<128> path(settings.tools);
  llvm::sys::path::append(path, name);
  return std::string(path);
}

/// Reads the cassette where one is replayed.
static llvm::Expected<std::unique_ptr<Evaluator>>
makeEvaluator(SearchModelOptions &search) {
  if (!search.replayFile.empty()) {
    if (llvm::Error error =
            readCassette(search.replayFile).moveInto(search.replay))
      return std::move(error);
    return createReplayEvaluator(search.replay);
  }
  if (!search.spool.empty())
    return createSpool({search.jobs, search.spool});
  if (search.target != "host")
    if (llvm::Error error = checkLocalDevice(search))
      return std::move(error);
  return createLocalPool({search.jobs, toolOf(search, "fastk-worker")});
}

std::string fastk::journalOf(const SearchSettings &settings,
                             const BankStack &banks) {
  // Beside the bank, so that it is found again by the same command.
  return settings.journal.empty()
             ? banks.getBanks().front().getDirectory().str() + ".journal"
             : settings.journal;
}

llvm::Expected<SearchModelEnd>
fastk::runSearch(ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
                 const SearchSettings &settings, const SearchRequest &request) {
  if (banks.getBanks().empty())
    return llvm::createStringError(
        "there is no bank to store winners in: give one with --bank=DIR, or "
        "set FASTK_BANK or HOME");
  SearchModelOptions search{settings, request};
  search.journal = journalOf(settings, banks);
  search.jobs.compiler = toolOf(settings, "fastk-opt");
  search.jobs.reproducers = search.journal + ".reproducers";
  if (settings.target != "host")
    search.jobs.target = describeTarget(settings);
  llvm::Expected<std::unique_ptr<Evaluator>> evaluator = makeEvaluator(search);
  if (!evaluator)
    return evaluator.takeError();
  return settings.boundaries
             ? searchBoundaries(module, banks, matcher, **evaluator, search)
             : searchModel(module, banks, matcher, **evaluator, search);
}
