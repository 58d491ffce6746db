//===- Evaluation.cpp - From a job to its verdict -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"
#include "Clock.h"
#include "Phases.h"
#include <algorithm>

using namespace fastk::worker;

/// The share that the accepted class is decided by.
static double acceptedShare(const Shares &shares, Precision accepted) {
  switch (accepted) {
  case Precision::IEEE:
    return shares.ieee;
  case Precision::TF32:
    return shares.tf32;
  case Precision::Half:
  case Precision::None:
    break;
  }
  return shares.half;
}

Precision Evaluation::judge(const Results &outputs, const Results &oracle,
                            const Results *condition,
                            const std::vector<ErrorContext> &difficulties,
                            TrialError &worst) const {
  Precision precision = Precision::IEEE;
  double worstShare = -1;
  for (size_t o = 0; o < device.job.outputs.size(); ++o) {
    const ErrorContext &difficulty = difficulties[o];
    Precision accepted = device.job.acceptedPrecision;
    bool perElement = condition && isFloat(device.job.outputs[o].type);
    Shares shares;
    Measure m;
    if (!perElement)
      m = device.compare(o, outputs, oracle);
    else
      shares = device.judge(o, outputs, oracle, condition,
                            errorRuleOf(device.job, o, difficulty));
    Precision got = perElement ? classify(shares, difficulty)
                               : classify(device.job, o, m, difficulty);
    Bounds bounds = boundsOf(device.job, o, accepted, difficulty);
    int64_t mismatches = perElement ? shares.mismatches : m.mismatches;
    double own = perElement   ? acceptedShare(shares, accepted)
                 : m.max == 0 ? 0
                              : m.max / bounds.max;
    double share = mismatches ? 1e300 : own + 100 * double(got);
    if (share > worstShare) {
      worstShare = share;
      worst.output = int64_t(o);
      worst.maxNormalized = perElement ? shares.max : m.max;
      worst.relativeFrobenius = perElement ? shares.frobenius : m.frobenius;
      worst.nanMismatch = mismatches;
      worst.masked = shares.masked;
      worst.share.reset();
      if (perElement)
        worst.share = own;
      worst.referenceMax = difficulty.baseline.max;
      worst.referenceFrobenius = difficulty.baseline.frobenius;
      worst.bound = bounds.max;
      worst.boundFrobenius = bounds.frobenius;
      worst.precision = got;
    }
    precision = looser(precision, got);
  }
  worst.precision = precision;
  return precision;
}

bool fastk::worker::keepsClass(Device &device, const Results &outputs,
                               const Results &oracle, const Results *condition,
                               const Bounds &rows) {
  constexpr double times = 2;
  for (size_t o = 0; o < device.job.outputs.size(); ++o) {
    if (condition && isFloat(device.job.outputs[o].type)) {
      Shares shares = device.judge(o, outputs, oracle, condition,
                                   errorRuleOf(device.job, o, ErrorContext()));
      if (shares.mismatches != 0 ||
          acceptedShare(shares, device.job.acceptedPrecision) > times)
        return false;
      continue;
    }
    Measure m = device.compare(o, outputs, oracle);
    bool isNear =
        m.max <= times * rows.max && m.frobenius <= times * rows.frobenius;
    if (m.mismatches != 0 || !isNear)
      return false;
  }
  return true;
}

void Evaluation::account(ProgramInstance &program) {
  Phase phase("end");
  Resources used = program.finish();
  verdict.resources.peakMemoryBytes =
      std::max(verdict.resources.peakMemoryBytes, used.peakMemoryBytes);
  verdict.resources.cpuSeconds += used.cpuSeconds;
}

/// What a promotion has not looked at, as the end of its reason.
std::string fastk::worker::unseenBySanitizers(const Verdict &verdict) {
  std::string text;
  if (verdict.gpu)
    for (const auto &[tool, result] : verdict.gpu->sanitizer)
      if (result != "ok")
        text += (text.empty() ? "; not seen by " : ", ") + tool + " (" +
                result + ")";
  return text;
}

Verdict fastk::worker::evaluateOn(Device &device) {
  const Job &job = device.job;
  Verdict verdict;
  verdict.id = job.id;
  uint64_t begin = clockNs();
  PhaseLog phases;
  Failure failure;
  bool ok;
  {
    Evaluation evaluation(device, verdict);
    std::vector<ErrorContext> difficulty;
    ok = device.open(verdict, failure) &&
         validateCandidate(evaluation, difficulty, failure) &&
         (job.mode == Mode::Validate ||
          timeCandidate(evaluation, difficulty, failure));
  }
  if (ok && job.mode != Mode::Validate)
    ok = device.inspect(verdict, failure);
  if (ok) {
    verdict.status = Status::OK;
    verdict.reason = "right in class " +
                     std::string(toString(verdict.precision)) + " on " +
                     std::to_string(verdict.audit.trials) + " trials";
    if (verdict.timing.tooBusy) {
      verdict.reason +=
          "; the machine is too busy to time it: " + verdict.timing.disturbedBy;
    } else if (verdict.timing.speedupOverBaseline) {
      char text[120];
      snprintf(text, sizeof(text), "; %.4g us, %.3g times the baseline's speed",
               verdict.timing.candidate->medianNs * 1e-3,
               verdict.timing.speedupOverBaseline->median);
      verdict.reason += text;
    }
    verdict.reason += unseenBySanitizers(verdict);
  } else {
    verdict.status = failure.status;
    verdict.reason = failure.reason;
    bool wasRight =
        failure.status == Status::Slow || failure.status == Status::Impossible;
    if (!wasRight)
      verdict.precision = Precision::None;
  }
  verdict.phases = phases.take();
  verdict.resources.wallSeconds = double(clockNs() - begin) * 1e-9;
  return verdict;
}
