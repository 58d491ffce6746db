//===- SearchModel.cpp - Search the workloads of a model ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/SearchModel.h"
#include "RecordSearches.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Search/BudgetShares.h"
#include "fastk/Search/KnownIdeas.h"
#include "fastk/Search/Remeasure.h"
#include "fastk/Search/Search.h"
#include "fastk/Search/SearchReport.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include <chrono>

using namespace mlir;
using namespace fastk;

namespace {
/// A distinct workload.
struct SearchedWorkload {
  std::string name;
  /// Kept by the matcher.
  CanonicalForm *form = nullptr;
  /// The known winner, when it is searched all the same: kept by the matcher,
  /// or here when it is another machine's.
  const Winner *known = nullptr;
  std::unique_ptr<Winner> foreign;
  bool isWanted = false;
  /// Where its search is recorded.
  std::string journal;
};
} // namespace

/// The distinct workloads of static shape, in order of first appearance.
static llvm::Expected<std::vector<SearchedWorkload>>
collectTargets(ModuleOp module, WorkloadMatcher &matcher) {
  std::vector<SearchedWorkload> targets;
  llvm::StringSet<> seen;
  WalkResult result = module.walk([&](WorkloadOp workload) -> WalkResult {
    if (!workload.hasStaticShape())
      return WalkResult::advance();
    FailureOr<CanonicalForm *> form = matcher.form(workload);
    if (failed(form))
      return WalkResult::interrupt();
    if (seen.insert((*form)->key).second) {
      targets.emplace_back();
      targets.back().name = workload.getName().str();
      targets.back().form = *form;
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return llvm::createStringError("a workload has no canonical form");
  return targets;
}

/// The known winner as what the search begins with.
static std::vector<SearchSeed> seedsFrom(const Winner *winner) {
  if (!winner)
    return {};
  WinnerRecord record = winner->getRecord();
  SearchSeed seed;
  seed.variant = variantOf(*winner);
  seed.idea.id = seed.variant.ideaId;
  seed.idea.category =
      parseIdeaCategory(record.category).value_or(IdeaCategory::MemoryAccess);
  seed.idea.title = record.title;
  seed.idea.text = record.text;
  return {seed};
}

/// A cassette is of one target and, for the host, of one number of threads.
static llvm::Error checkReplay(const SearchModelOptions &options,
                               const WinnerFilter &filter) {
  const Cassette &cassette = *options.replay;
  if (cassette.target != filter.target)
    return llvm::createStringError(
        cassette.path + " was recorded for " + cassette.target + ", not for " +
        filter.target + ": replay it with --target=" + cassette.target);
  for (const RecordedSearch &search : cassette.searches)
    if (options.threads && cassette.target == "host" &&
        options.threads != search.device.threads)
      return llvm::createStringError(
          cassette.path + " was recorded with " +
          llvm::Twine(search.device.threads) + " threads, not with " +
          llvm::Twine(options.threads) + ": leave out --num-threads");
  return llvm::Error::success();
}

/// What the searches of this run know of their device.
static TargetDescription deviceOf(const SearchModelOptions &options) {
  // All searches of a cassette are of one machine; each may have known more or
  // less of it, and says so itself.
  if (options.replay && !options.replay->searches.empty())
    return options.replay->searches.front().device;
  if (options.device)
    return *options.device;
  TargetDescription device = describeHost();
  if (options.threads)
    device.threads = options.threads;
  return device;
}

/// What a replay says where it cannot go on.
static llvm::Error explainReplay(llvm::Error error,
                                 const RecordedSearch &recording,
                                 const JournalBinding &binding) {
  std::string differences = differentChoices(recording.binding, binding.search);
  if (differences.empty())
    return error;
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::toString(std::move(error)) +
                                     "\nwhat differs from the recorded "
                                     "search: " +
                                     differences);
}

/// `run` gets what can be recorded so far, whatever the end.
static llvm::Expected<SearchModelEnd>
searchAll(ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
          Evaluator &evaluator, const SearchModelOptions &options,
          RunRecord &run) {
  const WinnerFilter &filter = matcher.getFilter();
  if (options.replay)
    if (llvm::Error error = checkReplay(options, filter))
      return std::move(error);
  auto targets = collectTargets(module, matcher);
  if (!targets)
    return targets.takeError();
  std::vector<std::unique_ptr<Proposer>> proposers;
  SmallVector<Proposer *> proposerPointers;
  for (const std::string &name : options.proposers) {
    ProposerOptions own = options.proposerOptions;
    own.number = static_cast<int>(proposers.size()) + 1;
    auto proposer = createProposer(name, own);
    if (!proposer)
      return proposer.takeError();
    proposers.push_back(std::move(*proposer));
    proposerPointers.push_back(proposers.back().get());
  }

  SmallVector<SearchedWorkload *> sharers;
  size_t wanted = 0;
  for (SearchedWorkload &target : *targets) {
    target.journal = options.journal + "/" +
                     StringRef(target.form->key).take_front(16).str() + "-" +
                     stringifyPrecision(filter.loosest).str();
    const BankLookup &found =
        matcher.lookup(target.form->key, module.getContext());
    target.isWanted = !found.winner || options.searchHits;
    wanted += target.isWanted;
    // What an earlier run of this search finished has had its share of the
    // budget: the others get the same as without the interruption.
    if (target.isWanted || llvm::sys::fs::exists(target.journal))
      sharers.push_back(&target);
    target.known = found.winner.get();
    if (target.isWanted && found.otherMachine) {
      WinnerFilter any = filter;
      any.anyMachine = true;
      target.foreign =
          banks.lookup(target.form->key, any, module.getContext()).winner;
      target.known = target.foreign.get();
    }
  }
  const TargetDescription deviceNow = deviceOf(options);
  run.target = filter.target;
  run.device = deviceNow;
  run.answersLater = !evaluator.howToAnswer().empty();
  run.choices = choicesOf(filter.target, filter.loosest, deviceNow,
                          static_cast<int>(deviceNow.threads), proposerPointers,
                          options.search);
  run.replayed = options.replay.get();
  for (SearchedWorkload *target : sharers)
    run.searches.push_back({target->form->key, target->name, target->journal,
                            /*isComplete=*/!target->isWanted});

  llvm::json::Array report;
  SearchModelEnd end = SearchModelEnd::Done;
  BudgetShares shares(options.search.budget, sharers.size());
  size_t number = 0;
  int pending = 0, pendingPrompts = 0;
  for (auto [target, record] : llvm::zip_equal(sharers, run.searches)) {
    std::optional<SearchBudget> share = shares.next();
    if (!target->isWanted) {
      Journal::Spent spent = Journal::spentIn(target->journal);
      // A search with a larger budget does not count for more than its share.
      if (share)
        shares.spend(
            share->evaluations ? std::min(spent.evaluations, share->evaluations)
                               : spent.evaluations,
            share->minutes ? std::min(spent.seconds, share->minutes * 60)
                           : spent.seconds,
            share->tokens ? std::min(spent.tokens, share->tokens)
                          : spent.tokens,
            share->usd > 0 ? std::min(spent.usd, share->usd) : spent.usd);
      continue;
    }
    auto start = std::chrono::steady_clock::now();
    OpBuilder builder(module.getContext());
    OwningOpRef<ModuleOp> scratch = ModuleOp::create(module.getLoc());
    builder.setInsertionPointToEnd(scratch->getBody());
    FailureOr<LoweringOp> workload =
        buildDefaultLowering(builder, *target->form, filter.target);
    if (failed(workload))
      return llvm::createStringError("workload " + target->name +
                                     " has no canonical form");
    WorkloadFeatures features = analyzeWorkload(workload->getPattern());
    Roofline roofline = computeRoofline(workload->getPattern());

    SearchOptions search = options.search;
    std::string title =
        llvm::formatv("{0} [{1}/{2}]", features.name, ++number, wanted);
    auto skip = [&] {
      llvm::errs() << title << ": not searched: the budget is spent\n";
    };
    if (!share) {
      skip();
      continue;
    }
    search.budget = *share;
    const RecordedSearch *recording =
        options.replay ? options.replay->find(target->form->key) : nullptr;
    if (options.replay && !recording) {
      // Limits may have left it no share then.
      const SearchBudget &limits = options.search.budget;
      if (limits.evaluations || limits.minutes || limits.tokens || limits.usd) {
        skip();
        continue;
      }
      return llvm::createStringError(
          options.replay->path + " holds no search of workload " + title +
          ", " + StringRef(target->form->key).take_front(8) +
          ": replay the model that was recorded, with the banks that were "
          "there when it was");
    }

    TargetDescription device = recording ? recording->device : deviceNow;
    auto floor = [&] {
      return roofline.floorSeconds(device, CacheState::Warm,
                                   toRoofline(filter.loosest));
    };
    std::vector<SearchSeed> seeds = seedsFrom(target->known);
    std::unique_ptr<SearchProgress> progress = createStreamProgress(
        llvm::errs(), llvm::sys::Process::StandardErrIsDisplayed(), title);
    SearchInput input{ProposalContext{*workload,
                                      features,
                                      roofline,
                                      device,
                                      filter.loosest,
                                      static_cast<int>(device.threads),
                                      0,
                                      floor(),
                                      {},
                                      {}},
                      proposerPointers,
                      evaluator,
                      /*journal=*/nullptr,
                      progress.get(),
                      seeds,
                      /*clock=*/nullptr,
                      options.stopRequested};
    evaluator.whileWaiting = [&] { progress->tick(); };
    auto noTicks = llvm::scope_exit([&] { evaluator.whileWaiting = nullptr; });
    progress->preparing("compiling the default lowering and the oracle");
    llvm::Expected<Provenance> provenance = evaluator.provenance(*workload);
    progress->ended();
    if (!provenance)
      return provenance.takeError();
    input.provenance = std::move(*provenance);
    input.recording = recording;
    constexpr size_t kKnownIdeas = 6;
    std::vector<Idea> known;
    if (llvm::any_of(proposers, [](const auto &proposer) {
          return proposer->wantsManyAtOnce();
        }))
      known = knownIdeas(banks, *workload, features.name,
                         input.workload.floorSeconds, kKnownIdeas);
    input.known = known;
    // What this took is of the share, too.
    double prepared =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    if (recording)
      prepared = 0;
    if (search.budget.minutes > 0 && search.budget.minutes * 60 <= prepared) {
      shares.spend(0, prepared);
      skip();
      continue;
    }
    search.budget.minutes -= search.budget.minutes > 0 ? prepared / 60 : 0;
    JournalBinding binding = bindingOf(input, search);
    llvm::Expected<std::unique_ptr<Journal>> journal =
        Journal::open(target->journal, binding);
    if (!journal)
      return journal.takeError();
    input.journal = journal->get();
    if (!(*journal)->note().empty())
      progress->note((*journal)->note());
    if (llvm::Error error = (*journal)->recallDevice(device))
      return std::move(error);
    input.workload.floorSeconds = floor();

    llvm::Expected<SearchResult> result = runSearch(input, search);
    progress->ended();
    if (!result)
      return recording ? explainReplay(result.takeError(), *recording, binding)
                       : result.takeError();
    record.isComplete = result->end != SearchEnd::Pending &&
                        result->end != SearchEnd::Interrupted;
    if (result->end == SearchEnd::Pending) {
      // Until it has ended nobody knows what it leaves of its share.
      shares.spend(search.budget.evaluations, prepared, search.budget.tokens,
                   search.budget.usd);
      pending += result->counts.pending;
      pendingPrompts += result->counts.pendingPrompts;
      progress->note(result->counts.pendingPrompts > 0
                         ? llvm::formatv("{0} prompts pending, {1} answered",
                                         result->counts.pendingPrompts,
                                         result->models.exchanges)
                               .str()
                         : llvm::formatv("{0} pending, {1} answered",
                                         result->counts.pending,
                                         result->counts.evaluations)
                               .str());
      report.push_back(reportJson(input, search, *result));
      end = SearchModelEnd::Pending;
      continue;
    }
    shares.spend(result->counts.evaluations, prepared + result->elapsedSeconds,
                 result->models.inputTokens + result->models.outputTokens,
                 result->models.usd);
    printTrajectory(*result, title, llvm::errs());
    report.push_back(reportJson(input, search, *result));
    if (result->winner) {
      OwningOpRef<ModuleOp> winner = winnerModule(input, search, *result);
      llvm::Expected<WriteResult> written =
          banks.write(*winner, trajectoryJson(input, search, *result));
      if (!written)
        return llvm::createStringError(
            llvm::inconvertibleErrorCode(),
            llvm::toString(written.takeError()) +
                "\nnothing that was measured is lost: the same command goes on "
                "from the journal in " +
                target->journal);
      matcher.searchedAgain(target->form->key);
      llvm::errs() << (written->outcome == WriteOutcome::KeptExisting
                           ? "kept the winner in "
                           : "stored in ")
                   << written->folder << "\n";
    }
    if (result->end == SearchEnd::Interrupted) {
      end = SearchModelEnd::Interrupted;
      break;
    }
  }
  if (pendingPrompts > 0) {
    llvm::StringSet<> said;
    for (Proposer *proposer : proposerPointers)
      if (std::string how = proposer->howToAnswer();
          !how.empty() && said.insert(how).second)
        llvm::errs() << pendingPrompts
                     << (pendingPrompts == 1 ? " prompt is" : " prompts are")
                     << " pending: answer " << how
                     << ", then run the same command again\n";
  }
  if (pending > 0)
    llvm::errs() << pending
                 << (pending == 1 ? " evaluation is" : " evaluations are")
                 << " pending: answer with `" << evaluator.howToAnswer()
                 << (filter.target == "host" ? "`"
                                             : "` on a machine with the GPU")
                 << ", then run the same command again\n";
  if (!options.report.empty())
    if (llvm::Error error = writeReport(options.report, std::move(report)))
      return std::move(error);
  return end;
}

llvm::Expected<SearchModelEnd>
fastk::searchModel(ModuleOp module, BankStack &banks, WorkloadMatcher &matcher,
                   Evaluator &evaluator, const SearchModelOptions &options) {
  RunRecord run;
  llvm::Expected<SearchModelEnd> end =
      searchAll(module, banks, matcher, evaluator, options, run);
  if (options.record.empty() || (!end && run.searches.empty()))
    return end;
  // Also after an error: what was measured until then is worth as much.
  llvm::Expected<Cassette> cassette = recordSearches(run, llvm::errs());
  llvm::Error error = cassette ? writeCassette(*cassette, options.record)
                               : cassette.takeError();
  if (!error) {
    llvm::errs() << "recorded in " << options.record << "\n";
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
