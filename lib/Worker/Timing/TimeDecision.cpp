//===- TimeDecision.cpp - What the samples mean ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "Statistics.h"
#include "Timer.h"
#include "fastk/Protocol/RecordRules.h"
#include <algorithm>

using namespace fastk::worker;

/// Surely no gain: nobody needs to know by how much.
static bool isLost(const TimingReport &timing) {
  return timing.speedupOverBaseline && timing.speedupOverBaseline->high < 1;
}

bool Timer::reject(Status status, const char *text) {
  failure = {status, text};
  return false;
}

/// Where fewer than three blocks were undisturbed, all of them: something must
/// be said of the candidate.
std::vector<bool> Timer::counted() const {
  if (samples >= 3)
    return kept;
  return std::vector<bool>(noise.size(), true);
}

void Timer::report() {
  TimingReport &timing = verdict.timing;
  kept = keptBlocks(noise, quantile(candidate->ns, 0.5) /
                               std::max(quantile(baseline->ns, 0.5), 1.0));
  samples = size_t(std::count(kept.begin(), kept.end(), true));
  timing.droppedBlocks = int64_t(kept.size() - samples);
  std::vector<bool> counts = counted();
  auto timesOf = [&](const TimedProgram &timedProgram) {
    return keptOf(timedProgram.ns, counts);
  };
  std::vector<double> mine = timesOf(*candidate), trusted = timesOf(*baseline);
  timing.candidate = summarize(mine);
  timing.baseline = summarize(trusted);
  timing.speedupOverBaseline = pairedRatio(trusted, mine, random());
  if (incumbent) {
    std::vector<double> theirs = timesOf(*incumbent);
    timing.incumbent = summarize(theirs);
    timing.speedupOverIncumbent = pairedRatio(theirs, mine, random());
  }
  if (control)
    timing.aaRatio = pairedRatio(trusted, timesOf(*control), random());
  timing.belowResolution = timing.baseline->medianNs < 5 * timing.handshakeNs;
}

/// Looks at what has been measured so far. \p done: more samples would not
/// change the verdict.
bool Timer::decide(bool &done) {
  Phase phase("decide");
  report();
  const TimingReport &timing = verdict.timing;
  char text[240];
  const TimedProgram *rival = incumbent ? incumbent : baseline;
  double rivalNs = (incumbent ? timing.incumbent : timing.baseline)->medianNs;
  // With three samples the interval is their range: one disturbed sample does
  // not drop a candidate, nor does one disturbance that hit them all. What
  // other programs took of its time is not its own, and what they took of its
  // rival's speaks for it: so disturbed blocks count here.
  double spentNs = 0;
  std::vector<double> least;
  for (const CallTime &time : candidate->times) {
    least.push_back(time.leastNs());
    spentNs += time.ns;
  }
  bool isLasting = device.outlastsDisturbance(spentNs, least.size());
  const Ratio &overRival =
      incumbent ? *timing.speedupOverIncumbent : *timing.speedupOverBaseline;
  if (job.mode == Mode::Evaluate && job.time.screenRatio > 0 &&
      least.size() >= 3 && isLasting &&
      pairedRatio(rival->ns, least, random()).high * job.time.screenRatio < 1) {
    snprintf(text, sizeof(text),
             "dropped after %zu samples: %.4g us, more than %.3g times the "
             "%s's %.4g us",
             least.size(), timing.candidate->medianNs * 1e-3,
             job.time.screenRatio, nameOf(rival->part), rivalNs * 1e-3);
    return reject(Status::Slow, text);
  }
  done = false;
  if (int64_t(samples) >= job.time.minSamples &&
      verdict.audit.auditedCalls >= 2) {
    double width = (overRival.high - overRival.low) / (2 * overRival.median);
    bool isRecord = job.mode == Mode::Promote;
    double wanted = isRecord ? 0.003 : 0.01;
    // Precise enough, or lost for certain.
    done = isRecord ? width < wanted && noiseProblem(timing).empty()
                    : width < wanted || overRival.high < 0.95;
  }
  return true;
}

