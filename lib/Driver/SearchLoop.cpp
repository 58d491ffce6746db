//===- SearchLoop.cpp - The searches of a model's workloads ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchLoop.h"
#include "OnceProgress.h"
#include "fastk/Search/SearchReport.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fastk;

/// Of so many targets, from the one whose turn it is, the evaluator knows.
static constexpr size_t kLooksAhead = 4;

static bool isWanted(const SearchTarget &target) { return target.isWanted; }

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
  sayStored(run.options, target.form->key, *written);
  return llvm::Error::success();
}

llvm::Error SearchLoop::conclude(size_t index, const BegunSearch &search,
                                 const SearchResult &result) {
  const SearchTarget &target = targets[index];
  const PreparedSearch &prepared = search.prepared;
  const SearchOptions &options = search.options;
  const std::string &title = search.title;
  report.push_back(reportJson(*prepared.input, options, result));
  judged += result.counts.judged;
  tellEnd(search, target, result);
  if (result.end == SearchEnd::Pending) {
    if (!search.soFar)
      budgets.spendWhole(options.budget, search.preparation);
    notePending(result, *prepared.progress);
    return llvm::Error::success();
  }
  if (search.soFar)
    budgets.spendKept(target, search.kept, result, run.evaluator.workers());
  else
    budgets.spend(target, result, search.preparation);
  promotionCost = std::max(promotionCost, result.promotionCost);
  if (result.isOutOfTime)
    noteOutOfTime(index, result.evaluationSeconds);
  printTrajectory(result, title, run.said());
  reportUntried(search, result);
  if (result.unproven)
    unproven.emplace_back(prepared.features.name, *result.unproven);
  if (result.end == SearchEnd::Disagreement)
    disagreements +=
        (disagreements.empty() ? "" : "\n") + title + ": " + result.detail;
  if (result.end == SearchEnd::Unanswered)
    unanswered = title + ": " + result.detail;
  bool isUnjudged = result.end == SearchEnd::Unjudged;
  if (isUnjudged && unjudged.empty())
    unjudged = title + ": " + result.detail;
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

void SearchLoop::lookAhead(ArrayRef<size_t> order) {
  if (!run.evaluator.waits())
    return;
  size_t left = kLooksAhead;
  for (size_t index : order) {
    if (!targets[index].isWanted)
      continue;
    if (left-- == 0)
      break;
    std::unique_ptr<BegunSearch> &begun = ahead[index];
    if (begun)
      continue;
    begun = std::make_unique<BegunSearch>(run, targets[index]);
    if (begun->prepared.workload)
      run.evaluator.expect(begun->prepared.workload);
  }
}

llvm::Error SearchLoop::search(size_t index,
                               const std::optional<SearchBudget> &share,
                               bool waits) {
  const SearchTarget &target = targets[index];
  auto start = std::chrono::steady_clock::now();
  std::unique_ptr<BegunSearch> begun = std::move(ahead[index]);
  ahead.erase(index);
  if (!begun)
    begun = std::make_unique<BegunSearch>(run, target);
  PreparedSearch &prepared = begun->prepared;
  if (!prepared.workload)
    return llvm::createStringError("workload " + target.name +
                                   " has no canonical form");
  size_t turn = turns.try_emplace(index, turns.size() + 1).first->second;
  std::string &title = begun->title;
  title =
      llvm::formatv("{0} [{1}/{2}]", prepared.features.name, turn, allTurns);
  const Cassette *replay = run.options.replay.get();
  const RecordedSearch *recording = prepared.recording;
  if (!share) {
    if (budgets.isOutOfTime() ||
        (run.evaluator.waits() && areMinutesOver(/*times=*/1)))
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

  prepared.progress = showProgress(
      run, title, eventOf(prepared.features.name, target.form->key));
  if (run.evaluator.waits())
    prepared.progress = createOnceProgress(std::move(prepared.progress));
  if (llvm::Error error = prepared.makeInput(run.evaluator))
    return error;
  // What this took is of the share, too; a replay takes no time.
  std::chrono::duration<double> sinceStart =
      std::chrono::steady_clock::now() - start;
  double preparation = recording ? 0 : sinceStart.count();
  begun->preparation = preparation;
  SearchOptions &options = begun->options;
  options = run.options.search;
  options.budget = *share;
  if (options.budget.minutes > 0 && !run.evaluator.waits()) {
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
  if (run.evaluator.waits())
    input.evaluationSeconds = evaluationSecondsOf(target);
  input.earlier = target.profile.earlier;
  begun->binding = bindingOf(input, options);
  llvm::Expected<bool> isOpen =
      openJournal(index, prepared, begun->binding, *share, waits);
  if (!isOpen || !*isOpen)
    return isOpen.takeError();
  tellBegin(*begun, target);
  return ask(index, std::move(begun), *share);
}

std::chrono::steady_clock::duration
SearchLoop::profilingTime(ArrayRef<SearchTarget> targets) {
  std::chrono::duration<double> taken{0};
  for (const SearchTarget &target : targets)
    taken += std::chrono::duration<double>(target.profile.seconds +
                                           target.profile.preparation);
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(taken);
}

/// What an evaluation takes where it is known, on the mean; 0: nowhere.
static double meanEvaluation(ArrayRef<SearchTarget> targets) {
  double sum = 0;
  size_t known = 0;
  for (const SearchTarget &target : targets) {
    sum += target.profile.evaluationSeconds;
    known += target.profile.evaluationSeconds > 0;
  }
  return known > 0 ? sum / static_cast<double>(known) : 0;
}

double SearchLoop::evaluationSecondsOf(const SearchTarget &target) const {
  double own = target.profile.evaluationSeconds;
  // One may have been short because its variant was wrong. Where an evaluator
  // answers at once the search's own first ones tell.
  return run.evaluator.waits() ? std::max(own, usualSeconds) : own;
}

double SearchLoop::leastSecondsOf(const SearchTarget &target) const {
  // What an earlier run finished takes no time of this one.
  if (!target.isWanted)
    return 0;
  unsigned workers = run.evaluator.waits() ? run.evaluator.workers() : 1;
  return (1 + promotionCost) * evaluationSecondsOf(target) / workers;
}

llvm::Expected<SearchModelEnd> SearchLoop::searchAll() {
  usualSeconds = meanEvaluation(targets);
  bool showsParts = llvm::count_if(targets, isWanted) > 1;
  if (showsParts)
    printModelParts(parts, /*isAfter=*/false, run.said());
  reportSkipped();
  allTurns = llvm::count_if(
      dealt.order, [&](size_t index) { return targets[index].isWanted; });
  for (size_t place = 0; place < dealt.order.size(); ++place) {
    size_t index = dealt.order[place];
    const SearchTarget &target = targets[index];
    // More would only wait for the same workers, and those that can gain the
    // most come first.
    if (run.evaluator.waits()) {
      if (llvm::Error error = goOnWithAnswers(/*whileBusy=*/true))
        return std::move(error);
      if (llvm::Error error = goOnWithReplies())
        return std::move(error);
    }
    // A model would answer nothing on the others either.
    if (end == SearchModelEnd::Interrupted || !unanswered.empty())
      break;
    double later = 0;
    for (size_t other : ArrayRef(dealt.order).drop_front(place + 1))
      later += leastSecondsOf(targets[other]);
    std::optional<SearchBudget> share =
        budgets.next(target, leastSecondsOf(target), later);
    if (run.evaluator.waits() && areMinutesOver(/*times=*/1))
      share = std::nullopt;
    if (share)
      lookAhead(ArrayRef(dealt.order).drop_front(place));
    if (target.isWanted) {
      if (llvm::Error error = search(index, share, /*waits=*/allTurns == 1))
        return std::move(error);
    } else if (share) {
      budgets.spendEarlier(target, *share);
    }
  }
  if (llvm::Error error = goOnWithAnswers(/*whileBusy=*/false))
    return std::move(error);
  if (llvm::Error error = concludePending())
    return std::move(error);
  for (const auto &[index, share] : waiting) {
    if (end == SearchModelEnd::Interrupted || !unanswered.empty())
      break;
    if (llvm::Error error = search(index, share, /*waits=*/true))
      return std::move(error);
    if (llvm::Error error = goOnWithAnswers(/*whileBusy=*/false))
      return std::move(error);
    if (llvm::Error error = concludePending())
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
