//===- SearchLimits.cpp - What the budget leaves --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchLimits.h"
#include "llvm/Support/Format.h"
#include <algorithm>

using namespace llvm;
using namespace fastk;

/// Promotions that are answered later may be asked for when the minutes are
/// over by this share.
static constexpr double kLatePromotion = 0.25;

/// Before anything was measured this share of the minutes is kept for a
/// promotion.
static constexpr double kPromotionShare = 0.1;

/// What of the budget is kept for promotions: without its second measurement
/// nothing can win.
static int64_t keptOf(const SearchOptions &options, bool promote) {
  int64_t limit = options.budget.evaluations;
  if (promote || limit < 2)
    return 0;
  return std::clamp<int64_t>(limit / 10, 1, 3 * options.promotions);
}

void SearchLimits::took(bool promote, double seconds, bool isOfThisRun) {
  if (isOfThisRun)
    total += seconds;
  if (promote)
    longest = std::max(longest, seconds);
  else
    durations.push_back(seconds);
}

std::optional<int64_t> SearchLimits::evaluationsLeft(bool promote) const {
  int64_t limit = search.options.budget.evaluations;
  if (limit == 0)
    return std::nullopt;
  return std::max<int64_t>(limit - keptOf(search.options, promote) + excused -
                               search.result.counts.evaluations,
                           0);
}

static std::string evaluationsSpent(const SearchOptions &options,
                                    bool promote) {
  int64_t limit = options.budget.evaluations;
  int64_t kept = keptOf(options, promote);
  std::string text = "its budget of " + std::to_string(limit) +
                     (limit == 1 ? " evaluation" : " evaluations") +
                     " is spent";
  if (kept > 0)
    text += ", but for " + std::to_string(kept) +
            " kept for the second measurement";
  return text;
}

bool SearchLimits::hasEvaluationsLeft(bool promote) {
  if (evaluationsLeft(promote).value_or(1) > 0)
    return true;
  search.course.stop(SearchEnd::Budget,
                     evaluationsSpent(search.options, promote));
  return false;
}

/// "its budget of 30 s is spent".
static std::string minutesSpent(const SearchBudget &budget, double kept) {
  std::string text;
  raw_string_ostream os(text);
  if (budget.minutes < 2)
    os << "its budget of " << formatSeconds(60 * budget.minutes);
  else
    os << format("its budget of %.3g minutes", budget.minutes);
  os << " is spent";
  if (kept > 0)
    os << format(", but for %.0f s kept for the second measurement", kept);
  return text;
}

double SearchLimits::expectedSeconds() const {
  if (durations.empty())
    return search.input.evaluationSeconds;
  std::vector<double> sorted = durations;
  auto middle = sorted.begin() + sorted.size() / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double SearchLimits::limitSeconds() const {
  return search.options.budget.minutes * 60 *
         std::max(search.input.workers, 1u);
}

double SearchLimits::spentSeconds() const {
  if (search.input.workers == 0)
    return search.clock.run();
  return total + search.result.counts.pending * expectedSeconds();
}

double SearchLimits::secondsKept() const {
  // Others' evaluations may be before a promotion that is asked for now, so
  // nobody knows when its answer comes: without one nothing can win.
  if (search.course.phase() == SearchPhase::Promotion)
    return search.answersLater()
               ? -kLatePromotion * search.options.budget.minutes * 60
               : 0;
  return std::max(kPromotionShare * search.options.budget.minutes * 60,
                  promotionCost() * expectedSeconds());
}

double SearchLimits::promotionCost() const {
  double cost = search.input.promotionCost.value_or(
      search.input.evaluator.promotionCost());
  double expected = expectedSeconds();
  return expected > 0 ? std::max(cost, longest / expected) : cost;
}

bool SearchLimits::mayEvaluate(StringRef name) {
  const SearchBudget &budget = search.options.budget;
  if (search.stopRequested()) {
    search.course.stop(SearchEnd::Interrupted);
    return false;
  }
  if (search.times.isReplay()) {
    // The clock said enough where the recording ends; and so did a share of the
    // evaluations that was smaller while another workload was pending.
    bool isLimited = budget.minutes > 0 || budget.evaluations > 0;
    if (!isLimited || !search.times.endsBefore(name))
      return true;
    // Whose limit that was, and how much of it, only that search knew.
    search.course.stop(SearchEnd::Budget,
                       "the recorded search asked for nothing more: a limit "
                       "had ended it");
    return false;
  }
  // What this run has asked for costs no more time, and what it asked for last
  // may come when its minutes are over.
  if (search.clock.hasAsked(name))
    return true;
  if (budget.minutes > 0 &&
      spentSeconds() + expectedSeconds() + secondsKept() > limitSeconds()) {
    // What a promotion runs into ended the search before.
    search.result.isOutOfTime = true;
    search.course.stop(SearchEnd::Budget, minutesSpent(budget, secondsKept()));
    return false;
  }
  return true;
}
