//===- Promotion.cpp - The second measurement of a would-be winner --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Promotion.h"
#include "PromotionRules.h"
#include "Report/Percent.h"
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
Promotion::measureAgain(const Trial &trial) {
  const SearchInput &input = search.input;
  const SearchOptions &options = search.options;
  const Variant &variant = trial.tried.variant;
  bool isRecorded =
      input.recordedGain && input.recordedGain->digest == digestOf(variant);
  std::optional<worker::Verdict> last;
  int contradictions = 0, inMedians = 0, spoiled = 0;
  for (int repeat = 0;; ++repeat) {
    double start = limits.spentSeconds();
    std::string name = verdictName(variant, /*promote=*/true, repeat);
    // What an earlier run measured is not measured again in this one.
    bool wasKnown =
        input.journal && input.journal->findVerdict(name) &&
        !input.journal->isOfThisRun(Journal::EventType::Evaluation, name);
    Expected<std::optional<worker::Verdict>> verdict =
        verdicts.ask(variant, /*incumbent=*/nullptr, /*promote=*/true, repeat);
    if (!verdict)
      return verdict;
    // Where no other can be made, the spoiled one tells why there is none.
    if (!*verdict)
      return search.course.isSearchOver() ? std::nullopt : std::move(last);
    ++search.result.counts.promotions;
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
    double limit = limits.limitSeconds();
    // A replay makes as many as there were.
    bool hasTime =
        search.times.isReplay() || (spoiled < kSpoiledPromotions && limit > 0 &&
                                    2 * limits.spentSeconds() - start <= limit);
    bool isSpoiled = isNoise && (wasKnown || hasTime);
    bool isFirst =
        (contradicts && contradictions == 1) || (isInMedians && inMedians == 1);
    if (!isSpoiled && !isFirst)
      return std::move(last);
    // A recording has what was measured then.
    if (search.times.isReplay() && !search.times.isRecorded(verdictName(
                                       variant, /*promote=*/true, repeat + 1)))
      return std::move(last);
    // Or no command after one noisy minute would find a winner.
    if (isNoise && (wasKnown || search.times.isReplay()))
      limits.excuse();
  }
}

void Promotion::noteUnproven(const Trial &trial, std::string why) {
  SearchResult &result = search.result;
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

Error Promotion::secureBest() {
  if (isSecured)
    return Error::success();
  // Once: at the first evaluation that no earlier run has made.
  isSecured = true;
  const Trials &trials = search.trials;
  double limit = search.options.budget.minutes * 60;
  if (limit == 0 || search.times.isReplay() || search.answersLater() ||
      search.earlierEvents() == 0 || !trials.hasBest() ||
      !isCandidate(trials.bestTrial()) ||
      limits.evaluationsLeft(/*promote=*/true).value_or(1) == 0 ||
      search.clock.run() + limits.promotionCost() * limits.expectedSeconds() >
          limit ||
      search.stopRequested())
    return Error::success();
  const Trial &best = trials.bestTrial();
  if (search.input.journal->findVerdict(
          verdictName(best.tried.variant, /*promote=*/true)))
    return Error::success();
  progress.note("second measurement, which an earlier run left out: " +
                best.idea.title);
  return verdicts.promoteAhead(best.tried.variant);
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

size_t Promotion::takeNext(std::vector<size_t> &order,
                           const StringSet<> &failedIdeas,
                           bool avoidsBarriers) const {
  auto isOther = [&](size_t index) {
    return !failedIdeas.contains(search.trials[index].idea.id);
  };
  auto next = find_if(order, [&](size_t index) {
    return isOther(index) &&
           !(avoidsBarriers &&
             hasSplitBarriers(search.trials[index].tried.variant.program));
  });
  if (next == order.end())
    next = find_if(order, isOther);
  if (next == order.end())
    next = order.begin();
  size_t index = *next;
  order.erase(next);
  return index;
}

std::string Promotion::problemOf(const Trial &trial,
                                 const worker::Verdict &second) const {
  std::string problem =
      promotionProblem(second, search.input.workload.acceptedPrecision,
                       search.options.promotionGain);
  // The worker refuses them itself; a record may be of a search that did not
  // ask.
  if (problem.empty() && search.input.workload.requireDeterministic)
    problem = bitsProblem(second);
  const auto &again = second.timing.speedupOverBaseline;
  if (problem.empty() && search.input.recordedGain &&
      search.input.recordedGain->digest == digestOf(trial.tried.variant) &&
      worker::contradicts(*again, search.input.recordedGain->speedup))
    problem = "twice it contradicted its record in the bank, which stays: " +
              percent(again->median) + " instead of " +
              percent(search.input.recordedGain->speedup.median);
  return problem;
}

void Promotion::crown(const Trial &trial, const worker::Verdict &second,
                      int attempts) {
  SearchResult &result = search.result;
  result.winner = FoundWinner{trial.idea, trial.tried.variant, second,
                              *precisionOf(second.precision)};
  result.noWinnerReason.clear();
  result.unproven.reset();
  TrajectoryRow row = rowOf("promoted", trial);
  row.seconds = second.timing.candidate->medianNs * 1e-9;
  row.precision = second.precision;
  // As in other rows: what was measured in pairs, which two medians of a noisy
  // minute may contradict.
  row.baselineSeconds = row.seconds * second.timing.speedupOverBaseline->median;
  row.evaluations = attempts;
  result.trajectory.push_back(std::move(row));
}

Error Promotion::run() {
  search.course.beginPhase(SearchPhase::Promotion, "second measurement");
  const SearchOptions &options = search.options;
  const Trials &trials = search.trials;
  SearchResult &result = search.result;
  std::vector<size_t> order = trials.survivors();
  if (order.empty()) {
    result.noWinnerReason = nonePassed(result);
    return Error::success();
  }
  // The one that won its duels goes first, whatever noise says of the others.
  auto at = find(order, *trials.best());
  std::rotate(order.begin(), at, std::next(at));
  int attempts = 0, faults = 0;
  // Then a second measurement that was made before more was tried still counts.
  bool isOutOfBudget = false;
  auto isKnown = [&](const Trial &trial) {
    return verdicts.isKnown(verdictName(trial.tried.variant, /*promote=*/true));
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
    progress.evaluating(trial.idea.title);
    Expected<std::optional<worker::Verdict>> verdict = measureAgain(trial);
    if (!verdict)
      return verdict.takeError();
    if (!*verdict) {
      if (search.course.isSearchOver())
        return Error::success();
      noteUnproven(trial, "the budget ran out before its second");
      isOutOfBudget = true;
      continue;
    }
    const worker::Verdict &second = **verdict;
    // What all of them passed was no oracle.
    if (second.status == worker::Status::Disagreement) {
      search.course.stop(SearchEnd::Disagreement, second.reason);
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
                            percent(trials.bestTrial().speedup) +
                            " of the default lowering's speed, and more than " +
                            percent(options.promotionGain) + " is needed";
  return Error::success();
}
