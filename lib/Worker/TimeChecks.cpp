//===- TimeChecks.cpp - Were the timed calls right ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timer.h"

using namespace fastk::worker;

/// The baseline holds the IEEE class on these inputs, so its output is within
/// a known distance of the oracle's; the candidate's is within another.
bool Timer::compareWithBaseline(size_t set) {
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    Measure m =
        device.compare(o, *candidate->outputs[set], *baseline->outputs[set]);
    // Of integers both bounds are zero.
    Bounds accepted = boundsOf(job, o, job.acceptedPrecision, difficulty[o]);
    Bounds ieee = boundsOf(job, o, Precision::IEEE, difficulty[o]);
    double off = m.max;
    bool ok = m.mismatches == 0 && m.max <= 2 * (accepted.max + ieee.max) &&
              m.frobenius <= 2 * (accepted.frobenius + ieee.frobenius);
    if (!ok) {
      char text[240];
      snprintf(text, sizeof(text),
               "timed call %lld of the candidate gives a wrong result %zu "
               "(largest error %.3g), though it was right when validated: "
               "work was skipped, cached or finished late",
               (long long)candidate->ns.size(), o, off);
      failure = {Status::Wrong, text};
      return false;
    }
  }
  ++verdict.audit.timedOutputsChecked;
  return true;
}

bool Timer::auditOutput(size_t set, const Case &trial) {
  device.place(*oracleOutputs, Placement::Start);
  device.poison(*oracleOutputs);
  CallTime time;
  if (!oracle->map(0, sets[set].get(), oracleOutputs.get(), failure) ||
      !oracle->call(0, 600, time, failure) || !oracle->unmap(0, failure)) {
    failure.status = Status::Error;
    return false;
  }
  std::vector<Difficulty> own = difficulty;
  for (size_t o = 0; o < job.outputs.size(); ++o)
    own[o].baseline =
        device.compare(o, *baseline->outputs[set], *oracleOutputs);
  TrialError error;
  error.distribution = "timed";
  error.trial = trial.trial;
  Precision got =
      evaluation.judge(*candidate->outputs[set], *oracleOutputs, own, error);
  if (got > job.acceptedPrecision) {
    verdict.errors.push_back(error);
    failure = {Status::Wrong,
               "an audited timed call of the candidate, on inputs never seen "
               "before, gives a wrong result"};
    return false;
  }
  ++verdict.audit.auditedCalls;
  return true;
}
