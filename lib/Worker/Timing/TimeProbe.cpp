//===- TimeProbe.cpp - Calls beside the samples ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clock.h"
#include "Phases.h"
#include "Statistics.h"
#include "Timer.h"
#include <algorithm>
#include <cmath>

using namespace fastk::worker;

/// Draws all operands of a set anew. Returns what they are drawn by.
Trial Timer::drawAnew(size_t set) {
  Trial drawn = trials[set];
  drawn.seed = random();
  for (size_t i = 0; i < job.inputs.size(); ++i)
    device.redraw(*sets[set], i, drawn);
  return drawn;
}

/// A call on inputs of which few have changed since the last call on the set.
/// All programs are called, as in a block: what was called more often would
/// find more of its code in the caches than the control does.
bool Timer::probe(size_t set) {
  device.mutate(*sets[set], trials[set], random());
  std::vector<TimedCall> calls;
  if (!callAll(set, calls))
    return false;
  auto nsOf = [&](const TimedProgram *timedProgram) {
    return calls[size_t(timedProgram - timedPrograms.data())].time.ns;
  };
  probeRatios.push_back(nsOf(candidate) / nsOf(baseline));
  return compareWithBaseline(set, trials[set]);
}

/// One call of candidate and baseline that is not timed, on operands drawn
/// anew, and the comparison of their results.
bool Timer::callBoth(size_t set) {
  Trial trial = drawAnew(set);
  CallTime time;
  bool first = random() % 2;
  return callOnce(first ? *candidate : *baseline, set, time, /*timed=*/false) &&
         callOnce(first ? *baseline : *candidate, set, time, /*timed=*/false) &&
         compareWithBaseline(set, trial);
}

/// A program that is wrong in one of a hundred calls, be it by chance, by count
/// or by what its operands are, is right in 690 calls with a probability of
/// less than 0.001.
static constexpr int64_t enoughJudged = 700;
/// Pairs that take 6 ms and more leave it at fewer; audit.judged_calls tells.
static constexpr uint64_t mostNs = 4'000'000'000u;

/// More calls on new inputs, until enough have been judged.
bool Timer::compareOften() {
  uint64_t begin = clockNs();
  for (size_t number = 0;
       verdict.audit.judgedCalls < enoughJudged && clockNs() - begin < mostNs;
       ++number)
    if (!callBoth(number % sets.size()))
      return false;
  return true;
}

/// Whether the candidate's calls surely take less than \p boundNs more than
/// those of an empty kernel. The handshake was measured before the candidate:
/// a load that was there then and is gone now, or an empty kernel that ran on
/// the busier processor, would make a short call one of less than nothing. So
/// more blocks are made, each with a call of an empty kernel, in which both
/// find the same machine.
bool Timer::compareWithEmpty(double boundNs, bool &isBelow) {
  constexpr size_t enough = 200, least = 24;
  std::unique_ptr<ProgramInstance> empty = startEmpty();
  if (!empty)
    return false;
  size_t pairs = 0, below = 0;
  uint64_t begin = clockNs();
  for (size_t number = candidate->ns.size();
       pairs < enough && clockNs() - begin < mostNs; ++number) {
    CallTime time;
    bool isDisturbed = false;
    auto call = [&] {
      if (!empty->call(0, 10, time, failure, /*timed=*/true))
        return false;
      isDisturbed = device.isDisturbed(time);
      return true;
    };
    bool first = random() % 2;
    if ((first && !call()) || !block(number, /*audit=*/false) ||
        (!first && !call()))
      return false;
    ++pairs;
    below += !isDisturbed && candidate->ns.back() - time.ns < boundNs;
  }
  // Of so long calls the handshake is no part that matters.
  if (pairs >= least)
    isBelow = isSurelyMost(below, pairs);
  return true;
}

static std::vector<double> ratiosOf(const std::vector<double> &mine,
                                    const std::vector<double> &theirs) {
  std::vector<double> ratios;
  for (size_t i = 0; i < mine.size(); ++i)
    ratios.push_back(mine[i] / theirs[i]);
  return ratios;
}

/// The probability that so many of \p low are below \p high by chance: the
/// rank sum of Mann and Whitney, by its normal limit.
static double chanceOf(const std::vector<double> &low,
                       const std::vector<double> &high) {
  double below = 0, n = double(low.size()), m = double(high.size());
  for (double x : low)
    for (double y : high)
      below += x < y ? 1 : x == y ? 0.5 : 0;
  double deviation = std::sqrt(n * m * (n + m + 1) / 12);
  return 0.5 * std::erfc((below - n * m / 2) / deviation / std::sqrt(2.0));
}

/// Whether calls on inputs that have hardly changed take much less time.
/// Pairing with the baseline's call takes out what the machine did.
bool Timer::looksKept() const {
  std::vector<double> samples = ratiosOf(candidate->ns, baseline->ns);
  double probed = quantile(probeRatios, 0.5), usual = quantile(samples, 0.5);
  return probed * 1.5 < usual &&
         (usual - probed) * quantile(baseline->ns, 0.5) >
             5 * verdict.timing.handshakeNs;
}

/// Nothing may be kept from call to call. It is of no use in the samples, whose
/// inputs are new; who does it all the same does not do the work of a call.
/// Few calls prove nothing on a busy machine: more are made.
bool Timer::checkAudited() {
  constexpr size_t enough = 24;
  constexpr double never = 1e-6;
  if (probeRatios.empty() || !looksKept())
    return true;
  uint64_t begin = clockNs();
  for (size_t number = candidate->ns.size();
       probeRatios.size() < enough && clockNs() - begin < mostNs; ++number)
    if (!block(number, /*audit=*/false) || !probe(number % sets.size()))
      return false;
  if (!looksKept() ||
      chanceOf(probeRatios, ratiosOf(candidate->ns, baseline->ns)) > never)
    return true;
  char text[240];
  snprintf(text, sizeof(text),
           "calls on new inputs take %.3g times as long as calls on inputs "
           "that have hardly changed: work is kept between calls",
           quantile(ratiosOf(candidate->ns, baseline->ns), 0.5) /
               quantile(probeRatios, 0.5));
  return reject(Status::Wrong, text);
}
