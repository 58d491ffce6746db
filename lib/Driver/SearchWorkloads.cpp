//===- SearchWorkloads.cpp - Search some workloads ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchWorkloads.h"
#include "CheckSearch.h"
#include "ProfileModel.h"
#include "RecordSearches.h"
#include "SearchLoop.h"
#include "fastk/Search/Search.h"
#include <set>

using namespace mlir;
using namespace fastk;

/// What the searches of this run know of their device.
static TargetDescription deviceOf(const SearchModelOptions &options) {
  // All searches of a cassette are of one machine; each may have known more or
  // less of it, and says so itself.
  if (options.replay && !options.replay->searches.empty())
    return options.replay->searches.front().device;
  if (options.jobs.target)
    return *options.jobs.target;
  TargetDescription device = hostDescription();
  if (options.jobs.threads)
    device.threads = options.jobs.threads;
  return device;
}

static llvm::Expected<std::vector<std::unique_ptr<Proposer>>>
createProposers(const SearchModelOptions &options, StringRef target,
                bool asksMeanwhile) {
  std::vector<std::unique_ptr<Proposer>> proposers;
  for (const std::string &name : options.proposers) {
    ProposerOptions own = options.proposerOptions;
    own.target = target.str();
    own.asksMeanwhile = asksMeanwhile;
    own.number = static_cast<int>(proposers.size()) + 1;
    if (llvm::Error error =
            createProposer(name, own).moveInto(proposers.emplace_back()))
      return std::move(error);
  }
  return proposers;
}

/// What the proposers ask language models to write; empty where that differs,
/// as of two records.
static std::string writesOf(ArrayRef<Proposer *> proposers) {
  std::set<std::string> writes;
  for (const Proposer *proposer : proposers)
    writes.insert(proposer->writes().str());
  writes.erase("");
  return writes.size() == 1 ? *writes.begin() : "";
}

/// What can be recorded of `run` before its first search.
static void describeRun(const SearchRun &run, ArrayRef<SearchTarget> targets,
                        RunRecord &record) {
  const WinnerFilter &filter = run.filter();
  record.target = filter.target;
  record.device = run.device;
  record.writes = writesOf(run.proposers);
  record.answersLater = !run.evaluator.pendingHint().empty();
  record.choices = choicesOf(
      filter.target, filter.loosest, filter.requireDeterministic, run.device,
      static_cast<int>(run.device.threads), run.proposers, run.options.search);
  record.replayed = run.options.replay.get();
  for (const SearchTarget &target : targets)
    if (target.hasShare)
      record.searches.push_back({target.form->key, target.name, target.journal,
                                 /*isComplete=*/!target.isWanted});
}

/// What people wrote and nothing has tried would go by unseen.
static void sayUnused(const SearchRun &run) {
  // What it can be cut into is searched by itself.
  if (run.options.partOfBudget < 1)
    return;
  for (const Proposer *proposer : run.proposers)
    if (std::string what = proposer->unused(); !what.empty())
      run.said() << proposer->name()
                 << ": not tried, as no workload that was searched fits: "
                 << what << "; plan.json says so\n";
}

/// `record` gets what can be recorded so far, whatever the end.
static llvm::Expected<SearchModelEnd>
searchAll(Location loc, ArrayRef<DistinctWorkload> workloads, BankStack &banks,
          WorkloadMatcher &matcher, Evaluator &evaluator,
          const SearchModelOptions &options, RunRecord &record) {
  auto proposers =
      createProposers(options, matcher.getFilter().target, evaluator.waits());
  if (!proposers)
    return proposers.takeError();
  SearchRun run{loc, banks, matcher, evaluator, options, {}, deviceOf(options)};
  for (std::unique_ptr<Proposer> &proposer : *proposers)
    run.proposers.push_back(proposer.get());
  std::vector<SearchTarget> targets = chooseTargets(run, workloads);
  describeRun(run, targets, record);
  if (llvm::Error error = checkSearch(run, targets))
    return std::move(error);
  llvm::Expected<std::vector<ModelPart>> parts = profileModel(run, targets);
  if (!parts)
    return parts.takeError();
  llvm::Expected<SearchModelEnd> end =
      searchTargets(run, targets, std::move(*parts), record);
  if (end && *end == SearchModelEnd::Done)
    sayUnused(run);
  return end;
}

llvm::Expected<SearchModelEnd>
fastk::searchWorkloads(Location loc, ArrayRef<DistinctWorkload> workloads,
                       BankStack &banks, WorkloadMatcher &matcher,
                       Evaluator &evaluator,
                       const SearchModelOptions &options) {
  RunRecord record;
  llvm::Expected<SearchModelEnd> end =
      searchAll(loc, workloads, banks, matcher, evaluator, options, record);
  if (options.record.empty() || (!end && record.searches.empty()))
    return end;
  // Also after an error: what was measured until then is worth as much.
  llvm::Expected<Cassette> cassette = recordSearches(record, *options.said);
  llvm::Error error = cassette ? writeCassette(*cassette, options.record)
                               : cassette.takeError();
  if (!error) {
    *options.said << "recorded in " << options.record << "\n";
    return end;
  }
  error =
      llvm::createStringError(llvm::inconvertibleErrorCode(),
                              "--record: " + llvm::toString(std::move(error)) +
                                  "\nnothing is lost: the same command records "
                                  "it from the journal in " +
                                  options.journal);
  if (!end)
    return llvm::joinErrors(end.takeError(), std::move(error));
  return std::move(error);
}
