//===- ValidateOnce.cpp - What is checked on one trial only ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clock.h"
#include "Sensitivity.h"
#include "Validation.h"
#include "Values/Random.h"
#include <algorithm>

using namespace fastk::worker;

/// Every operand must matter to the oracle; and the candidate must follow when
/// one operand alone changes. The last that is done on a trial.
bool Validation::checkOperands(const Trial &trial,
                               const std::vector<ErrorContext> &difficulties) {
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    Trial other = trial;
    other.seed = bitsAt(trial.seed, 9000 + i);
    bool isTrusted = false;
    std::string why;
    for (int number = 0; number < trustedDraws && !isTrusted; ++number) {
      if (number > 0)
        other.seed = drawnAgain(other.seed);
      if (!checkOperand(i, other, difficulties, isTrusted, why))
        return false;
    }
    if (!isTrusted)
      verdict.audit.leftOut.push_back("operand " + std::to_string(i) +
                                      " redrawn: " + why);
    // Back to the trial's own values, of which nobody needs the conditions
    // behind the last operand.
    device.redraw(*inputs, i, trial);
    if (i + 1 < job.inputs.size() && !callCondition(*inputs))
      return false;
  }
  return true;
}

/// The same for one operand and one draw of it. \p isTrusted: false, with the
/// reason in \p why, where the baseline does not hold there what the candidate
/// does not.
bool Validation::checkOperand(size_t operand, const Trial &redrawn,
                              const std::vector<ErrorContext> &difficulties,
                              bool &isTrusted, std::string &why) {
  isTrusted = true;
  device.redraw(*inputs, operand, redrawn);
  if (!callTrusted(ProgramRole::Oracle, *inputs, *otherOracle))
    return false;
  bool reacts = false;
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    if (difficulties[o].perElement) {
      Shares moved =
          device.judge(o, *otherOracle, *oracleOutputs, conditionOutputs.get(),
                       errorRuleOf(job, o, difficulties[o]));
      reacts |= moved.mismatches > 0 || moved.ieee > 1;
      continue;
    }
    Measure m = device.compare(o, *otherOracle, *oracleOutputs);
    Bounds accepted = boundsOf(job, o, job.acceptedPrecision, difficulties[o]);
    reacts |= m.mismatches > 0 || m.max > accepted.max;
  }
  if (!reacts) {
    failure = {Status::Unfit,
               "operand " + std::to_string(operand) +
                   " has no effect on the oracle's results: a kernel that "
                   "ignores it would pass; give it another distribution or "
                   "range, or take it out of the workload"};
    return false;
  }
  if (!callCondition(*inputs) ||
      !callCandidate("with operand " + std::to_string(operand) + " redrawn"))
    return false;
  TrialError error;
  error.distribution = "redrawn";
  error.trial = int64_t(operand);
  auto judge = [&](const std::vector<ErrorContext> &of) {
    return evaluation.judge(*candidateOutputs, *otherOracle,
                            conditionOutputs.get(), of, error);
  };
  Precision got = judge(difficulties);
  if (got > job.acceptedPrecision && !condition) {
    std::vector<ErrorContext> own;
    if (!measureRedrawn(redrawn, own))
      return false;
    got = judge(own);
    isTrusted = got <= job.acceptedPrecision ||
                !disagreesWithOracle(own, job.acceptedPrecision, why);
  }
  if (got <= job.acceptedPrecision || !isTrusted)
    return true;
  verdict.errors.push_back(error);
  return wrong("the candidate does not follow when operand " +
               std::to_string(operand) +
               " alone is redrawn: " + describe(error, job.acceptedPrecision));
}

/// What the op is like on operands of which one is \p redrawn, and otherOracle
/// the results: an op without conditions may be much harder there than on the
/// trial. Runs at most once an operand, and only where the trial's own bounds
/// are not held.
bool Validation::measureRedrawn(const Trial &redrawn,
                                std::vector<ErrorContext> &difficulties) {
  if (!callTrusted(ProgramRole::Baseline, *inputs, *baselineOutputs))
    return false;
  difficulties.assign(job.outputs.size(), ErrorContext());
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    ErrorContext &own = difficulties[o];
    own.baseline = device.compare(o, *baselineOutputs, *otherOracle);
    own.carriers = own.baseline.carriers;
  }
  OracleRun run{*inputs, *otherOracle, placement,
                [&](const Operands &operands, Results &outputs) {
                  return callTrusted(ProgramRole::Oracle, operands, outputs);
                }};
  std::unique_ptr<Results> scratch =
      device.createResults(ProgramRole::Oracle, failure);
  return scratch && worker::measureSensitivity(device, redrawn, run, moved,
                                               *scratch, difficulties, failure);
}

