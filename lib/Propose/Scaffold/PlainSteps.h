//===- PlainSteps.h - What a plain program keeps in memory ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value of a pattern is computed where it is read, or by a step of its own,
// which writes it to memory: a result, one that is read more than once or by
// other than its neighbour's loops. Never is much computed twice.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_SCAFFOLD_PLAINSTEPS_H
#define FASTK_LIB_PROPOSE_SCAFFOLD_PLAINSTEPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace fastk::scaffold {

/// The value whose elements, in row-major order, are those of \p value.
mlir::Value withoutReshapes(mlir::Value value);

/// The steps of a pattern.
class StepChoice {
public:
  explicit StepChoice(mlir::Block &pattern);

  /// Values that a step writes: all results of one op, or one value that is
  /// copied together from others. In order.
  struct Step {
    llvm::SmallVector<mlir::Value> values;
    /// The result of the pattern that one value is copied to; -1: none.
    int copiedTo = -1;
  };
  const std::vector<Step> &steps() const { return chosen; }
  bool isStored(mlir::Value value) const { return stored.contains(value); }
  /// The result of the pattern that is where a stored value lies; -1: memory of
  /// its own.
  int resultOf(mlir::Value value) const;

private:
  void decide(mlir::Operation &op);
  bool mustBeStored(mlir::linalg::GenericOp op);
  bool isCheap(mlir::linalg::GenericOp op);
  void addStep(llvm::ArrayRef<mlir::Value> values);

  llvm::DenseMap<mlir::Value, int> results;
  llvm::DenseSet<mlir::Value> stored;
  llvm::DenseMap<mlir::Operation *, bool> cheap;
  std::vector<Step> chosen;
};

} // namespace fastk::scaffold

#endif // FASTK_LIB_PROPOSE_SCAFFOLD_PLAINSTEPS_H
