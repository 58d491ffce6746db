//===- ProfileModel.cpp - Where the time of a model goes ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProfileModel.h"
#include "PreparedSearch.h"
#include "ProfileTogether.h"
#include "ProfilingEvaluator.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace mlir;
using namespace fastk;

/// Evaluations that the budget must have for each workload before one is spent
/// on finding out where the time goes.
static constexpr int64_t kEvaluationsToProfile = 4;
/// The part of the minutes that this may take.
static constexpr double kMinutesToProfile = 0.25;

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
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
  if (llvm::Error error = searchUntilProfiled(target, prepared, evaluator)
                              .moveInto(target.profile.seconds))
    return std::move(error);
  return readProfile(target);
}

/// Whether they are measured side by side, on workers that are waited for.
/// Where no minutes are dealt out those of a spool are not: what a search of it
/// asks for is the same on every run.
static bool profilesTogether(const SearchRun &run) {
  return run.evaluator.waits() &&
         (run.evaluator.atOnce() || run.options.search.budget.minutes > 0);
}

/// Whether default lowerings can be measured before the search, and cost little
/// beside it.
static bool canProfile(const SearchRun &run, ArrayRef<SearchTarget> targets) {
  int64_t sharers = llvm::count_if(
      targets, [](const SearchTarget &each) { return each.hasShare; });
  int64_t evaluations = run.options.search.budget.evaluations;
  if (sharers < 2 || !(run.evaluator.atOnce() || profilesTogether(run)) ||
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
  bool isTogether = mayProfile && profilesTogether(run);
  if (isTogether)
    if (llvm::Error error = profileTogether(run, targets, isLate))
      return std::move(error);
  std::vector<ModelPart> parts;
  for (auto [index, target] : llvm::enumerate(targets)) {
    PreparedSearch prepared(run, target);
    ModelPart part = describe(target, prepared);
    bool mayMeasure = mayProfile && !isLate() && !run.isStopRequested() &&
                      (!run.options.replay || prepared.recording);
    if (part.isSearched && (!target.isWanted || isTogether)) {
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
