//===- PTXValues.h - Values that a thread computes alike --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CUDA_PTXVALUES_H
#define FASTK_LIB_CUDA_PTXVALUES_H

#include "PTXFunctions.h"
#include <map>
#include <string>

namespace fastk::cuda {

/// What a thread computes from its place in the grid and the parameters alone
/// is the same each time: conditions on it are one condition.
class PTXValues {
public:
  explicit PTXValues(const PTXFunction &function);

  /// A text for the value of a register; two with the same text are equal
  /// wherever they are computed. Empty where it may change.
  std::string of(PTXToken name) const { return of(name, 0); }

private:
  std::string of(PTXToken name, int depth) const;

  const PTXFunction &function;
  /// The statements that set a register.
  std::map<PTXToken, std::vector<size_t>> setters;
};

/// Predicates by the text of their value, and what they are.
using PTXConditions = std::map<std::string, bool>;

/// What certainly holds for a thread that has come to statement \p at.
PTXConditions conditionsAt(const PTXFunction &function, const PTXValues &values,
                           size_t at);

/// The statements that may follow statement \p at where \p conditions hold.
std::vector<size_t> nextUnder(const PTXFunction &function,
                              const PTXValues &values,
                              const PTXConditions &conditions, size_t at);

/// Whether a guarded statement is executed: known where \p conditions say it.
enum class Executed { Always, Never, Perhaps };
Executed isExecuted(const PTXStatement &each, const PTXValues &values,
                    const PTXConditions &conditions);

} // namespace fastk::cuda

#endif // FASTK_LIB_CUDA_PTXVALUES_H
