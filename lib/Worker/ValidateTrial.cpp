//===- ValidateTrial.cpp - What happens in one trial ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Slope.h"
#include "Validation.h"
#include <algorithm>

using namespace fastk::worker;

std::string fastk::worker::titleOf(const Case &trial) {
  return std::string(toString(trial.law)) + ", trial " +
         std::to_string(trial.trial);
}

std::string fastk::worker::describe(const TrialError &e, Precision accepted) {
  char text[300];
  if (e.nanMismatch)
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
  Running &program = part == Part::Oracle ? *oracle : *baseline;
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
    for (size_t o = 0; o < job.outputs.size() && legal; ++o)
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
      if (m.mismatches) {
        legal = false;
        why = "the baseline differs from the oracle in " +
              std::to_string(m.mismatches) +
              (isFloat(job.outputs[o].type) ? " NaN or infinite elements"
                                            : " elements");
      }
    }
    if (!legal)
      continue;
    return Outcome::Ready;
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

/// Without the slope the bounds are tighter: what is IEEE then is IEEE anyway,
/// and the oracle need not run a second time. Else the slope is measured now.
bool Validation::judgeTrial(const Case &trial,
                            std::vector<Difficulty> &difficulties,
                            bool slopeKnown) {
  if (!callCandidate("on " + titleOf(trial)))
    return false;
  TrialError error;
  error.distribution = toString(trial.law);
  error.trial = trial.trial;
  Precision got =
      evaluation.judge(*candidateOutputs, *oracleOutputs, difficulties, error);
  if (got != Precision::IEEE && !slopeKnown) {
    if (!measureSlope(trial, difficulties))
      return false;
    got = evaluation.judge(*candidateOutputs, *oracleOutputs, difficulties,
                           error);
  }
  verdict.errors.push_back(error);
  verdict.precision = looser(verdict.precision, got);
  if (got > job.acceptedPrecision)
    return wrong("the candidate holds only class " +
                 std::string(toString(got)) + " on " + titleOf(trial) + ": " +
                 describe(error, job.acceptedPrecision));
  return true;
}
