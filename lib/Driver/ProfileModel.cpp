//===- ProfileModel.cpp - Where the time of a model goes ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProfileModel.h"
#include "ModelJournals.h"
#include "PreparedSearch.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace mlir;
using namespace fastk;

/// Evaluations that the budget must have for each workload before one is spent
/// on finding out where the time goes.
static constexpr int64_t kEvaluationsToProfile = 4;
/// The part of the minutes that this may take.
static constexpr double kMinutesToProfile = 0.25;

namespace {
/// Ends a search when the default lowering's time is known, or when so many
/// evaluations have not told it.
class ProfilingEvaluator : public Evaluator {
public:
  static constexpr int kEvaluations = 3;

  explicit ProfilingEvaluator(Evaluator &evaluator) : evaluator(evaluator) {}
  llvm::Expected<Provenance>
  provenance(LoweringOp workload, const RequestContext &context) override {
    return evaluator.provenance(workload, context);
  }
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override {
    auto verdict = evaluator.evaluate(request, context);
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

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// The default lowering's time as the journal of `target` has it; 0 where it is
/// not there. Says in `target` what it took.
static double readProfile(SearchTarget &target) {
  RecordedBaseline baseline =
      recordedBaseline(target.journal, ProfilingEvaluator::kEvaluations);
  target.profile.evaluations = baseline.evaluations;
  target.profile.evaluationSeconds = baseline.longestSeconds;
  return baseline.seconds;
}

/// Measures the default lowering of `target`: begins its search, which is
/// `prepared`, and leaves it after the first evaluation that tells. What was
/// evaluated is in the journal, where the search finds it again.
static llvm::Expected<double>
profile(const SearchRun &run, SearchTarget &target, PreparedSearch &prepared) {
  double baseline = readProfile(target);
  if (baseline > 0 ||
      target.profile.evaluations >= ProfilingEvaluator::kEvaluations)
    return baseline;
  auto start = std::chrono::steady_clock::now();
  ProfilingEvaluator evaluator(*run.evaluator.atOnce());
  if (llvm::Error error = prepared.makeInput(evaluator))
    return std::move(error);
  if (!prepared.recording)
    target.profile.preparation = secondsSince(start);
  const SearchOptions &options = run.options.search;
  std::string holder;
  llvm::Expected<bool> isOpen =
      prepared.openJournal(bindingOf(*prepared.input, options), holder);
  if (!isOpen)
    return isOpen.takeError();
  // Who searches it has measured it, or will.
  if (!*isOpen)
    return readProfile(target);
  target.profile.earlier = SearchInput::Earlier{
      prepared.journal->resumedEvents(), prepared.journal->elapsedSeconds()};
  prepared.input->stopRequested = [&] {
    return evaluator.endsSearch() || run.isStopRequested();
  };
  llvm::Expected<SearchResult> result = runSearch(*prepared.input, options);
  if (!result)
    return result.takeError();
  target.profile.seconds = result->runSeconds;
  prepared.journal.reset();
  return readProfile(target);
}

/// Whether default lowerings can be measured at once, and cost little beside
/// the search.
static bool canProfile(const SearchRun &run, ArrayRef<SearchTarget> targets) {
  int64_t sharers = llvm::count_if(
      targets, [](const SearchTarget &each) { return each.hasShare; });
  int64_t evaluations = run.options.search.budget.evaluations;
  if (sharers < 2 || !run.evaluator.atOnce() ||
      (evaluations != 0 && evaluations < kEvaluationsToProfile * sharers) ||
      llvm::any_of(
          run.proposers,
          [](Proposer *each) { return each->prefersBatching(); }))
    return false;
  // The verdicts of a recorded search that was answered later are not there one
  // by one.
  return !run.options.replay || llvm::none_of(run.options.replay->searches,
                                              [](const RecordedSearch &each) {
                                                return each.answersLater;
                                              });
}

/// What is known of `target` without any measurement.
static ModelPart describe(const SearchTarget &target,
                          const PreparedSearch &prepared) {
  ModelPart part;
  part.calls = target.calls;
  part.isSearched = target.hasShare;
  if (prepared.workload) {
    part.name = prepared.features.name + " " +
                describeShapes(prepared.workload) + " " +
                StringRef(target.form->key).take_front(8).str();
    part.floorSeconds = prepared.floorSeconds();
  }
  return part;
}

/// Fills in what the winner that the banks have tells.
static void addWinner(const SearchTarget &target, ModelPart &part) {
  if (!target.known || target.foreign)
    return;
  WinnerRecord record = target.known->getRecord();
  // The search deals out by the default lowering's time, whether it is the
  // first run or goes on after some of it is done.
  if (part.seconds == 0)
    part.seconds = record.medianNs * 1e-9;
  else if (record.speedup > 0)
    part.secondsAfter = part.seconds / record.speedup;
}

llvm::Expected<std::vector<ModelPart>>
fastk::profileModel(const SearchRun &run,
                    MutableArrayRef<SearchTarget> targets) {
  bool mayProfile = canProfile(run, targets);
  double minutes = run.options.search.budget.minutes;
  auto start = std::chrono::steady_clock::now();
  auto isLate = [&] {
    return minutes > 0 &&
           secondsSince(start) > kMinutesToProfile * 60 * minutes;
  };
  std::vector<ModelPart> parts;
  for (auto [index, target] : llvm::enumerate(targets)) {
    PreparedSearch prepared(run, target);
    ModelPart part = describe(target, prepared);
    bool mayMeasure = mayProfile && !isLate() && !run.isStopRequested() &&
                      (!run.options.replay || prepared.recording);
    if (part.isSearched && !target.isWanted) {
      part.seconds = readProfile(target);
    } else if (part.isSearched && mayMeasure && prepared.workload) {
      run.said() << llvm::formatv("measuring {0} [{1}/{2}]\n",
                                  prepared.features.name, index + 1,
                                  targets.size());
      if (llvm::Error error =
              profile(run, target, prepared).moveInto(part.seconds))
        return std::move(error);
    }
    addWinner(target, part);
    parts.push_back(std::move(part));
  }
  return parts;
}
