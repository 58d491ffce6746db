//===- SearchModel.cpp - Search the workloads of a model ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/SearchModel.h"
#include "DistinctWorkloads.h"
#include "ModelJournals.h"
#include "RecordSearches.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Search/BudgetShares.h"
#include "fastk/Search/KnownIdeas.h"
#include "fastk/Search/ModelShares.h"
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
  /// How often the model has it.
  int64_t calls = 0;
  /// What finding out its default lowering's time has taken, as its journal
  /// has it, and what had to be compiled for that in this run.
  int64_t profileEvaluations = 0;
  double profileSeconds = 0, profilePreparation = 0;
};

/// What all searches of a run have in common.
struct SearchRun {
  ModuleOp module;
  BankStack &banks;
  const WinnerFilter &filter;
  Evaluator &evaluator;
  const SearchModelOptions &options;
  SmallVector<Proposer *> proposers;
  TargetDescription device;
};

/// A search that is about to begin. What `input` refers to lives here.
struct PreparedSearch {
  PreparedSearch(const SearchRun &run, const SearchedWorkload &target);

  OwningOpRef<ModuleOp> scratch;
  LoweringOp workload;
  WorkloadFeatures features;
  Roofline roofline;
  TargetDescription device;
  const RecordedSearch *recording = nullptr;
  std::vector<SearchSeed> seeds;
  std::vector<Idea> known;
  std::unique_ptr<SearchProgress> progress;
  std::unique_ptr<Journal> journal;
  std::optional<SearchInput> input;
};

/// Ends a search when the default lowering's time is known, or when so many
/// evaluations have not told it.
class ProfilingEvaluator : public Evaluator {
public:
  static constexpr int kEvaluations = 3;

  explicit ProfilingEvaluator(Evaluator &evaluator) : evaluator(evaluator) {}
  llvm::Expected<Provenance> provenance(LoweringOp workload) override {
    return evaluator.provenance(workload);
  }
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request) override {
    auto verdict = evaluator.evaluate(request);
    ++evaluations;
    isAnswering = true;
    if (verdict && *verdict)
      isKnown |= (*verdict)->timing.baseline.has_value();
    return verdict;
  }
  /// What the search asks before each evaluation, and after each: then the
  /// answer is no, for what fails while a search is ended is not believed.
  bool endsSearch() {
    if (isAnswering) {
      isAnswering = false;
      return false;
    }
    return isKnown || evaluations >= kEvaluations;
  }

private:
  Evaluator &evaluator;
  int evaluations = 0;
  bool isKnown = false, isAnswering = false;
};
} // namespace

