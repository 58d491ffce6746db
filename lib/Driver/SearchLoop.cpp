//===- SearchLoop.cpp - The searches of a model's workloads ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchLoop.h"
#include "PreparedSearch.h"
#include "SearchEvaluator.h"
#include "TargetBudgets.h"
#include "fastk/Search/SearchReport.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <cmath>
#include <map>

using namespace mlir;
using namespace fastk;

namespace {
/// The searches of a model, one after the other.
class SearchLoop {
public:
  SearchLoop(const SearchRun &run, ArrayRef<SearchTarget> targets,
             std::vector<ModelPart> parts, RunRecord &record)
      : run(run), targets(targets), parts(std::move(parts)), record(record),
        dealt(shareByGain(this->parts)),
        budgets(run.options.search.budget, targets, dealt.weights),
        promotionCost(run.evaluator.promotionCost()) {}

  llvm::Expected<SearchModelEnd> searchAll();

private:
  /// Searches the target at `index`, in its turn, and stores what is found. One
  /// that another process searches at this moment comes after the others; with
  /// `waits` that process is waited for.
  llvm::Error search(size_t index, const std::optional<SearchBudget> &share,
                     bool waits);
  /// Opens the journal. False: the search has another turn, or none.
  llvm::Expected<bool> openJournal(size_t index, PreparedSearch &prepared,
                                   const JournalBinding &binding,
                                   const SearchBudget &share, bool waits);
  /// True when another process has stored a winner since this one began.
  llvm::Expected<bool> isFoundMeanwhile(const SearchTarget &target);
  /// What follows from the end of its search.
  llvm::Error conclude(size_t index, const PreparedSearch &prepared,
                       const SearchOptions &options, const SearchResult &result,
                       StringRef title, double preparation);
  llvm::Error storeWinner(size_t index, const PreparedSearch &prepared,
                          const SearchOptions &options,
                          const SearchResult &result);
  void notePending(const SearchResult &result, SearchProgress &progress);

  /// Whether the replay, which holds no search of a workload, may be of this
  /// model all the same: the recorded run may have had nothing left for it.
  bool mayBeUnrecorded() const;
  RunRecord::Search &recordOf(const SearchTarget &target);

  void sayNotSearched(StringRef title, const llvm::Twine &why) const {
    run.said() << title << ": not searched: " << why << "\n";
  }
  void reportSkipped() const;
  void reportUnproved() const;
  /// The minutes ended a search, or left it none.
  void noteOutOfTime(size_t index, double evaluationSeconds);
  /// Whose searches these are, and what more minutes could gain.
  void reportWorthOfTime() const;
  void reportPending() const;

  const SearchRun &run;
  ArrayRef<SearchTarget> targets;
  std::vector<ModelPart> parts;
  RunRecord &record;
  ModelShares dealt;
  TargetBudgets budgets;

  llvm::json::Array report;
  SearchModelEnd end = SearchModelEnd::Done;
  /// Searches that had their turn, by index; of so many.
  std::map<size_t, size_t> turns;
  size_t allTurns = 0;
  /// Those that wait for another process, and their shares.
  std::vector<std::pair<size_t, SearchBudget>> waiting;
  int pending = 0, pendingPrompts = 0;
  /// Targets whose searches the minutes ended, or left none.
  std::vector<size_t> outOfTime;
  /// What a round and a second measurement take of those of these, so many, of
  /// which an evaluation was timed.
  double wantedSeconds = 0;
  int timed = 0;
  /// What a second measurement took at most, in evaluations.
  double promotionCost = 0;
  /// Variants whose second measurement is missing, and their workloads.
  std::vector<std::pair<std::string, UnprovenVariant>> unproven;
  /// What is to be said of workloads that the compiler lowers wrongly.
  std::string disagreements;
  /// Why evaluations failed through no fault of their variants, for the first
  /// search that ended so; and evaluations of this run that did not.
  std::string unjudged;
  int judged = 0;
  /// What a language model says that answers nothing; empty: there is none.
  std::string unanswered;
};
} // namespace

static bool isWanted(const SearchTarget &target) { return target.isWanted; }

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

bool SearchLoop::mayBeUnrecorded() const {
  const Cassette &replay = *run.options.replay;
  const SearchBudget &limits = run.options.search.budget;
  // Evaluations are dealt out again as they were; neither can the clock be
  // asked again nor where the run was interrupted.
  bool mayHaveEnded =
      limits.minutes > 0 || limits.tokens || limits.usd > 0 ||
      !llvm::all_of(replay.searches,
                    [](const RecordedSearch &each) { return each.isComplete; });
  return mayHaveEnded && llvm::any_of(targets, [&](const SearchTarget &each) {
           return replay.find(each.form->key);
         });
}

