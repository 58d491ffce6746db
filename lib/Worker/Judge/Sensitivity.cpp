//===- Sensitivity.cpp - How an op answers to small changes ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sensitivity.h"
#include <algorithm>
#include <cmath>

using namespace fastk::worker;

bool fastk::worker::measureSensitivity(Device &device, const Trial &trial,
                                       const OracleRun &run,
                                       std::unique_ptr<Operands> &moved,
                                       Results &other,
                                       std::vector<ErrorContext> &difficulties,
                                       Failure &failure) {
  const Job &job = device.job;
  if (sitsOnBreakpoints(trial.law))
    return true;
  double coarsest = 0;
  for (const Tensor &input : job.inputs)
    coarsest = std::max(coarsest, unitRoundoff(input.type));
  if (coarsest == 0)
    return true;
  // Several units, so that rounding to the operand's type moves all alike.
  double delta = 4 * coarsest;
  double carriers = 1e300;
  for (size_t o = 0; o < job.outputs.size(); ++o)
    if (isFloat(job.outputs[o].type))
      carriers = std::min(carriers, difficulties[o].carriers);
  // One random direction says little about a few elements: try several, and
  // count the worst.
  uint64_t draws = carriers < 16 ? 8 : carriers < 256 ? 3 : 1;
  if (!moved && !(moved = device.createOperands(failure)))
    return false;
  for (uint64_t draw = 0; draw < draws; ++draw) {
    device.perturb(run.inputs, *moved, trial, draw, delta, run.placement);
    if (!run.call(*moved, other))
      return false;
    for (size_t o = 0; o < job.outputs.size(); ++o) {
      if (!isFloat(job.outputs[o].type))
        continue;
      Measure m = device.compare(o, other, run.outputs);
      // Infinities that come or go count as no change.
      auto slope = [&](double change) {
        return std::isfinite(change) ? change / delta : 1 / delta;
      };
      ErrorContext &d = difficulties[o];
      d.slopeMax = std::max(d.slopeMax, slope(m.max));
      d.slopeFrobenius = std::max(d.slopeFrobenius, slope(m.frobenius));
    }
  }
  return true;
}
