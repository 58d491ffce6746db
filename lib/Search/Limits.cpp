//===- Limits.cpp - Budgets, interrupts and the clock ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Searcher.h"
#include <algorithm>
#include <chrono>

using namespace llvm;
using namespace fastk;

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

std::optional<int64_t> Searcher::evaluationsLeft(bool promote) const {
  int64_t limit = options.budget.evaluations;
  if (limit == 0)
    return std::nullopt;
  return std::max<int64_t>(
      limit - keptOf(options, promote) - result.counts.evaluations, 0);
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

bool Searcher::hasEvaluationsLeft(bool promote) {
  if (evaluationsLeft(promote).value_or(1) > 0)
    return true;
  stop(SearchEnd::Budget, evaluationsSpent(options, promote));
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

double Searcher::expectedSeconds() const {
  if (durations.empty())
    return 0;
  std::vector<double> sorted = durations;
  auto middle = sorted.begin() + sorted.size() / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double Searcher::secondsKept() const {
  if (phase == Phase::Promotion)
    return 0;
  return std::max(kPromotionShare * options.budget.minutes * 60,
                  promotionCost() * expectedSeconds());
}

double Searcher::promotionCost() const {
  double cost = input.promotionCost.value_or(input.evaluator.promotionCost());
  double expected = expectedSeconds();
  return expected > 0 ? std::max(cost, longestPromotion / expected) : cost;
}

bool Searcher::mayEvaluate(StringRef name) {
  if (input.stopRequested && input.stopRequested()) {
    stop(SearchEnd::Interrupted);
    return false;
  }
  if (times.isReplay()) {
    // The clock said enough where the recording ends; and so did a share of the
    // evaluations that was smaller while another workload was pending.
    bool isLimited =
        options.budget.minutes > 0 || options.budget.evaluations > 0;
    if (!isLimited || !times.endsBefore(name))
      return true;
    // Whose limit that was, and how much of it, only that search knew.
    stop(SearchEnd::Budget, "the recorded search asked for nothing more: a "
                            "limit had ended it");
    return false;
  }
  if (options.budget.minutes > 0) {
    double limit = options.budget.minutes * 60;
    if (runNow() + expectedSeconds() + secondsKept() > limit) {
      // What a promotion runs into ended the search before.
      result.isOutOfTime = true;
      stop(SearchEnd::Budget, minutesSpent(options.budget, secondsKept()));
      return false;
    }
  }
  return true;
}

double Searcher::clockNow() const {
  if (input.clock)
    return input.clock();
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double Searcher::runNow() const {
  return times.isReplay() ? times.last() : clockNow() - clockStart;
}

double Searcher::elapsedNow() const {
  if (times.isReplay())
    return times.last();
  return journalStart + clockNow() - clockStart;
}