RunRecord::Search &SearchLoop::recordOf(const SearchTarget &target) {
  return *llvm::find_if(record.searches, [&](const RunRecord::Search &each) {
    return each.workload == target.form->key;
  });
}

void SearchLoop::reportSkipped() const {
  for (size_t index : dealt.tooSmall)
    if (targets[index].isWanted)
      run.said() << parts[index].name
                 << llvm::formatv(": not searched: less than {0:f1} % of the "
                                  "model's time could be gained\n",
                                  100 * kMinGain);
}

void SearchLoop::reportUnproved() const {
  for (const auto &[name, variant] : unproven)
    run.said() << name
               << llvm::formatv(": {0:f2}x in its first measurement, not "
                                "promoted: {1}\n",
                                variant.speedup, variant.why);
  if (!unproven.empty() && outOfTime.empty() && !run.options.replay)
    run.said() << "the same command goes on where it was\n";
}

void SearchLoop::noteOutOfTime(size_t index, double evaluationSeconds) {
  if (run.options.replay)
    return;
  outOfTime.push_back(index);
  timed += evaluationSeconds > 0;
  const SearchOptions &search = run.options.search;
  wantedSeconds += evaluationSeconds *
                   (search.ideas * search.implementations + promotionCost);
}

void SearchLoop::reportWorthOfTime() const {
  if (outOfTime.empty())
    return;
  double gain = 0, all = 0;
  bool isKnown = true;
  for (const auto &[index, part] : llvm::enumerate(parts)) {
    all += part.timeAfter();
    isKnown &= part.seconds > 0;
    if (!llvm::is_contained(outOfTime, index))
      continue;
    isKnown &= part.floorSeconds > 0;
    gain += std::max(0.0, part.timeAfter() - part.calls * part.floorSeconds);
  }
  run.said() << llvm::formatv("the budget of minutes ended {0} of {1} {2}",
                              outOfTime.size(), allTurns,
                              allTurns == 1 ? "search" : "searches");
  if (isKnown && all > 0)
    run.said() << llvm::formatv(
        "; at most {0} of {1} ({2:f0} %) could still be gained",
        formatSeconds(gain), formatSeconds(all), 100 * gain / all);
  // As many as there were, and no fewer than each needs for a round of ideas,
  // in tenths.
  double wanted = wantedSeconds * static_cast<double>(outOfTime.size()) /
                  std::max(timed, 1);
  double minutes =
      std::max(run.options.search.budget.minutes / run.options.partOfBudget,
               std::ceil(wanted / 6) / 10);
  run.said() << llvm::format("\nthey go on where they were, for %.4g %s more",
                             minutes, minutes == 1 ? "minute" : "minutes");
  if (run.options.commandWithMinutes)
    run.said() << ": " << run.options.commandWithMinutes(minutes);
  run.said() << "\n";
}

void SearchLoop::reportPending() const {
  if (pendingPrompts > 0) {
    llvm::StringSet<> said;
    for (Proposer *proposer : run.proposers)
      if (std::string how = proposer->pendingHint();
          !how.empty() && said.insert(how).second)
        run.said() << pendingPrompts
                   << (pendingPrompts == 1 ? " prompt is" : " prompts are")
                   << " pending: answer " << how
                   << ", then run the same command again\n";
  }
  if (pending > 0)
    run.said() << explainPending(pending, run.evaluator, run.filter().target);
}

void SearchLoop::notePending(const SearchResult &result,
                             SearchProgress &progress) {
  const SearchCounts &counts = result.counts;
  pending += counts.pending;
  pendingPrompts += counts.pendingPrompts;
  if (counts.pendingPrompts > 0)
    progress.note(
        llvm::formatv("{0} {1} pending, {2} answered", counts.pendingPrompts,
                      counts.pendingPrompts == 1 ? "prompt" : "prompts",
                      result.models.exchanges)
            .str());
  else
    progress.note(llvm::formatv("{0} pending, {1} answered", counts.pending,
                                counts.evaluations)
                      .str());
  end = SearchModelEnd::Pending;
}

llvm::Error SearchLoop::storeWinner(size_t index,
                                    const PreparedSearch &prepared,
                                    const SearchOptions &options,
                                    const SearchResult &result) {
  const SearchTarget &target = targets[index];
  OwningOpRef<ModuleOp> winner = winnerModule(*prepared.input, options, result);
  llvm::Expected<WriteResult> written = run.banks.write(
      *winner, trajectoryJson(*prepared.input, options, result));
  if (!written)
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        llvm::toString(written.takeError()) +
            "\nnothing that was measured is lost: the same command goes on "
            "from the journal in " +
            target.journal);
  run.matcher.searchedAgain(target.form->key);
  ModelPart &part = parts[index];
  const worker::TimingReport &timing = result.winner->verdict.timing;
  if (timing.speedupOverBaseline)
    part.secondsAfter =
        result.baselineSeconds / timing.speedupOverBaseline->median;
  if (part.seconds == 0)
    part.seconds = result.baselineSeconds;
  run.said() << (written->outcome == WriteOutcome::KeptExisting
                     ? "kept the winner in "
                     : "stored in ")
             << written->folder << "\n";
  return llvm::Error::success();
}

