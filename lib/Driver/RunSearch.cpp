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

/// `cassette` is what is replayed, if anything.
static llvm::Expected<std::unique_ptr<Evaluator>>
makeEvaluator(const SearchSettings &settings, const JobMakerOptions &jobs,
              std::shared_ptr<const Cassette> &cassette) {
  if (!settings.replay.empty()) {
    if (llvm::Error error = readCassette(settings.replay).moveInto(cassette))
      return std::move(error);
    return createReplayEvaluator(cassette);
  }
  if (!settings.spool.empty())
    return createSpool({jobs, settings.spool});
  if (settings.target != "host")
    if (llvm::Error error = checkLocalDevice(settings))
      return std::move(error);
  llvm::SmallString<128> worker(settings.tools);
  llvm::sys::path::append(worker, "fastk-worker");
  return createLocalPool({jobs, std::string(worker)});
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
  llvm::SmallString<128> compiler(settings.tools);
  llvm::sys::path::append(compiler, "fastk-opt");
  JobMakerOptions jobs;
  jobs.compiler = std::string(compiler);
  jobs.threads = settings.threads;
  jobs.requireDeterministic = settings.requireDeterministic;
  if (settings.target != "host")
    jobs.target = describeTarget(settings);
  SearchModelOptions search;
  search.journal = journalOf(settings, banks);
  jobs.reproducers = search.journal + ".reproducers";
  llvm::Expected<std::unique_ptr<Evaluator>> evaluator =
      makeEvaluator(settings, jobs, search.replay);
  if (!evaluator)
    return evaluator.takeError();

  search.searchHits = settings.scope == SearchScope::All;
  search.proposers = settings.proposers;
  search.proposerOptions = settings.proposerOptions;
  search.search = settings.search;
  search.threads = settings.threads;
  search.report = settings.report;
  search.record = settings.record;
  search.device = jobs.target;
  search.commandWithMinutes = request.commandWithMinutes;
  search.stopRequested = request.stopRequested;
  return settings.boundaries
             ? searchBoundaries(module, settings.fusion, banks, matcher,
                                **evaluator, search)
             : searchModel(module, banks, matcher, **evaluator, search);
}
