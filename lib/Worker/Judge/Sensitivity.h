//===- Sensitivity.h - How an op answers to small changes -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_JUDGE_SENSITIVITY_H
#define FASTK_LIB_WORKER_JUDGE_SENSITIVITY_H

#include "Device.h"
#include <functional>

namespace fastk::worker {

/// The operands of one call with the oracle's results on them.
struct OracleRun {
  const Operands &inputs;
  const Results &outputs;
  Placement placement = Placement::Start;
  /// Runs the oracle on other operands, into \p outputs.
  std::function<bool(const Operands &inputs, Results &outputs)> call;
};

/// Measures how strongly the op answers to small relative changes of its
/// inputs, and raises the slopes of \p difficulties to that: an error of the
/// same relative size in the arithmetic is amplified alike, whoever makes it.
/// \p moved and \p other are scratch; moved is made when first needed. Fails
/// only where memory or the oracle does.
bool measureSensitivity(Device &device, const Trial &trial,
                        const OracleRun &run, std::unique_ptr<Operands> &moved,
                        Results &other, std::vector<ErrorContext> &difficulties,
                        Failure &failure);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_JUDGE_SENSITIVITY_H
