//===- Promotion.cpp - The second measurement of a would-be winner --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PromotionRules.h"
#include "Searcher.h"
#include "fastk/Protocol/RecordRules.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llvm;
using namespace fastk;

/// Whether a program has barriers at which threads arrive and wait separately.
/// compute-sanitizer follows them only in part (docs/cuda.md).
static bool hasSplitBarriers(StringRef program) {
  for (StringRef sign : {"mbar", "barArrive", "bar.arrive", "barrier.arrive"})
    if (program.contains(sign))
      return true;
  return false;
}

/// So many promotions of one variant that noise spoils in one run end it.
static constexpr int kSpoiledPromotions = 3;

Expected<std::optional<worker::Verdict>>
Searcher::measureAgain(const Trial &trial) {
  const Variant &variant = trial.tried.variant;
  bool isRecorded =
      input.recordedGain && input.recordedGain->digest == digestOf(variant);
  std::optional<worker::Verdict> last;
  int contradictions = 0, inMedians = 0, spoiled = 0;
  for (int repeat = 0;; ++repeat) {
    double start = runNow();
    std::string name = verdictName(variant, /*promote=*/true, repeat);
    // What an earlier run measured is not measured again in this one.
    bool wasKnown = input.journal && input.journal->findVerdict(name);
    Expected<std::optional<worker::Verdict>> verdict =
        askVerdict(variant, /*incumbent=*/nullptr, /*promote=*/true, repeat);
    if (!verdict)
      return verdict;
    // Where no other can be made, the spoiled one tells why there is none.
    if (!*verdict)
      return searchOver ? std::nullopt : std::move(last);
    ++result.counts.promotions;
    last = std::move(*verdict);
    const auto &ratio = last->timing.speedupOverBaseline;
    bool contradicts = isRecorded && ratio &&
                       !isTooNoisy(*last, options.promotionGain) &&
                       worker::contradicts(*ratio, input.recordedGain->speedup);
    contradictions += contradicts;
    // What is kept of the minutes is for this: a quieter one may come.
    bool isNoise = isTooNoisy(*last, options.promotionGain);
    // One more measurement may tell whether pairs or medians hold.
    bool isInMedians = isNoise && worker::mediansContradict(last->timing);
    inMedians += isInMedians;
    spoiled += isNoise && !wasKnown;
    double limit = options.budget.minutes * 60;
    // A replay makes as many as there were.
    bool hasTime =
        times.isReplay() || (spoiled < kSpoiledPromotions && limit > 0 &&
                             2 * runNow() - start <= limit);
    bool isSpoiled = isNoise && (wasKnown || hasTime);
    bool isFirst =
        (contradicts && contradictions == 1) || (isInMedians && inMedians == 1);
    if (!isSpoiled && !isFirst)
      return std::move(last);
    // A recording has what was measured then.
    if (times.isReplay() &&
        !times.isRecorded(verdictName(variant, /*promote=*/true, repeat + 1)))
      return std::move(last);
  }
}

void Searcher::noteUnproven(const Trial &trial, std::string why) {
  std::string text = "'" + trial.idea.title + "' had " +
                     percent(trial.speedup) +
                     " of the default lowering's speed in its first "
                     "measurement, and " +
                     why;
  result.noWinnerReason += (result.noWinnerReason.empty() ? "" : "; ") + text;
  // The first is the best.
  if (!result.unproven)
    result.unproven = {trial.idea.title, trial.speedup, std::move(why)};
}

Error Searcher::secureBest() {
  if (isSecured)
    return Error::success();
  // Once: at the first evaluation that no earlier run has made.
  isSecured = true;
  double limit = options.budget.minutes * 60;
  if (limit == 0 || times.isReplay() || answersLater() || !input.journal)
    return Error::success();
  size_t events =
      input.earlier ? input.earlier->events : input.journal->resumedEvents();
  if (events == 0 || !hasBest() || !isCandidate(bestTrial()) ||
      evaluationsLeft(/*promote=*/true).value_or(1) == 0 ||
      runNow() + promotionCost() * expectedSeconds() > limit ||
      (input.stopRequested && input.stopRequested()))
    return Error::success();
  const Variant &variant = bestTrial().tried.variant;
  std::string name = verdictName(variant, /*promote=*/true);
  if (input.journal->findVerdict(name))
    return Error::success();
  if (input.progress)
    input.progress->note("second measurement, which an earlier run left out: " +
                         bestTrial().idea.title);
  Expected<std::optional<worker::Verdict>> verdict = obtainVerdict(
      name, {input.workload.workload, variant, /*incumbent=*/nullptr,
             input.workload.acceptedPrecision, /*promote=*/true,
             /*firstOfBatch=*/false, asksModels(), /*repeat=*/0});
  if (!verdict)
    return verdict.takeError();
  // It counts when its turn comes.
  if (*verdict)
    answers.try_emplace(name, std::move(**verdict));
  return Error::success();
}

/// Why no variant has come so far.
static std::string nonePassed(const SearchResult &result) {
  std::string counts;
  for (auto &[status, count] : result.counts.statuses)
    counts +=
        (counts.empty() ? "" : ", ") + std::to_string(count) + " " + status;
  return counts.empty() ? "nothing was evaluated"
                        : "no variant passed: " + counts;
}

