//===- ValidateTrial.cpp - What happens in one trial ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Random.h"
#include "Slope.h"
#include "Validation.h"
#include <algorithm>

using namespace fastk::worker;

std::string fastk::worker::titleOf(const Case &trial) {
  return std::string(toString(trial.law)) + ", trial " +
         std::to_string(trial.trial);
}

std::string fastk::worker::describe(const TrialError &e, Precision accepted) {
  char text[400];
  if (e.share && !e.nanMismatch)
    snprintf(text, sizeof(text),
             "result %lld: an error %.3g times the bound of its element, or "
             "errors so much beyond that of their row, for class %s; relative "
             "to its row's mean the largest is %.3g, all together %.3g",
             (long long)e.output, *e.share,
             std::string(toString(accepted)).c_str(), e.maxNormalized,
             e.relativeFrobenius);
  else if (e.nanMismatch)
    snprintf(text, sizeof(text),
             "result %lld has %lld elements that are NaN, infinite or "
             "different where the oracle's are not",
             (long long)e.output, (long long)e.nanMismatch);
  else
    snprintf(text, sizeof(text),
             "result %lld: largest error %.3g (bound %.3g), Frobenius %.3g "
             "(bound %.3g) for class %s; the baseline has %.3g and %.3g",
             (long long)e.output, e.maxNormalized, e.bound, e.relativeFrobenius,
             e.boundFrobenius, std::string(toString(accepted)).c_str(),
             e.referenceMax, e.referenceFrobenius);
  return text;
}

/// Runs the oracle or the baseline.
bool Validation::callTrusted(Part part, const Operands &operands,
                             Results &outputs, double *ns) {
  CallTime time;
  Running &program = part == Part::Oracle      ? *oracle
                     : part == Part::Condition ? *condition
                                               : *baseline;
  device.place(outputs, placement);
  device.poison(outputs);
  // Trusted programs get the time that the machine needs.
  constexpr double seconds = 600;
  if (!program.map(0, &operands, &outputs, failure) ||
      !program.call(0, seconds, time, failure) || !program.unmap(0, failure))
    return blame(part);
  std::string damage = device.damage(operands, outputs);
  if (!damage.empty()) {
    failure = {Status::Error,
               std::string("the ") + nameOf(part) + " " + damage};
    return false;
  }
  if (ns)
    *ns = time.ns;
  return true;
}

bool Validation::callCandidate(const std::string &what) {
  CallTime time;
  device.place(*candidateOutputs, placement);
  device.poison(*candidateOutputs);
  double seconds = job.limits.wallSeconds > 0
                       ? job.limits.wallSeconds
                       : std::max(10.0, 20 * baselineSeconds);
  evaluation.wallSeconds = seconds;
  if (!candidate->map(0, inputs.get(), candidateOutputs.get(), failure) ||
      !candidate->call(0, seconds, time, failure) ||
      !candidate->unmap(0, failure)) {
    failure.reason += " (" + what + ")";
    return false;
  }
  std::string damage = device.damage(*inputs, *candidateOutputs);
  if (!damage.empty())
    return wrong("the candidate " + damage + " (" + what + ")");
  return true;
}

bool Validation::callCondition(const Operands &operands) {
  return !condition ||
         callTrusted(Part::Condition, operands, *conditionOutputs);
}

