//===- MeteredEvaluator.h - Verdicts are counted ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_METEREDEVALUATOR_H
#define FASTK_EVALUATE_METEREDEVALUATOR_H

#include "fastk/Evaluate/Evaluator.h"
#include "fastk/System/Metrics.h"
#include <memory>

namespace fastk {

/// Answers as \p evaluator does, and counts its verdicts in \p metrics, which
/// outlives it: the file is written while answers are waited for.
std::unique_ptr<Evaluator> meterEvaluator(std::unique_ptr<Evaluator> evaluator,
                                          Metrics &metrics);

} // namespace fastk

#endif // FASTK_EVALUATE_METEREDEVALUATOR_H
