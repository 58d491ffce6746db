//===- ValidateTrial.cpp - What happens in one trial ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sensitivity.h"
#include "Validation.h"
#include "Values/Random.h"
#include <algorithm>

using namespace fastk::worker;

std::string fastk::worker::titleOf(const Trial &trial) {
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
bool Validation::callTrusted(ProgramRole part, const Operands &operands,
                             Results &outputs, double *ns) {
  CallTime time;
  ProgramInstance &program = part == ProgramRole::Oracle      ? *oracle
                             : part == ProgramRole::Condition ? *condition
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
         callTrusted(ProgramRole::Condition, operands, *conditionOutputs);
}

/// What the baseline's result says of a trial. False, with the reason in
/// \p why, where nothing can be judged on it. \p mostMasked: of most elements
/// nothing can be asked.
bool Validation::measureBaseline(const Trial &trial, size_t output,
                                 ErrorContext &difficulty, bool &mostMasked,
                                 std::string &why) {
  difficulty.coherent = isCoherent(trial.law);
  difficulty.rangeOnly = testsRange(trial.law);
  difficulty.exceedsHalf = exceedsHalf(job, trial.law);
  const Tensor &tensor = job.outputs[output];
  bool mayBeExact = isExact(trial.law, job.kind);
  if (!condition || !isFloat(tensor.type)) {
    Measure m = device.compare(output, *baselineOutputs, *oracleOutputs);
    difficulty.baseline = m;
    difficulty.carriers = m.carriers;
    difficulty.exact = mayBeExact && m.max == 0 && m.mismatches == 0;
    if (m.mismatches == 0)
      return true;
    why = "the baseline differs from the oracle in " +
          std::to_string(m.mismatches) +
          (isFloat(tensor.type) ? " NaN or infinite elements" : " elements");
    return false;
  }
  difficulty.perElement = true;
  Shares shares = device.judge(output, *baselineOutputs, *oracleOutputs,
                               conditionOutputs.get(),
                               errorRuleOf(job, output, difficulty));
  difficulty.baseline.max = shares.max;
  difficulty.baseline.frobenius = shares.frobenius;
  difficulty.baseline.mismatches = shares.mismatches;
  difficulty.relativeCondition = shares.relativeCondition;
  difficulty.rowCondition = shares.rowCondition;
  difficulty.exact = mayBeExact && shares.max == 0 && shares.mismatches == 0;
  mostMasked |= shares.masked > shares.judged;
  char text[240];
  if (shares.judged == 0)
    snprintf(text, sizeof(text),
             "every element overflows, or may on the way to it");
  else
    snprintf(text, sizeof(text),
             "the default lowering breaks the contract there: %lld elements "
             "NaN or infinite, an error %.3g times its bound",
             (long long)shares.mismatches, shares.ieee);
  why = text;
  // Who breaks the contract is no measure of others.
  return shares.judged > 0 && shares.mismatches == 0 && shares.ieee <= 1;
}

/// The oracle's and the baseline's results on one trial.
Validation::Outcome Validation::prepare(Trial &trial,
                                        std::vector<ErrorContext> &difficulties,
                                        std::string &why) {
  // An op may overflow its type on large values: then smaller ones.
  for (double scale : {1.0, 0.125, 1.0 / 64, 1.0 / 512}) {
    trial.scale = scale;
    device.fill(*inputs, trial, placement);
    if (!callTrusted(ProgramRole::Oracle, *inputs, *oracleOutputs))
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
    if (!callTrusted(ProgramRole::Baseline, *inputs, *baselineOutputs, &ns))
      return Outcome::Failed;
    baselineSeconds = std::max(baselineSeconds, ns * 1e-9);
    difficulties.assign(job.outputs.size(), ErrorContext());
    bool mostMasked = false;
    for (size_t o = 0; o < job.outputs.size() && legal; ++o)
      legal = measureBaseline(trial, o, difficulties[o], mostMasked, why);
    // Where most overflows on the way, smaller values say more.
    bool mayShrink = !condition ||
                     (mostMasked && respondsToScale(trial.law) && scale > 0.01);
    if (legal && !(condition && mayShrink))
      return Outcome::Ready;
    if (!mayShrink)
      break;
  }
  return Outcome::LeftOut;
}

bool Validation::measureSensitivity(const Trial &trial,
                                    std::vector<ErrorContext> &difficulties) {
  OracleRun run{*inputs, *oracleOutputs, placement,
                [&](const Operands &operands, Results &outputs) {
                  return callTrusted(ProgramRole::Oracle, operands, outputs);
                }};
  return worker::measureSensitivity(device, trial, run, moved, *otherOracle,
                                    difficulties, failure);
}

/// Bounds are for the worst of millions of elements, but not for the worst of
/// all draws there will ever be: near a bound more draws decide. A kernel that
/// is right is beyond it less than once in a hundred, one that is wrong in
/// most.
bool Validation::isBadLuck(const Trial &trial,
                           std::vector<ErrorContext> &difficulties,
                           bool &unlucky) {
  constexpr int draws = 4;
  unlucky = true;
  int judged = 0;
  for (int k = 0; k < draws && unlucky; ++k) {
    Trial again = trial;
    again.seed = bitsAt(trial.seed, 7000 + uint64_t(k));
    // Without conditions each draw has its own baseline and slopes.
    std::vector<ErrorContext> own = difficulties;
    if (condition) {
      device.fill(*inputs, again, placement);
      if (!callTrusted(ProgramRole::Oracle, *inputs, *oracleOutputs) ||
          !callCondition(*inputs))
        return false;
    } else {
      std::string why;
      Outcome outcome = draw(again, own, /*slopeKnown=*/true, why);
      if (outcome == Outcome::Failed)
        return false;
      if (outcome != Outcome::Ready)
        continue;
    }
    ++judged;
    if (!callCandidate("on " + titleOf(trial) + ", drawn again"))
      return false;
    TrialError error;
    unlucky = evaluation.judge(*candidateOutputs, *oracleOutputs,
                               conditionOutputs.get(), own,
                               error) <= job.acceptedPrecision;
  }
  // Draws that nobody could be judged on speak for nobody.
  unlucky &= judged > 0;
  device.fill(*inputs, trial, placement);
  return callTrusted(ProgramRole::Oracle, *inputs, *oracleOutputs) &&
         callCondition(*inputs);
}

/// Whether an error is so little beyond its bound that more draws decide.
static bool isNearBound(const TrialError &error) {
  constexpr double near = 1.5;
  if (error.nanMismatch)
    return false;
  if (error.share)
    return *error.share <= near;
  return error.maxNormalized <= near * error.bound &&
         error.relativeFrobenius <= near * error.boundFrobenius;
}

/// Without the slope the bounds are tighter: what is IEEE then is IEEE anyway,
/// and the oracle need not run a second time. Else the slope is measured now.
bool Validation::judgeTrial(const Trial &trial,
                            std::vector<ErrorContext> &difficulties,
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
    if (!measureSensitivity(trial, difficulties))
      return false;
    got = judge();
  }
  bool unlucky = false;
  if (got > job.acceptedPrecision && isNearBound(error) &&
      !isBadLuck(trial, difficulties, unlucky))
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
