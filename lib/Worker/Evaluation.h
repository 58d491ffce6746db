//===- Evaluation.h - What the phases of an evaluation share ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_EVALUATION_H
#define FASTK_LIB_WORKER_EVALUATION_H

#include "Device.h"
#include <memory>
#include <vector>

namespace fastk::worker {

struct Evaluation {
  Evaluation(Device &device, Verdict &verdict)
      : device(device), verdict(verdict),
        wallSeconds(device.job.limits.wallSeconds > 0
                        ? device.job.limits.wallSeconds
                        : 10) {}

  /// Judges one set of results against the oracle's; the looser class over
  /// results. \p worst receives the errors of the worst one. \p condition: the
  /// conditions of the oracle's results, where the job has them.
  Precision judge(const Results &outputs, const Results &oracle,
                  const Results *condition,
                  const std::vector<ErrorContext> &difficulties,
                  TrialError &worst) const;

  /// Ends a program and adds what it used to the verdict.
  void account(ProgramInstance &program);

  Device &device;
  Verdict &verdict;
  /// Memory for operands that validation has done with; timing draws its own
  /// values into it, so only the pages are used again.
  std::vector<std::unique_ptr<Operands>> spare;
  /// Of one call of the candidate; grows with the baseline's time.
  double wallSeconds;
};

/// Checks the candidate on every trial. Fills errors, precision, competitors
/// and audit of the verdict; on failure the verdict's status is in \p failure.
/// \p difficulty receives what N(0,1) was like, for the timed calls.
bool validateCandidate(Evaluation &evaluation,
                       std::vector<ErrorContext> &difficulty, Failure &failure);

/// Whether results of one of many runs, on operands drawn from N(0,1), keep the
/// accepted class. As far as twice the bound nobody is wrong by chance.
/// \p condition: as judge()'s. \p rows: the bounds of what has no conditions.
bool keepsClass(Device &device, const Results &outputs, const Results &oracle,
                const Results *condition, const Bounds &rows);

/// Times the programs. Fills timing and audit.
bool timeCandidate(Evaluation &evaluation,
                   const std::vector<ErrorContext> &difficulty,
                   Failure &failure);

/// The whole protocol on a device. Never fails: what goes wrong is the verdict.
Verdict evaluateOn(Device &device);

/// Which tools of compute-sanitizer a promotion did without, and why, as the
/// end of a sentence; empty where all ran.
std::string unseenBySanitizers(const Verdict &verdict);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_EVALUATION_H