/// What of the distinct workloads of `module` the search keeps.
static llvm::Expected<std::vector<SearchedWorkload>>
collectTargets(ModuleOp module, WorkloadMatcher &matcher) {
  auto distinct = distinctWorkloads(module, matcher);
  if (!distinct)
    return distinct.takeError();
  std::vector<SearchedWorkload> targets;
  for (DistinctWorkload &each : *distinct) {
    SearchedWorkload &target = targets.emplace_back();
    target.name = each.workload.getName().str();
    target.form = each.form;
    target.calls = each.calls;
  }
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

PreparedSearch::PreparedSearch(const SearchRun &run,
                               const SearchedWorkload &target)
    : scratch(ModuleOp::create(ModuleOp(run.module).getLoc())) {
  OpBuilder builder(ModuleOp(run.module).getContext());
  builder.setInsertionPointToEnd(scratch->getBody());
  FailureOr<LoweringOp> built =
      buildDefaultLowering(builder, *target.form, run.filter.target);
  if (failed(built))
    return;
  workload = *built;
  features = analyzeWorkload(workload.getPattern());
  roofline = computeRoofline(workload.getPattern());
  if (run.options.replay)
    recording = run.options.replay->find(target.form->key);
  device = recording ? recording->device : run.device;
  seeds = seedsFrom(target.known);
}

/// The time that no kernel of the workload beats.
static double floorOf(const PreparedSearch &prepared, Precision loosest) {
  return prepared.roofline.floorSeconds(prepared.device, CacheState::Warm,
                                        toRoofline(loosest));
}

/// Fills in what `evaluator` is asked for, and compiles what it judges with.
static llvm::Error makeInput(const SearchRun &run, Evaluator &evaluator,
                             PreparedSearch &prepared) {
  prepared.input.emplace(
      SearchInput{ProposalContext{prepared.workload,
                                  prepared.features,
                                  prepared.roofline,
                                  prepared.device,
                                  run.filter.loosest,
                                  static_cast<int>(prepared.device.threads),
                                  0,
                                  floorOf(prepared, run.filter.loosest),
                                  {},
                                  {}},
                  run.proposers, evaluator,
                  /*journal=*/nullptr, prepared.progress.get(), prepared.seeds,
                  /*clock=*/nullptr, run.options.stopRequested});
  if (prepared.progress)
    prepared.progress->preparing(
        "compiling the default lowering and the oracle");
  llvm::Expected<Provenance> provenance =
      run.evaluator.provenance(prepared.workload);
  if (prepared.progress)
    prepared.progress->ended();
  if (!provenance)
    return provenance.takeError();
  prepared.input->provenance = std::move(*provenance);
  prepared.input->recording = prepared.recording;
  constexpr size_t kKnownIdeas = 6;
  if (llvm::any_of(run.proposers,
                   [](Proposer *each) { return each->wantsManyAtOnce(); }))
    prepared.known =
        knownIdeas(run.banks, prepared.workload, prepared.features.name,
                   prepared.input->workload.floorSeconds, kKnownIdeas);
  prepared.input->known = prepared.known;
  return llvm::Error::success();
}

/// Opens the journal, and takes from it what the search began with.
static llvm::Error openJournal(const SearchRun &run,
                               const SearchedWorkload &target,
                               const JournalBinding &binding,
                               PreparedSearch &prepared) {
  if (llvm::Error error =
          Journal::open(target.journal, binding).moveInto(prepared.journal))
    return error;
  prepared.input->journal = prepared.journal.get();
  if (!prepared.journal->note().empty() && prepared.progress)
    prepared.progress->note(prepared.journal->note());
  if (llvm::Error error = prepared.journal->recallDevice(prepared.device))
    return error;
  prepared.input->workload.floorSeconds = floorOf(prepared, run.filter.loosest);
  return llvm::Error::success();
}

/// The default lowering's time as the journal of `target` has it; 0 where it is
/// not there. Says in `target` what it took.
static double readProfile(SearchedWorkload &target) {
  RecordedBaseline baseline =
      recordedBaseline(target.journal, ProfilingEvaluator::kEvaluations);
  target.profileEvaluations = baseline.evaluations;
  target.profileSeconds = baseline.elapsedSeconds;
  return baseline.seconds;
}

/// Measures the default lowering of `target`: begins its search, and leaves it
/// after the first evaluation that tells. What was evaluated is in the journal,
/// where the search finds it again.
static llvm::Expected<double> profile(const SearchRun &run,
                                      SearchedWorkload &target) {
  double baseline = readProfile(target);
  if (baseline > 0 ||
      target.profileEvaluations >= ProfilingEvaluator::kEvaluations)
    return baseline;
  auto start = std::chrono::steady_clock::now();
  PreparedSearch prepared(run, target);
  ProfilingEvaluator evaluator(run.evaluator);
  if (llvm::Error error = makeInput(run, evaluator, prepared))
    return std::move(error);
  if (!prepared.recording)
    target.profilePreparation =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
  SearchOptions search = run.options.search;
  if (llvm::Error error = openJournal(
          run, target, bindingOf(*prepared.input, search), prepared))
    return std::move(error);
  prepared.input->stopRequested = [&] {
    return evaluator.endsSearch() ||
           (run.options.stopRequested && run.options.stopRequested());
  };
  llvm::Expected<SearchResult> result = runSearch(*prepared.input, search);
  if (!result)
    return result.takeError();
  prepared.journal.reset();
  return readProfile(target);
}

/// Evaluations that the budget must have for each workload before one is spent
/// on finding out where the time goes.
static constexpr int64_t kEvaluationsToProfile = 4;
/// The part of the minutes that this may take.
static constexpr double kMinutesToProfile = 0.25;

/// What the model consists of, and what of its time is known: of workloads with
/// a winner by its record, of others by measuring them where that can be done
/// at once and costs little beside the search.
static llvm::Expected<std::vector<ModelPart>>
collectParts(const SearchRun &run, MutableArrayRef<SearchedWorkload> targets,
             ArrayRef<SearchedWorkload *> sharers) {
  const SearchBudget &budget = run.options.search.budget;
  bool canProfile =
      sharers.size() > 1 && run.evaluator.howToAnswer().empty() &&
      (budget.evaluations == 0 ||
       budget.evaluations >=
           kEvaluationsToProfile * static_cast<int64_t>(sharers.size())) &&
      llvm::none_of(run.proposers,
                    [](Proposer *each) { return each->wantsManyAtOnce(); });
  // The verdicts of a recorded search that was answered later are not there one
  // by one.
  if (run.options.replay)
    for (const RecordedSearch &search : run.options.replay->searches)
      canProfile &= !search.answersLater;
  auto start = std::chrono::steady_clock::now();
  auto isLate = [&] {
    std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - start;
    return budget.minutes > 0 &&
           spent.count() > kMinutesToProfile * 60 * budget.minutes;
  };
  std::vector<ModelPart> parts;
  for (auto [index, target] : llvm::enumerate(targets)) {
    PreparedSearch prepared(run, target);
    ModelPart part;
    part.calls = target.calls;
    part.isSearched = llvm::is_contained(sharers, &target);
    if (prepared.workload) {
      part.name = prepared.features.name + " " +
                  describeShapes(prepared.workload) + " " +
                  StringRef(target.form->key).take_front(8).str();
      part.floorSeconds = floorOf(prepared, run.filter.loosest);
    }
    bool mayMeasure =
        canProfile && !isLate() &&
        !(run.options.stopRequested && run.options.stopRequested()) &&
        (!run.options.replay || prepared.recording);
    if (part.isSearched && !target.isWanted) {
      part.seconds = readProfile(target);
    } else if (part.isSearched && mayMeasure && prepared.workload) {
      llvm::errs() << llvm::formatv("measuring {0} [{1}/{2}]\n",
                                    prepared.features.name, index + 1,
                                    targets.size());
      if (llvm::Error error = profile(run, target).moveInto(part.seconds))
        return std::move(error);
    }
    // The search deals out by the default lowering's time, whether it is the
    // first run or goes on after some of it is done.
    if (target.known && !target.foreign) {
      WinnerRecord record = target.known->getRecord();
      if (part.seconds == 0)
        part.seconds = record.medianNs * 1e-9;
      else if (record.speedup > 0)
        part.secondsAfter = part.seconds / record.speedup;
    }
    parts.push_back(std::move(part));
  }
  return parts;
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
    target.journal =
        journalFolder(options.journal, target.form->key, filter.loosest);
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

  SearchRun common{module,           banks,    filter, evaluator, options,
                   proposerPointers, deviceNow};
  llvm::Expected<std::vector<ModelPart>> parts =
      collectParts(common, *targets, sharers);
  if (!parts)
    return parts.takeError();
  bool showsParts = wanted > 1;
  if (showsParts)
    printModelParts(*parts, /*isAfter=*/false, llvm::errs());
  ModelShares dealt = shareByGain(*parts);
  for (size_t index : dealt.tooSmall)
    if ((*targets)[index].isWanted)
      llvm::errs() << (*parts)[index].name
                   << llvm::formatv(": not searched: less than {0:f1} % of the "
                                    "model's time could be gained\n",
                                    100 * kLeastGain);

  llvm::json::Array report;
  SearchModelEnd end = SearchModelEnd::Done;
  // What finding out where the time goes has cost is not dealt out, but given
  // to whom it was spent on.
  SearchBudget left = options.search.budget;
  for (const SearchedWorkload &target : *targets) {
    // Not down to 0, which stands for no limit.
    if (left.evaluations > 0)
      left.evaluations =
          std::max<int64_t>(left.evaluations - target.profileEvaluations, 1);
    if (left.minutes > 0)
      left.minutes =
          std::max(left.minutes -
                       (target.profileSeconds + target.profilePreparation) / 60,
                   1e-9);
  }
  BudgetShares shares(left, dealt.weights);
  size_t number = 0;
  wanted = llvm::count_if(
      dealt.order, [&](size_t index) { return (*targets)[index].isWanted; });
  int pending = 0, pendingPrompts = 0;
  for (size_t index : dealt.order) {
    SearchedWorkload *target = &(*targets)[index];
    RunRecord::Search &record =
        *llvm::find_if(run.searches, [&](const RunRecord::Search &each) {
          return each.workload == target->form->key;
        });
    std::optional<SearchBudget> share = shares.next();
    if (share && share->evaluations)
      share->evaluations += target->profileEvaluations;
    if (share && share->minutes > 0)
      share->minutes += target->profileSeconds / 60;
    if (!target->isWanted) {
      Journal::Spent spent = Journal::spentIn(target->journal);
      // A search with a larger budget does not count for more than its share.
      if (share)
        shares.spend(
            (share->evaluations
                 ? std::min(spent.evaluations, share->evaluations)
                 : spent.evaluations) -
                target->profileEvaluations,
            (share->minutes ? std::min(spent.seconds, share->minutes * 60)
                            : spent.seconds) -
                target->profileSeconds,
            share->tokens ? std::min(spent.tokens, share->tokens)
                          : spent.tokens,
            share->usd > 0 ? std::min(spent.usd, share->usd) : spent.usd);
      continue;
    }
    auto start = std::chrono::steady_clock::now();
    PreparedSearch prepared(common, *target);
    if (!prepared.workload)
      return llvm::createStringError("workload " + target->name +
                                     " has no canonical form");
    SearchOptions search = options.search;
    std::string title = llvm::formatv("{0} [{1}/{2}]", prepared.features.name,
                                      ++number, wanted);
    auto skip = [&] {
      llvm::errs() << title << ": not searched: the budget is spent\n";
    };
    if (!share) {
      skip();
      continue;
    }
    search.budget = *share;
    const RecordedSearch *recording = prepared.recording;
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

    prepared.progress = createStreamProgress(
        llvm::errs(), llvm::sys::Process::StandardErrIsDisplayed(), title);
    SearchProgress *progress = prepared.progress.get();
    evaluator.whileWaiting = [&] { progress->tick(); };
    auto noTicks = llvm::scope_exit([&] { evaluator.whileWaiting = nullptr; });
    if (llvm::Error error = makeInput(common, evaluator, prepared))
      return std::move(error);
    SearchInput &input = *prepared.input;
    // What this took is of the share, too.
    double preparation =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    if (recording)
      preparation = 0;
    if (search.budget.minutes > 0 &&
        search.budget.minutes * 60 <= preparation) {
      shares.spend(0, preparation);
      skip();
      continue;
    }
    search.budget.minutes -= search.budget.minutes > 0 ? preparation / 60 : 0;
    JournalBinding binding = bindingOf(input, search);
    if (llvm::Error error = openJournal(common, *target, binding, prepared))
      return std::move(error);

    llvm::Expected<SearchResult> result = runSearch(input, search);
    progress->ended();
    if (!result)
      return recording ? explainReplay(result.takeError(), *recording, binding)
                       : result.takeError();
    record.isComplete = result->end != SearchEnd::Pending &&
                        result->end != SearchEnd::Interrupted;
    if (result->end == SearchEnd::Pending) {
      // Until it has ended nobody knows what it leaves of its share.
      shares.spend(search.budget.evaluations, preparation, search.budget.tokens,
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
    shares.spend(result->counts.evaluations - target->profileEvaluations,
                 preparation + result->elapsedSeconds - target->profileSeconds,
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
      ModelPart &part = (*parts)[index];
      const worker::TimingReport &timing = result->winner->verdict.timing;
      if (timing.speedupOverBaseline)
        part.secondsAfter =
            result->baselineSeconds / timing.speedupOverBaseline->median;
      if (part.seconds == 0)
        part.seconds = result->baselineSeconds;
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
  if (showsParts && end == SearchModelEnd::Done)
    printModelParts(*parts, /*isAfter=*/true, llvm::errs());
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
