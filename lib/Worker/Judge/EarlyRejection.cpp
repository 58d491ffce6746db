//===- EarlyRejection.cpp - Is the candidate surely too slow --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timing/Statistics.h"
#include "Validation.h"
#include "Values/Random.h"
#include <algorithm>

using namespace fastk::worker;

/// After one right trial, before more is spent: is the candidate surely much
/// slower than its rival. Pairs of calls on the trial's inputs; whoever keeps
/// results between calls looks fast here, and goes on to be timed in earnest.
bool Validation::screen() {
  constexpr int fewestPairs = 3;
  ProgramRole rivalPart =
      job.incumbent ? ProgramRole::Incumbent : ProgramRole::Baseline;
  const char *name = nameOf(rivalPart);
  std::unique_ptr<ProgramInstance> incumbent;
  std::unique_ptr<Results> own;
  if (job.incumbent) {
    if (!start(rivalPart, incumbent))
      return false;
    own = device.createResults(rivalPart, failure);
    if (!own)
      return false;
  }
  ProgramInstance &rival = incumbent ? *incumbent : *baseline;
  Results &rivalOutputs = own ? *own : *baselineOutputs;

  // The candidate's result of the trial has been judged, the baseline's is in
  // the difficulties: both may be overwritten.
  bool isDisturbed = false;
  auto call = [&](ProgramInstance &program, Results &outputs, double seconds,
                  double &ns, double &least) {
    device.poison(outputs);
    device.flush(*inputs, outputs);
    CallTime time;
    if (!program.call(0, seconds, time, failure))
      return false;
    ns = time.ns;
    least = time.leastNs();
    isDisturbed |= device.isDisturbed(time);
    return true;
  };
  device.place(rivalOutputs, placement);
  constexpr double trusted = 600;
  double ns = 0, least = 0;
  std::vector<double> mine, theirs;
  if (!rival.map(0, inputs.get(), &rivalOutputs, failure) ||
      !call(rival, rivalOutputs, trusted, ns, least))
    return blame(rivalPart);
  if (!candidate->map(0, inputs.get(), candidateOutputs.get(), failure) ||
      !call(*candidate, *candidateOutputs, evaluation.wallSeconds, ns, least))
    return false;
  double spentNs = 0;
  int pairs = 0;
  const double limit = job.time.screenRatio;
  // With three pairs the interval is their range: all must say so.
  Ratio ratio;
  // Where something disturbs them, more tell more. A neighbour on the memory is
  // seen by nobody, but does not double a time.
  constexpr int disturbedPairs = 9;
  auto isEnough = [&] {
    if (pairs < fewestPairs ||
        !device.outlastsDisturbance(spentNs, size_t(pairs)))
      return false;
    ratio = pairedRatio(theirs, mine, secretSeed());
    bool isClear = ratio.high * limit >= 1 || ratio.high * 2 * limit < 1;
    return pairs >= disturbedPairs || (!isDisturbed && isClear);
  };
  for (; !isEnough(); ++pairs) {
    if (!call(rival, rivalOutputs, trusted, ns, least))
      return blame(rivalPart);
    theirs.push_back(ns);
    if (!call(*candidate, *candidateOutputs, evaluation.wallSeconds, ns, least))
      return false;
    // What other programs took of the candidate's time is not its own; what
    // they took of its rival's speaks for the candidate. One that lies about
    // its time goes on to be timed in earnest.
    mine.push_back(least);
    spentNs += ns;
  }
  std::string damage = device.damage(*inputs, *candidateOutputs);
  if (!damage.empty())
    return wrong("the candidate " + damage + " (when screened)");
  if (!candidate->unmap(0, failure))
    return false;
  if (!rival.unmap(0, failure))
    return blame(rivalPart);
  if (incumbent)
    evaluation.account(*incumbent);

  if (ratio.high * limit >= 1)
    return true;
  TimingReport &timing = verdict.timing;
  timing.candidate = summarize(mine);
  (job.incumbent ? timing.incumbent : timing.baseline) = summarize(theirs);
  (job.incumbent ? timing.speedupOverIncumbent : timing.speedupOverBaseline) =
      ratio;
  char text[240];
  snprintf(text, sizeof(text),
           "dropped after one trial and %d samples: %.4g us, more than %.3g "
           "times the %s's %.4g us",
           pairs, timing.candidate->medianNs * 1e-3, job.time.screenRatio, name,
           quantile(theirs, 0.5) * 1e-3);
  failure = {Status::Slow, text};
  ++verdict.audit.trials;
  verdict.audit.distributions.emplace_back(toString(Distribution::Normal));
  return false;
}