/// Sampling ends when more would change nothing; else when the budget is spent
/// and there is enough of it to tell something; and at the latest when the
/// longest time is over.
bool Timer::mayEnd(double seconds, bool done) const {
  const TimingReport &timing = verdict.timing;
  bool isRecord = job.mode == Mode::Promote;
  double budget = job.time.maxSeconds;
  auto least = size_t(job.time.minSamples);
  if (isRecord)
    least = std::max(least, size_t(samplesForRecord(timing)));
  bool isAudited = verdict.audit.auditedCalls >= 2;
  if (samples >= least && isAudited && done)
    return true;
  if (seconds <= budget)
    return false;
  if (samples >= least && isAudited &&
      (!isRecord || noiseProblem(timing).empty() || isLost(timing)))
    return true;
  // One call so long that the minimum would take many times the budget: three
  // samples must do, though not for a record.
  if (!isRecord)
    return seconds > 4 * budget
               ? noise.size() >= 3 && verdict.audit.auditedCalls > 0
               : seconds > 2 * budget && noise.size() >= 2 * least && isAudited;
  // A record of long calls takes its time, unless most of it is disturbed.
  bool isQuiet = 2 * samples >= noise.size();
  double longest = 3 * budget;
  if (isQuiet && samples < least)
    longest = std::max(longest, kLongSeconds);
  return seconds > longest && noise.size() >= size_t(kFewestLongSamples) &&
         isAudited;
}

void Timer::describeNoise() {
  TimingReport &timing = verdict.timing;
  if (*timing.droppedBlocks == 0)
    return;
  std::vector<CallTime> times;
  for (const TimedProgram &timedProgram : timedPrograms)
    times.insert(times.end(), timedProgram.times.begin(),
                 timedProgram.times.end());
  std::string by = device.describeDisturbance(times);
  timing.disturbedBy = std::to_string(*timing.droppedBlocks) + " of " +
                       std::to_string(noise.size()) +
                       " blocks of calls were disturbed" +
                       (by.empty() ? "" : ": " + by);
  bool isRecord = job.mode == Mode::Promote;
  int64_t least =
      isRecord ? samplesForRecord(timing)
               : std::min<int64_t>(job.time.minSamples, int64_t(noise.size()));
  timing.tooBusy = int64_t(samples) < least;
  // No number is better than one that others copy.
  if (timing.tooBusy && isRecord) {
    timing.speedupOverBaseline.reset();
    timing.speedupOverIncumbent.reset();
    timing.aaRatio.reset();
  }
}

bool Timer::checkFloor() {
  const TimingReport &timing = verdict.timing;
  char text[240];
  // The floor is physics; the handshake is not part of the kernel. Where most
  // calls were disturbed it is another one in each call, and nothing is known
  // of it; nor is such a time ever a record.
  double net =
      timing.candidate->medianNs - (timing.tooBusy ? 0 : timing.handshakeNs);
  double least = 0.97 * job.floorNs;
  bool isBelow = job.floorNs > 0 && net < least;
  // Where the handshake decides, it is one of the same time.
  if (isBelow && timing.candidate->medianNs >= least &&
      !compareWithEmpty(least, isBelow))
    return false;
  if (isBelow) {
    snprintf(text, sizeof(text),
             "%.4g us without the handshake is faster than 0.97 of the floor, "
             "%.4g us: no kernel can do the work in that time",
             net * 1e-3, job.floorNs * 1e-3);
    return reject(Status::Impossible, text);
  }
  return true;
}

/// The clocks of both sides must tell the same story.
bool Timer::checkClocks() {
  std::string why =
      device.distrust(candidate->times, baseline->times, handshakeP90);
  return why.empty() ||
         reject(Status::Refused, ("the candidate" + why).c_str());
}