llvm::Error SearchLoop::conclude(size_t index, const PreparedSearch &prepared,
                                 const SearchOptions &options,
                                 const SearchResult &result, StringRef title,
                                 double preparation) {
  const SearchTarget &target = targets[index];
  report.push_back(reportJson(*prepared.input, options, result));
  judged += result.counts.judged;
  if (result.end == SearchEnd::Pending) {
    budgets.spendWhole(options.budget, preparation);
    notePending(result, *prepared.progress);
    return llvm::Error::success();
  }
  budgets.spend(target, result, preparation);
  promotionCost = std::max(promotionCost, result.promotionCost);
  if (result.isOutOfTime)
    noteOutOfTime(index, result.evaluationSeconds);
  printTrajectory(result, title, run.said());
  if (result.unproven)
    unproven.emplace_back(prepared.features.name, *result.unproven);
  if (result.end == SearchEnd::Disagreement)
    disagreements += (disagreements.empty() ? "" : "\n") + title.str() + ": " +
                     result.detail;
  if (result.end == SearchEnd::Unanswered)
    unanswered = title.str() + ": " + result.detail;
  bool isUnjudged = result.end == SearchEnd::Unjudged;
  if (isUnjudged && unjudged.empty())
    unjudged = title.str() + ": " + result.detail;
  if (result.end == SearchEnd::Interrupted)
    end = SearchModelEnd::Interrupted;
  else if (unanswered.empty() && !isUnjudged)
    recordOf(target).isComplete = true;
  return result.winner ? storeWinner(index, prepared, options, result)
                       : llvm::Error::success();
}

llvm::Expected<bool> SearchLoop::isFoundMeanwhile(const SearchTarget &target) {
  if (run.options.searchesHits())
    return false;
  if (llvm::Error error = run.banks.reopen())
    return std::move(error);
  run.matcher.searchedAgain(target.form->key);
  return run.matcher.lookup(target.form->key, run.loc.getContext()).winner !=
         nullptr;
}

llvm::Expected<bool> SearchLoop::openJournal(size_t index,
                                             PreparedSearch &prepared,
                                             const JournalBinding &binding,
                                             const SearchBudget &share,
                                             bool waits) {
  const SearchTarget &target = targets[index];
  SearchProgress &progress = *prepared.progress;
  bool hasWaited = false;
  for (;;) {
    // Asks for a second.
    std::string holder;
    llvm::Expected<bool> isOpen = prepared.openJournal(binding, holder);
    if (!isOpen)
      return isOpen;
    if (*isOpen)
      break;
    if (!waits) {
      progress.note(holder + " searches it at this moment: its turn comes "
                             "after the others");
      waiting.emplace_back(index, share);
      budgets.keep(target, share);
      return false;
    }
    if (!hasWaited) {
      progress.note("waiting for " + holder + ", which searches it");
      progress.preparing("waiting for " + holder);
    }
    hasWaited = true;
    if (run.isStopRequested()) {
      end = SearchModelEnd::Interrupted;
      return false;
    }
    progress.tick();
  }
  progress.ended();
  if (!hasWaited)
    return true;
  llvm::Expected<bool> isFound = isFoundMeanwhile(target);
  if (!isFound)
    return isFound;
  if (!*isFound)
    return true;
  progress.note("its winner is in the bank now");
  recordOf(target).isComplete = true;
  return false;
}