size_t Searcher::takeNext(std::vector<size_t> &order,
                          const StringSet<> &failedIdeas,
                          bool avoidsBarriers) const {
  auto isOther = [&](size_t index) {
    return !failedIdeas.contains(trials[index].idea.id);
  };
  auto next = find_if(order, [&](size_t index) {
    return isOther(index) &&
           !(avoidsBarriers &&
             hasSplitBarriers(trials[index].tried.variant.program));
  });
  if (next == order.end())
    next = find_if(order, isOther);
  if (next == order.end())
    next = order.begin();
  size_t index = *next;
  order.erase(next);
  return index;
}

std::string Searcher::problemOf(const Trial &trial,
                                const worker::Verdict &second) const {
  std::string problem = promotionProblem(
      second, input.workload.acceptedPrecision, options.promotionGain);
  // The worker refuses them itself; a record may be of a search that did not
  // ask.
  if (problem.empty() && input.workload.requireDeterministic)
    problem = bitsProblem(second);
  const auto &again = second.timing.speedupOverBaseline;
  if (problem.empty() && input.recordedGain &&
      input.recordedGain->digest == digestOf(trial.tried.variant) &&
      worker::contradicts(*again, input.recordedGain->speedup))
    problem = "twice it contradicted its record in the bank, which stays: " +
              percent(again->median) + " instead of " +
              percent(input.recordedGain->speedup.median);
  return problem;
}

void Searcher::crown(const Trial &trial, const worker::Verdict &second,
                     int attempts) {
  result.winner = FoundWinner{trial.idea, trial.tried.variant, second,
                              *precisionOf(second.precision)};
  result.noWinnerReason.clear();
  result.unproven.reset();
  TrajectoryRow row = rowOf("promoted", trial);
  row.seconds = second.timing.candidate->medianNs * 1e-9;
  row.precision = second.precision;
  row.baselineSeconds =
      second.timing.baseline
          ? second.timing.baseline->medianNs * 1e-9
          : row.seconds * second.timing.speedupOverBaseline->median;
  row.evaluations = attempts;
  result.trajectory.push_back(std::move(row));
}

Error Searcher::promote() {
  phase = Phase::Promotion;
  phaseOver = false;
  round = "second measurement";
  std::vector<size_t> order = survivors();
  if (order.empty()) {
    result.noWinnerReason = nonePassed(result);
    return Error::success();
  }
  // The one that won its duels goes first, whatever noise says of the others.
  auto at = find(order, *best);
  std::rotate(order.begin(), at, std::next(at));
  int attempts = 0, faults = 0;
  // Then a second measurement that was made before more was tried still counts.
  bool isOutOfBudget = false;
  auto isKnown = [&](const Trial &trial) {
    std::string name = verdictName(trial.tried.variant, /*promote=*/true);
    return answers.contains(name) ||
           (input.journal && input.journal->findVerdict(name));
  };
  StringSet<> failedIdeas;
  bool avoidsBarriers = false;
  while (!order.empty()) {
    const Trial &trial = trials[takeNext(order, failedIdeas, avoidsBarriers)];
    if (!isCandidate(trial) || (isOutOfBudget && !isKnown(trial)))
      continue;
    // The best of many measurements is biased: so few are made again. A fault
    // is no measurement, but each costs as much.
    if (attempts - faults == options.promotions ||
        faults == 2 * options.promotions)
      break;
    ++attempts;
    if (input.progress)
      input.progress->evaluating(standing(trial.idea.title));
    Expected<std::optional<worker::Verdict>> verdict = measureAgain(trial);
    if (!verdict)
      return verdict.takeError();
    if (!*verdict) {
      if (searchOver)
        return Error::success();
      noteUnproven(trial, "the budget ran out before its second");
      isOutOfBudget = true;
      continue;
    }
    const worker::Verdict &second = **verdict;
    // What all of them passed was no oracle.
    if (second.status == worker::Status::Disagreement) {
      stop(SearchEnd::Disagreement, second.reason);
      return Error::success();
    }
    std::string problem = problemOf(trial, second);
    if (problem.empty()) {
      crown(trial, second, attempts);
      return Error::success();
    }
    if (second.status != worker::Status::OK) {
      failedIdeas.insert(trial.idea.id);
      ++faults;
      avoidsBarriers |= hasSplitBarriers(trial.tried.variant.program);
    }
    if (second.status == worker::Status::Error) {
      noteUnproven(trial, "its second failed through no fault of its own: " +
                              second.reason);
      continue;
    }
    if (isTooNoisy(second, options.promotionGain)) {
      noteUnproven(trial, "its second does not count: " + problem);
      // Others would fare no better.
      if (!isNoiseOfVariant(second))
        return Error::success();
      continue;
    }
    result.noWinnerReason += (result.noWinnerReason.empty() ? "" : "; ") +
                             ("'" + trial.idea.title) +
                             "' failed its second measurement: " + problem;
  }
  if (attempts == 0)
    result.noWinnerReason = "the best variant reached " +
                            percent(bestTrial().speedup) +
                            " of the default lowering's speed, and more than " +
                            percent(options.promotionGain) + " is needed";
  return Error::success();
}
