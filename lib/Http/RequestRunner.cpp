//===- RequestRunner.cpp - Requests, retries and waiting ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Http/RequestRunner.h"
#include <algorithm>

using namespace llvm;
using namespace fastk;

/// The user's interrupt is noticed within this time.
static constexpr double kSlice = 0.1;
/// Nobody needs to know of shorter waits.
static constexpr double kShortWait = 2;

std::optional<double> RequestRunner::waitBefore(Judgement judgement,
                                                Progress &progress,
                                                const HttpResult &result,
                                                RequestEffort &effort) {
  if (judgement == Judgement::Final || progress.attempts >= policy.attempts)
    return std::nullopt;
  if (judgement == Judgement::TryOnceMore && ++progress.oddFailures > 1)
    return std::nullopt;
  if (result.failure == TransportFailure::None)
    if (std::optional<double> wait = requestedWait(result, clock.date())) {
      if (*wait > policy.longestRequestedWait) {
        effort.refusedWait = *wait;
        return std::nullopt;
      }
      // A wait of nothing is no reason to hurry.
      if (*wait > 0)
        return *wait;
    }
  std::uniform_real_distribution<double> unit(0, 1);
  return backOff(policy, progress.attempts, unit(random));
}

Error RequestRunner::run(ArrayRef<HttpRequest> requests, Judge judge,
                         OnDone onDone, const RunnerHooks &hooks) {
  std::vector<Pending> waiting(requests.size());
  for (size_t i = 0; i < requests.size(); ++i)
    waiting[i].index = i;
  std::vector<Progress> progress(requests.size());
  size_t inFlight = 0;
  double toldUntil = 0;
  auto stop = [&] {
    transport->cancelAll();
    for (; inFlight > 0; --inFlight)
      limit->drop();
  };

  while (!waiting.empty() || inFlight > 0) {
    if (hooks.stopRequested && hooks.stopRequested()) {
      stop();
      return Error::success();
    }
    double now = clock.now();
    // In their order, but those that wait for their time are passed by.
    for (auto next = waiting.begin(); next != waiting.end();) {
      if (next->due > now) {
        ++next;
        continue;
      }
      if (!limit->tryStart(now))
        break;
      Progress &mine = progress[next->index];
      if (mine.attempts++ == 0)
        mine.firstStart = now;
      mine.lastStart = now;
      transport->start(next->index, requests[next->index]);
      ++inFlight;
      next = waiting.erase(next);
    }
    if (hooks.whileWaiting)
      hooks.whileWaiting();
    if (inFlight == 0) {
      double due = waiting.front().due;
      for (const Pending &each : waiting)
        due = std::min(due, each.due);
      due = std::max(due, limit->pausedUntil());
      // At least a little: others may use up the limit.
      clock.sleep(std::clamp(due - now, 0.001, kSlice));
      continue;
    }
    for (auto &[index, result] : transport->wait(kSlice)) {
      --inFlight;
      now = clock.now();
      Progress &mine = progress[index];
      Judgement judgement = judge(index, result);
      RequestEffort effort;
      std::optional<double> wait = waitBefore(judgement, mine, result, effort);
      if (judgement == Judgement::Busy) {
        // What it asked of this request holds for the others too.
        double asked = requestedWait(result, clock.date()).value_or(0);
        bool isKept = asked <= policy.longestRequestedWait;
        limit->refused(mine.lastStart, now, isKept ? asked : 0);
      } else if (result.failure == TransportFailure::None)
        limit->succeeded();
      else
        limit->drop();
      if (wait) {
        if (hooks.onLongWait && *wait > kShortWait && now >= toldUntil) {
          toldUntil = now + *wait;
          hooks.onLongWait(index, mine.attempts, *wait);
        }
        waiting.push_back({index, now + *wait});
        continue;
      }
      effort.attempts = mine.attempts;
      effort.seconds = now - mine.firstStart;
      if (Error error = onDone(index, effort)) {
        stop();
        return error;
      }
    }
  }
  return Error::success();
}
