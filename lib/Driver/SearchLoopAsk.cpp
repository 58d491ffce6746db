//===- SearchLoopAsk.cpp - Asking, and waiting for answers ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchLoop.h"
#include "fastk/Search/Progress.h"
#include "llvm/Support/FormatVariadic.h"
#include <functional>
#include <thread>

using namespace mlir;
using namespace fastk;

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

/// How often models that think are looked at, where nothing else is awaited.
static constexpr std::chrono::milliseconds kPause{20};

/// More evaluations for each worker than this would only wait: another search
/// begins later.
static constexpr int kAskedPerWorker = 6;

/// Pending answers are waited for until so many times the minutes are over.
static constexpr double kLateShare = 1.5;

bool SearchLoop::areMinutesOver(double times) const {
  std::chrono::duration<double, std::ratio<60>> passed =
      std::chrono::steady_clock::now() - startedAt;
  double minutes = run.options.search.budget.minutes;
  return minutes > 0 && passed.count() > times * minutes;
}

llvm::Error SearchLoop::ask(size_t index, std::unique_ptr<BegunSearch> search,
                            const SearchBudget &share) {
  PreparedSearch &prepared = search->prepared;
  if (search->soFar)
    if (llvm::Error error = prepared.journal->goOn())
      return error;
  if (run.evaluator.waits())
    prepared.input->workers = run.evaluator.workers();
  llvm::Expected<SearchResult> result =
      runSearch(*prepared.input, search->options);
  prepared.progress->ended();
  if (!result)
    return prepared.recording
               ? explainReplay(result.takeError(), *prepared.recording,
                               search->binding)
               : result.takeError();
  if (result->end != SearchEnd::Pending || !run.evaluator.waits())
    return conclude(index, *search, *result);
  judged += result->counts.judged;
  if (!search->soFar) {
    budgets.keep(targets[index], share);
    search->kept = share;
  }
  prepared.input->begun = result->begun;
  search->soFar = std::move(*result);
  // Counted by now.
  search->soFar->counts.judged = 0;
  open[index] = std::move(search);
  return llvm::Error::success();
}

void SearchLoop::showWaiting(SearchProgress &progress) const {
  int evaluations = pendingEvaluations(), prompts = promptsAwaited();
  // Where lines stay one is enough: those of rounds tell the rest.
  progress.preparing(
      run.said().is_displayed()
          ? llvm::formatv(
                "waiting for {0} {1} and {2} {3} of {4} {5}", evaluations,
                evaluations == 1 ? "evaluation" : "evaluations", prompts,
                prompts == 1 ? "prompt" : "prompts", open.size(),
                open.size() == 1 ? "workload" : "workloads")
                .str()
          : "waiting for answers; evaluations are made by " +
                run.evaluator.pendingHint());
}

bool SearchLoop::takeNews() const {
  bool isNews = false;
  // Also of one that is late: its answers are taken as long as others come.
  for (Proposer *each : run.proposers)
    isNews |= each->takeNews();
  return isNews;
}

llvm::Expected<std::vector<size_t>>
SearchLoop::waitForReady(const RequestContext &context) {
  bool isNews = false;
  auto waitsForPrompts = [](const auto &each) {
    return each.second->soFar->counts.pendingPrompts > 0;
  };
  RequestContext watching = context;
  watching.stopRequested = [&] {
    return context.isStopRequested() || (isNews |= takeNews());
  };
  for (;;) {
    llvm::Expected<std::vector<std::string>> answered =
        run.evaluator.waitForAnswers(watching);
    if (!answered)
      return answered.takeError();
    std::vector<size_t> ready;
    bool isOfNobody = !answered->empty();
    for (size_t index : dealt.order) {
      auto found = open.find(index);
      if (found != open.end() &&
          (llvm::is_contained(*answered, targets[index].form->key) ||
           (isNews && waitsForPrompts(*found))))
        ready.push_back(index);
    }
    // Of a search that went on, or ended, without it.
    if (ready.empty() && (isOfNobody || isNews) && !context.isStopRequested()) {
      isNews = false;
      continue;
    }
    // Models have a time limit of their own.
    if (!ready.empty() || context.isStopRequested() ||
        llvm::none_of(run.proposers, std::mem_fn(&Proposer::waits)) ||
        llvm::none_of(open, waitsForPrompts))
      return ready;
    context.tick();
    std::this_thread::sleep_for(kPause);
    isNews = takeNews();
  }
}

int SearchLoop::pendingEvaluations() const {
  int evaluations = 0;
  for (const auto &[index, search] : open)
    evaluations += search->soFar->counts.pending;
  return evaluations;
}

int SearchLoop::promptsAwaited() const {
  int prompts = 0;
  for (const auto &[index, search] : open)
    prompts += search->soFar->counts.pendingPrompts;
  return prompts;
}

void SearchLoop::tellWaiting() {
  if (waits.isDue())
    waits.say(open.size(), pendingEvaluations(), promptsAwaited());
}

bool SearchLoop::areWorkersBusy() const {
  // At the end of one's batch there is another's.
  return open.size() >= 2 &&
         pendingEvaluations() >=
             kAskedPerWorker * static_cast<int>(run.evaluator.workers());
}

llvm::Error SearchLoop::goOnWithAnswers(bool whileBusy) {
  std::unique_ptr<SearchProgress> progress = showProgress(run, "search");
  RequestContext context;
  // What was asked for before the minutes were over gets some more.
  context.stopRequested = [&] {
    return run.isStopRequested() || areMinutesOver(kLateShare);
  };
  context.whileWaiting = [&] {
    progress->tick();
    tellWaiting();
  };
  context.note = [&](const std::string &text) { progress->note(text); };
  while ((!whileBusy || areWorkersBusy()) && !open.empty() &&
         end != SearchModelEnd::Interrupted && unanswered.empty()) {
    showWaiting(*progress);
    tellWaiting();
    llvm::Expected<std::vector<size_t>> ready = waitForReady(context);
    progress->ended();
    if (!ready)
      return ready.takeError();
    if (run.isStopRequested())
      end = SearchModelEnd::Interrupted;
    if (ready->empty())
      return llvm::Error::success();
    for (size_t index : *ready) {
      std::unique_ptr<BegunSearch> search = std::move(open[index]);
      open.erase(index);
      if (llvm::Error error = ask(index, std::move(search), SearchBudget()))
        return error;
    }
  }
  return llvm::Error::success();
}

llvm::Error SearchLoop::goOnWithReplies() {
  return takeNews() ? askForPrompts() : llvm::Error::success();
}

llvm::Error SearchLoop::askForPrompts() {
  std::vector<size_t> asking;
  for (const auto &[index, search] : open)
    if (search->soFar->counts.pendingPrompts > 0)
      asking.push_back(index);
  for (size_t index : asking) {
    std::unique_ptr<BegunSearch> search = std::move(open[index]);
    open.erase(index);
    if (llvm::Error error = ask(index, std::move(search), SearchBudget()))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error SearchLoop::concludePending() {
  SearchModelEnd before = end;
  if (run.isStopRequested())
    if (llvm::Error error = askForPrompts())
      return error;
  for (const auto &[index, search] : open)
    if (llvm::Error error = conclude(index, *search, *search->soFar))
      return error;
  open.clear();
  if (before == SearchModelEnd::Interrupted)
    end = before;
  return llvm::Error::success();
}
