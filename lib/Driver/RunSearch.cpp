//===- RunSearch.cpp - A search as the user set it ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/RunSearch.h"
#include "SearchEvaluator.h"
#include "fastk/Driver/SearchBoundaries.h"
#include "fastk/Evaluate/WatchedEvaluator.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace fastk;

std::string fastk::journalOf(const SearchSettings &settings,
                             const BankStack &banks) {
  // Beside the bank, so that it is found again by the same command.
  return settings.journal.empty()
             ? banks.getWritable()->getDirectory().str() + ".journal"
             : settings.journal;
}

/// As --evaluator names it.
static std::string evaluatorOf(const SearchSettings &settings) {
  if (!settings.replayFile.empty())
    return "replay:" + settings.replayFile;
  if (settings.ray)
    return "ray:" + settings.ray->address;
  return settings.spool.empty() ? "local" : "spool:" + settings.spool;
}

static void tellBegin(const SearchSettings &settings, const BankStack &banks,
                      const SearchRequest &request) {
  std::string evaluator = evaluatorOf(settings);
  EventLog::Fields fields = {
      {"version", FASTK_VERSION},
      {"target", settings.target},
      {"evaluator", evaluator},
      {"pid", int64_t(llvm::sys::Process::getProcessId())}};
  if (banks.getWritable()) {
    fields.emplace_back("bank", banks.getWritable()->getDirectory().str());
    fields.emplace_back("journal", journalOf(settings, banks));
  }
  request.tell("begins", "search: begins, with --evaluator=" + evaluator,
               fields);
}

/// Gives the end back.
static llvm::Expected<SearchModelEnd>
tellEnd(llvm::Expected<SearchModelEnd> end, const SearchRequest &request) {
  auto tell = [&](StringRef name, const std::string &text, bool isError) {
    request.tell("ends", text, {{"end", name.str()}}, isError);
  };
  bool isStopped = request.stopRequested && request.stopRequested();
  if (!end && !isStopped) {
    llvm::Error error = end.takeError();
    std::string text;
    llvm::raw_string_ostream(text) << "search: " << error;
    tell("error", text, /*isError=*/true);
    return std::move(error);
  }
  // What was cancelled shows up as an error.
  if (!end || *end == SearchModelEnd::Interrupted)
    tell("interrupted", "search: interrupted; the same command goes on", false);
  else if (*end == SearchModelEnd::Pending)
    tell("pending", "search: answers are pending; the same command goes on",
         false);
  else
    tell("done", "search: done", false);
  return end;
}

static llvm::Expected<SearchModelEnd>
runUntold(ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
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
  if (request.metrics || request.log)
    *evaluator =
        watchEvaluator(std::move(*evaluator), request.metrics, request.log);
  return settings.boundaries
             ? searchBoundaries(module, banks, matcher, **evaluator, search)
             : searchModel(module, banks, matcher, **evaluator, search);
}

llvm::Expected<SearchModelEnd>
fastk::runSearch(ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
                 const SearchSettings &settings, const SearchRequest &request) {
  tellBegin(settings, banks, request);
  return tellEnd(runUntold(module, banks, matcher, settings, request), request);
}