llvm::Error SearchLoop::search(size_t index,
                               const std::optional<SearchBudget> &share,
                               bool waits) {
  const SearchTarget &target = targets[index];
  auto start = std::chrono::steady_clock::now();
  PreparedSearch prepared(run, target);
  if (!prepared.workload)
    return llvm::createStringError("workload " + target.name +
                                   " has no canonical form");
  size_t turn = turns.try_emplace(index, turns.size() + 1).first->second;
  std::string title =
      llvm::formatv("{0} [{1}/{2}]", prepared.features.name, turn, allTurns);
  const Cassette *replay = run.options.replay.get();
  const RecordedSearch *recording = prepared.recording;
  if (!share) {
    if (budgets.isOutOfTime())
      noteOutOfTime(index, target.profile.evaluationSeconds);
    sayNotSearched(title, "the budget is spent");
    return llvm::Error::success();
  }
  if (replay && !recording) {
    StringRef key = StringRef(target.form->key).take_front(8);
    if (!mayBeUnrecorded())
      return llvm::createStringError(
          replay->path + " holds no search of workload " + title + ", " + key +
          ": replay the model that was recorded, with the banks that were "
          "there when it was");
    sayNotSearched(title, replay->path + " holds no search of " + key +
                              ": the recorded run ended before, or was of "
                              "another model");
    return llvm::Error::success();
  }

  prepared.progress =
      createStreamProgress(run.said(), run.said().is_displayed(), title);
  SearchProgress &progress = *prepared.progress;
  if (llvm::Error error = prepared.makeInput(run.evaluator))
    return error;
  // What this took is of the share, too; a replay takes no time.
  std::chrono::duration<double> sinceStart =
      std::chrono::steady_clock::now() - start;
  double preparation = recording ? 0 : sinceStart.count();
  SearchOptions options = run.options.search;
  options.budget = *share;
  if (options.budget.minutes > 0) {
    if (options.budget.minutes * 60 <= preparation) {
      budgets.spendPreparation(preparation);
      noteOutOfTime(index, target.profile.evaluationSeconds);
      sayNotSearched(title, "what it is judged with took " +
                                formatSeconds(preparation) +
                                " to compile, and its share of the budget "
                                "was " +
                                formatSeconds(60 * options.budget.minutes));
      return llvm::Error::success();
    }
    options.budget.minutes -= preparation / 60;
  }
  SearchInput &input = *prepared.input;
  input.promotionCost = promotionCost;
  input.earlier = target.profile.earlier;
  JournalBinding binding = bindingOf(input, options);
  llvm::Expected<bool> isOpen =
      openJournal(index, prepared, binding, *share, waits);
  if (!isOpen || !*isOpen)
    return isOpen.takeError();

  llvm::Expected<SearchResult> result = runSearch(input, options);
  progress.ended();
  if (!result)
    return recording ? explainReplay(result.takeError(), *recording, binding)
                     : result.takeError();
  return conclude(index, prepared, options, *result, title, preparation);
}

llvm::Expected<SearchModelEnd> SearchLoop::searchAll() {
  bool showsParts = llvm::count_if(targets, isWanted) > 1;
  if (showsParts)
    printModelParts(parts, /*isAfter=*/false, run.said());
  reportSkipped();
  allTurns = llvm::count_if(
      dealt.order, [&](size_t index) { return targets[index].isWanted; });
  for (size_t index : dealt.order) {
    const SearchTarget &target = targets[index];
    std::optional<SearchBudget> share = budgets.next(target, promotionCost);
    if (target.isWanted) {
      if (llvm::Error error = search(index, share, /*waits=*/allTurns == 1))
        return std::move(error);
    } else if (share) {
      budgets.spendEarlier(target, *share);
    }
    // It would answer nothing on the others either.
    if (end == SearchModelEnd::Interrupted || !unanswered.empty())
      break;
  }
  for (const auto &[index, share] : waiting) {
    if (end == SearchModelEnd::Interrupted || !unanswered.empty())
      break;
    if (llvm::Error error = search(index, share, /*waits=*/true))
      return std::move(error);
  }
  if (showsParts && end == SearchModelEnd::Done)
    printModelParts(parts, /*isAfter=*/true, run.said());
  reportUnproved();
  if (end != SearchModelEnd::Interrupted && unanswered.empty())
    reportWorthOfTime();
  reportPending();
  if (!run.options.report.empty())
    if (llvm::Error error = writeReport(run.options.report, std::move(report)))
      return std::move(error);
  if (!unanswered.empty() && end != SearchModelEnd::Interrupted)
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        unanswered +
            "\nnothing is lost: the same command asks again, and goes "
            "on from the journal in " +
            run.options.journal);
  // Where others were judged it may be the workload's: it was said, and the
  // model is compiled.
  if (end == SearchModelEnd::Done && !unjudged.empty() && judged == 0)
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        unjudged + "\nno evaluation of this run told anything of its variant" +
            (run.options.replay
                 ? "; the record has no others"
                 : "; nothing is lost: the same command evaluates again, and "
                   "goes on from the journal in " +
                       run.options.journal));
  // The others were searched all the same.
  if (end == SearchModelEnd::Done && !disagreements.empty())
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   disagreements);
  return end;
}

llvm::Expected<SearchModelEnd>
fastk::searchTargets(const SearchRun &run, ArrayRef<SearchTarget> targets,
                     std::vector<ModelPart> parts, RunRecord &record) {
  return SearchLoop(run, targets, std::move(parts), record).searchAll();
}
