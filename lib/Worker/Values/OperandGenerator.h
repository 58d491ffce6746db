//===- OperandGenerator.h - The values of one operand -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_VALUES_OPERANDGENERATOR_H
#define FASTK_LIB_WORKER_VALUES_OPERANDGENERATOR_H

#include "Random.h"
#include "Trials.h"

namespace fastk::worker {

/// The values of operand \p index of the job. ValueFormulas.h has the formulas.
ValueRule ruleOf(const Job &job, size_t index, const Trial &trial);

/// Draws the elements of one operand, any part of it, on any thread.
class OperandGenerator {
public:
  OperandGenerator(const Job &job, size_t index, const Trial &trial)
      : rule(ruleOf(job, index, trial)) {}

  /// Elements [begin, end).
  void values(int64_t begin, int64_t end, double *out) const;

  double at(int64_t i) const;

private:
  /// The law's values, before role and range.
  void draw(int64_t begin, int64_t end, double *out) const;

  ValueRule rule;
  NormalEntries normal = NormalTable::get().entries();
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_VALUES_OPERANDGENERATOR_H
