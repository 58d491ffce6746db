//===- WatchedEvaluator.h - Verdicts are counted and told -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_WATCHEDEVALUATOR_H
#define FASTK_EVALUATE_WATCHEDEVALUATOR_H

#include "fastk/Evaluate/Evaluator.h"
#include "fastk/System/EventLog.h"
#include "fastk/System/Metrics.h"
#include <memory>

namespace fastk {

/// Answers as \p evaluator does, counts its verdicts in \p metrics, whose file
/// is written while answers are waited for, and says each in \p log. Both
/// outlive it, and either may be null.
std::unique_ptr<Evaluator> watchEvaluator(std::unique_ptr<Evaluator> evaluator,
                                          Metrics *metrics,
                                          const EventLog *log);

} // namespace fastk

#endif // FASTK_EVALUATE_WATCHEDEVALUATOR_H
