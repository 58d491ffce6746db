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
#include <algorithm>

using namespace fastk::worker;

bool Timer::reject(Status status, const char *text) {
  failure = {status, text};
  return false;
}

void Timer::report() {
  TimingReport &timing = verdict.timing;
  timing.candidate = summarize(candidate->ns);
  timing.baseline = summarize(baseline->ns);
  timing.speedupOverBaseline =
      pairedRatio(baseline->ns, candidate->ns, random());
  if (incumbent) {
    timing.incumbent = summarize(incumbent->ns);
    timing.speedupOverIncumbent =
        pairedRatio(incumbent->ns, candidate->ns, random());
  }
  if (control)
    timing.aaRatio = pairedRatio(baseline->ns, control->ns, random());
  timing.belowResolution = timing.baseline->medianNs < 5 * timing.handshakeNs;
}

/// Looks at what has been measured so far. \p done: more samples would not
/// change the verdict.
bool Timer::decide(bool &done) {
  Phase phase("decide");
  report();
  const TimingReport &timing = verdict.timing;
  char text[240];
  const Contestant *rival = incumbent ? incumbent : baseline;
  double rivalNs = quantile(rival->ns, 0.5);
  size_t samples = candidate->ns.size();
  // With three samples the interval is their range: one disturbed sample does
  // not drop a candidate, nor does one disturbance that hit them all.
  double spentNs = 0;
  for (double ns : candidate->ns)
    spentNs += ns;
  bool isLasting = device.outlastsDisturbance(spentNs, samples);
  const Ratio &overRival =
      incumbent ? *timing.speedupOverIncumbent : *timing.speedupOverBaseline;
  if (job.mode == Mode::Evaluate && job.time.screenRatio > 0 && samples >= 3 &&
      isLasting && overRival.high * job.time.screenRatio < 1) {
    snprintf(text, sizeof(text),
             "dropped after %zu samples: %.4g us, more than %.3g times the "
             "%s's %.4g us",
             samples, timing.candidate->medianNs * 1e-3, job.time.screenRatio,
             nameOf(rival->part), rivalNs * 1e-3);
    return reject(Status::Slow, text);
  }
  done = false;
  if (int64_t(samples) >= job.time.minSamples &&
      verdict.audit.auditedCalls >= 2) {
    double width = (overRival.high - overRival.low) / (2 * overRival.median);
    double wanted = job.mode == Mode::Promote ? 0.003 : 0.01;
    // Precise enough, or lost for certain.
    done =
        width < wanted || (job.mode == Mode::Evaluate && overRival.high < 0.95);
  }
  return true;
}

bool Timer::checkFloor() {
  const TimingReport &timing = verdict.timing;
  char text[240];
  // The floor is physics; the handshake is not part of the kernel.
  double net = timing.candidate->medianNs - timing.handshakeNs;
  if (job.floorNs > 0 && net < 0.97 * job.floorNs) {
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
