//===- TimeChecks.cpp - Were the timed calls right ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Judge/Sensitivity.h"
#include "Timer.h"

using namespace fastk::worker;

/// Both results are near the exact one, each as its class demands; how near an
/// element is depends on its condition, of which the first trial tells: as a
/// multiple of the element, where nothing cancels, or of it and its row. What
/// is beyond that is judged against the oracle.
bool Timer::isNearBaseline(size_t output, size_t set) {
  const ErrorContext &known = difficulty[output];
  ErrorRule rule = errorRuleOf(job, output, known);
  constexpr double wellConditioned = 1e4;
  bool isWell = known.relativeCondition < wellConditioned;
  rule.relative = isWell ? 1 : 2;
  double own = isWell ? known.relativeCondition : known.rowCondition;
  // Other draws have other conditions.
  constexpr double reserve = 2;
  double both = 2 * rule.ieee;
  if (job.acceptedPrecision != Precision::IEEE)
    both += rule.operands;
  rule.ieee = reserve * both * own;
  rule.operands = 0;
  rule.rows = 0;
  if (job.acceptedPrecision != Precision::Half)
    rule.half = 0;
  // The mean of a row is read where the rule needs it.
  if (rule.relative == 2 && rule.half == 0)
    rule.half = 1e-300;
  Shares shares = device.judge(output, *candidate->outputs[set],
                               *baseline->outputs[set], nullptr, rule);
  double share =
      job.acceptedPrecision == Precision::Half ? shares.half : shares.ieee;
  return shares.mismatches == 0 && share <= 1;
}

/// The baseline holds the IEEE class on these inputs, so its output is within
/// a known distance of the oracle's; the candidate's is within another. What is
/// farther apart is judged against the oracle: redrawn again and again, the
/// inputs are now and then much harder than those that the distances are from.
bool Timer::compareWithBaseline(size_t set, const Trial &trial) {
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    if (difficulty[o].perElement && isNearBaseline(o, set))
      continue;
    Measure m =
        device.compare(o, *candidate->outputs[set], *baseline->outputs[set]);
    // Of integers both bounds are zero.
    Bounds accepted = boundsOf(job, o, job.acceptedPrecision, difficulty[o]);
    Bounds ieee = boundsOf(job, o, Precision::IEEE, difficulty[o]);
    bool near = !difficulty[o].perElement && m.mismatches == 0 &&
                m.max <= 2 * (accepted.max + ieee.max) &&
                m.frobenius <= 2 * (accepted.frobenius + ieee.frobenius);
    if (near || auditOutput(set, trial))
      continue;
    if (failure.status != Status::Wrong)
      return false;
    char text[240];
    snprintf(text, sizeof(text),
             "timed call %lld of the candidate gives a wrong result %zu "
             "(largest error %.3g), though it was right when validated: "
             "work was skipped, cached or finished late",
             (long long)candidate->ns.size(), o, m.max);
    failure.reason = text;
    return false;
  }
  ++verdict.audit.judgedCalls;
  return true;
}

bool Timer::callOracle(const Operands &operands, Results &outputs) {
  device.place(outputs, Placement::Start);
  device.poison(outputs);
  CallTime time;
  if (oracle->map(0, &operands, &outputs, failure) &&
      oracle->call(0, 600, time, failure) && oracle->unmap(0, failure))
    return true;
  failure.status = Status::Error;
  return false;
}

bool Timer::callCondition(const Operands &operands) {
  if (!condition)
    return true;
  device.place(*conditionOutputs, Placement::Start);
  device.poison(*conditionOutputs);
  CallTime time;
  if (condition->map(0, &operands, conditionOutputs.get(), failure) &&
      condition->call(0, 600, time, failure) && condition->unmap(0, failure))
    return true;
  failure.status = Status::Error;
  return false;
}

/// Judges the candidate's result of a timed call as in a trial.
bool Timer::auditOutput(size_t set, const Trial &trial) {
  if (!callOracle(*sets[set], *oracleOutputs) || !callCondition(*sets[set]))
    return false;
  std::vector<ErrorContext> own = difficulty;
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    // Elements with bounds of their own need no measure of the baseline; that
    // of another trial says nothing here.
    if (own[o].perElement) {
      own[o].baseline = {};
      continue;
    }
    own[o].baseline =
        device.compare(o, *baseline->outputs[set], *oracleOutputs);
    own[o].carriers = own[o].baseline.carriers;
  }
  TrialError error;
  error.distribution = "timed";
  error.trial = trial.trial;
  const Results &result = *candidate->outputs[set];
  auto judge = [&] {
    return evaluation.judge(result, *oracleOutputs, conditionOutputs.get(), own,
                            error);
  };
  Precision got = judge();
  if (got > job.acceptedPrecision && !condition) {
    OracleRun run{*sets[set], *oracleOutputs, Placement::Start,
                  [&](const Operands &operands, Results &outputs) {
                    return callOracle(operands, outputs);
                  }};
    if (!otherOracle &&
        !(otherOracle = device.createResults(ProgramRole::Oracle, failure)))
      return false;
    if (!measureSensitivity(device, trial, run, moved, *otherOracle, own,
                            failure))
      return false;
    got = judge();
  }
  if (got > job.acceptedPrecision) {
    verdict.errors.push_back(error);
    failure = {Status::Wrong,
               "an audited timed call of the candidate, on inputs never seen "
               "before, gives a wrong result"};
    return false;
  }
  return true;
}
