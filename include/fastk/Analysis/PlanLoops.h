//===- PlanLoops.h - Loops that a plan has, too -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop between kernels becomes a repeat of a model's plan. What its steps
// work on may be elsewhere in each iteration, as far as a plan can say that
// (worker::Motion).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_ANALYSIS_PLANLOOPS_H
#define FASTK_ANALYSIS_PLANLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace fastk {

/// Whether `op` is a loop between kernels: an `scf.for` in a function's own
/// block, or in that of another such loop.
bool isPlanLoop(mlir::Operation *op);

/// A number that follows from the iterations of the plan's loops around it:
/// `constant`, and for each loop `each` for every iteration before and `odd` in
/// every second one.
struct LoopNumber {
  struct Term {
    mlir::scf::ForOp loop;
    int64_t each = 0, odd = 0;
  };
  int64_t constant = 0;
  llvm::SmallVector<Term, 2> terms;

  /// What it is a multiple of in all iterations; 0 where it is always zero.
  int64_t divisor() const;
  LoopNumber &operator+=(const LoopNumber &other);
  LoopNumber &operator*=(int64_t factor);
};

/// The number that `value` is, if it is one: constants, counters of loops of
/// constant bounds, their sums and multiples, and the parity of a counter.
std::optional<LoopNumber> findLoopNumber(mlir::Value value);

/// The same for what may be a constant.
std::optional<LoopNumber> findLoopNumber(mlir::OpFoldResult value);

/// Whether an op of a plan's loop computes such a number: for places, since no
/// kernel takes one.
bool isPlaceArithmetic(mlir::Operation *op);

/// Whether a loop on tensors can be one of a plan: it is of known length, it
/// carries tensors and nothing else, and each slice in it is of a known size at
/// a place that is such a number.
bool canBePlanLoop(mlir::scf::ForOp loop);

} // namespace fastk

#endif // FASTK_ANALYSIS_PLANLOOPS_H