/// The oracle's and the baseline's results on one trial.
Validation::Outcome Validation::prepare(Case &trial,
                                        std::vector<Difficulty> &difficulties,
                                        std::string &why) {
  // An op may overflow its type on large values: then smaller ones.
  for (double scale : {1.0, 0.125, 1.0 / 64, 1.0 / 512}) {
    trial.scale = scale;
    device.fill(*inputs, trial, placement);
    if (!callTrusted(Part::Oracle, *inputs, *oracleOutputs))
      return Outcome::Failed;
    bool legal = true;
    if (!callCondition(*inputs))
      return Outcome::Failed;
    for (size_t o = 0; o < job.outputs.size() && legal && !condition; ++o)
      if (!device.fits(o, *oracleOutputs)) {
        legal = false;
        why = "its exact result does not fit into the output's type";
      }
    if (!legal)
      continue;
    double ns = 0;
    if (!callTrusted(Part::Baseline, *inputs, *baselineOutputs, &ns))
      return Outcome::Failed;
    baselineSeconds = std::max(baselineSeconds, ns * 1e-9);
    difficulties.assign(job.outputs.size(), Difficulty());
    for (size_t o = 0; o < job.outputs.size(); ++o) {
      Measure m = device.compare(o, *baselineOutputs, *oracleOutputs);
      difficulties[o].baseline = m;
      difficulties[o].carriers = m.carriers;
      difficulties[o].coherent = isCoherent(trial.law);
      difficulties[o].rangeOnly = testsRange(trial.law);
      difficulties[o].exceedsHalf = exceedsHalf(job, trial.law);
      difficulties[o].exact =
          isExact(trial.law, job.kind) && m.max == 0 && m.mismatches == 0;
      bool perElement = condition && isFloat(job.outputs[o].type);
      difficulties[o].perElement = perElement;
      if (perElement) {
        Shares shares = device.judge(o, *baselineOutputs, *oracleOutputs,
                                     conditionOutputs.get(),
                                     errorRuleOf(job, o, difficulties[o]));
        difficulties[o].relativeCondition = shares.relativeCondition;
        difficulties[o].rowCondition = shares.rowCondition;
        difficulties[o].exact =
            isExact(trial.law, job.kind) && m.max == 0 && m.mismatches == 0;
        // Who breaks the contract himself is no measure of others.
        legal = shares.mismatches == 0 && shares.judged > 0 &&
                classify(shares, difficulties[o]) <= Precision::IEEE;
        char text[200];
        snprintf(text, sizeof(text),
                 "the default lowering breaks the contract there: %lld "
                 "elements NaN or infinite, an error %.3g times its bound; "
                 "%lld elements judged, %lld not",
                 (long long)shares.mismatches, shares.ieee,
                 (long long)shares.judged, (long long)shares.masked);
        if (!legal) {
          why = text;
          break;
        }
      } else if (m.mismatches) {
        legal = false;
        why = "the baseline differs from the oracle in " +
              std::to_string(m.mismatches) +
              (isFloat(job.outputs[o].type) ? " NaN or infinite elements"
                                            : " elements");
      }
    }
    if (legal)
      return Outcome::Ready;
    // Smaller values help where a trial is left out whole.
    if (condition)
      break;
  }
  return Outcome::LeftOut;
}

bool Validation::measureSlope(const Case &trial,
                              std::vector<Difficulty> &difficulties) {
  OracleRun run{*inputs, *oracleOutputs, placement,
                [&](const Operands &operands, Results &outputs) {
                  return callTrusted(Part::Oracle, operands, outputs);
                }};
  return worker::measureSlope(device, trial, run, moved, *otherOracle,
                              difficulties, failure);
}

/// Bounds are for the worst of millions of elements, but not for the worst of
/// all draws there will ever be: near a bound more draws decide. A kernel that
/// is right is beyond it less than once in a hundred, one that is wrong in
/// most.
bool Validation::isBadLuck(const Case &trial,
                           std::vector<Difficulty> &difficulties,
                           bool &unlucky) {
  constexpr int draws = 4;
  unlucky = true;
  Case again = trial;
  for (int k = 0; k < draws && unlucky; ++k) {
    again.seed = bitsAt(trial.seed, 7000 + uint64_t(k));
    device.fill(*inputs, again, placement);
    if (!callTrusted(Part::Oracle, *inputs, *oracleOutputs) ||
        !callCondition(*inputs) ||
        !callCandidate("on " + titleOf(trial) + ", drawn again"))
      return false;
    TrialError error;
    unlucky = evaluation.judge(*candidateOutputs, *oracleOutputs,
                               conditionOutputs.get(), difficulties,
                               error) <= job.acceptedPrecision;
  }
  device.fill(*inputs, trial, placement);
  return callTrusted(Part::Oracle, *inputs, *oracleOutputs) &&
         callCondition(*inputs);
}

/// Without the slope the bounds are tighter: what is IEEE then is IEEE anyway,
/// and the oracle need not run a second time. Else the slope is measured now.
bool Validation::judgeTrial(const Case &trial,
                            std::vector<Difficulty> &difficulties,
                            bool slopeKnown) {
  std::string title =
      titleOf(trial) + candidate->setTurn(uint32_t(verdict.audit.trials));
  if (!callCandidate("on " + title))
    return false;
  candidate->setTurn(0);
  TrialError error;
  error.distribution = toString(trial.law);
  error.trial = trial.trial;
  auto judge = [&] {
    return evaluation.judge(*candidateOutputs, *oracleOutputs,
                            conditionOutputs.get(), difficulties, error);
  };
  Precision got = judge();
  if (got != Precision::IEEE && !slopeKnown && !condition) {
    if (!measureSlope(trial, difficulties))
      return false;
    got = judge();
  }
  bool unlucky = false;
  constexpr double nearBound = 1.5;
  if (got > job.acceptedPrecision && error.share && !error.nanMismatch &&
      *error.share <= nearBound && !isBadLuck(trial, difficulties, unlucky))
    return false;
  if (unlucky) {
    got = job.acceptedPrecision;
    error.precision = got;
  }
  verdict.errors.push_back(error);
  verdict.precision = looser(verdict.precision, got);
  if (got > job.acceptedPrecision)
    return wrong("the candidate holds only class " +
                 std::string(toString(got)) + " on " + title + ": " +
                 describe(error, job.acceptedPrecision));
  return true;
}