/// What a kernel that rounds its operands to FP16 would return must not count
/// as IEEE.
bool Validation::checkHalfInputs(
    const Trial &trial, const std::vector<ErrorContext> &difficulties) {
  if (!device.roundToHalf(*inputs))
    return true;
  if (!callTrusted(ProgramRole::Oracle, *inputs, *otherOracle))
    return false;
  bool rejected = false;
  double largest = 0;
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    const Tensor &tensor = job.outputs[o];
    // Coarser outputs hide it, and rightly so.
    if (tensor.type != ElementType::F32 && tensor.type != ElementType::F64) {
      rejected = true;
      continue;
    }
    if (difficulties[o].perElement) {
      Shares shares =
          device.judge(o, *otherOracle, *oracleOutputs, conditionOutputs.get(),
                       errorRuleOf(job, o, difficulties[o]));
      largest = std::max(largest, shares.max);
      rejected |= classify(shares, difficulties[o]) != Precision::IEEE;
      continue;
    }
    Measure m = device.compare(o, *otherOracle, *oracleOutputs);
    largest = std::max(largest, m.max);
    rejected |= classify(job, o, m, difficulties[o]) != Precision::IEEE;
  }
  char text[120];
  snprintf(text, sizeof(text), "%s as ieee on %s: largest error %.3g",
           rejected ? "rejected" : "accepted", titleOf(trial).c_str(), largest);
  refusedHalfInputs = rejected;
  competitors.record({"operands rounded to f16", rejected, text});
  device.fill(*inputs, trial, placement);
  return true;
}

/// A would-be winner gives the same bits again and again, or is right each
/// time. The first run is judged; so is every other that gives other bits.
bool Validation::checkRepeats(const Trial &trial,
                              const std::vector<ErrorContext> &difficulties) {
  bool isPromotion = job.mode == Mode::Promote;
  // One wrong run in a hundred is missed in 690 with a probability of 0.001.
  // Runs of 6 ms and more leave it at fewer, those of 4 s at five.
  const int64_t least = isPromotion ? 700 : 20;
  const uint64_t leastNs = isPromotion ? 2'000'000'000u : 0;
  constexpr uint64_t mostNs = 4'000'000'000u, mostNsForFive = 20'000'000'000u;
  uint64_t first = 0, begin = clockNs();
  int64_t others = 0, run = 0;
  for (;; ++run) {
    uint64_t spent = clockNs() - begin;
    if ((run >= least && spent >= leastNs) || (run >= 5 && spent >= mostNs) ||
        (run > 0 && spent >= mostNsForFive))
      break;
    if (!callCandidate("in repeated run " + std::to_string(run)))
      return false;
    uint64_t hash = device.hashOf(*candidateOutputs);
    if (run == 0)
      first = hash;
    else if (hash == first)
      continue;
    others += run > 0;
    TrialError error;
    error.distribution = "repeated";
    error.trial = run;
    Precision got =
        evaluation.judge(*candidateOutputs, *oracleOutputs,
                         conditionOutputs.get(), difficulties, error);
    if (got > job.acceptedPrecision) {
      verdict.errors.push_back(error);
      return wrong("the candidate fails in run " + std::to_string(run) +
                   " on one and the same input: " +
                   describe(error, job.acceptedPrecision));
    }
  }
  verdict.audit.bitwiseDeterministic = others == 0;
  verdict.audit.repeatedCalls = run;
  if (others == 0 || !job.validate.requireDeterministic)
    return true;
  failure = {Status::Refused,
             "the candidate is not deterministic: " + std::to_string(others) +
                 " of " + std::to_string(run) +
                 " runs on one and the same input give other bits than the "
                 "first, and the job requires the same"};
  return false;
}
