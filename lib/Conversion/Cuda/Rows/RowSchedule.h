//===- RowSchedule.h - Who works on what of a group -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_ROWS_ROWSCHEDULE_H
#define FASTK_LIB_CONVERSION_CUDA_ROWS_ROWSCHEDULE_H

#include "Cuda/Kernels/KernelChoices.h"
#include "Cuda/Kernels/PointEmitter.h"
#include "RowGroups.h"

namespace fastk {

/// What is known of a group before any kernel is written.
struct RowGroup {
  explicit RowGroup(mlir::func::FuncOp func);

  mutable mlir::func::FuncOp func;
  int64_t rows, columns;
  llvm::SmallVector<mlir::linalg::GenericOp> ops;
  /// Reductions that must be done before an op's results, its own among them.
  llvm::DenseMap<mlir::Operation *, unsigned> level;
  unsigned levels = 0;
  /// Points of a chunk.
  int64_t width = 1;
  /// Words of a point that live from one pass to the next.
  int64_t heldWords = 0;
  /// Functions and divisions in f64 of a point, all passes together.
  int64_t doubleFunctions = 0;
  /// Whether every index fits 32 bits.
  bool narrow = true;

  bool isFull(mlir::linalg::GenericOp op) const {
    return op.getNumReductionLoops() == 0 && points(op) != rows;
  }
  bool isReduction(mlir::linalg::GenericOp op) const {
    return op.getNumReductionLoops() != 0;
  }
  int64_t points(mlir::linalg::GenericOp op) const {
    int64_t count = 1;
    for (int64_t extent : op.getStaticLoopRanges())
      count *= extent;
    return count;
  }
  /// The op of the group that makes the value; null for what comes from
  /// outside.
  mlir::linalg::GenericOp producerOf(mlir::Value value) const {
    return skipReshapes(value).getDefiningOp<mlir::linalg::GenericOp>();
  }
  PointAccess accessOf(mlir::OpOperand &operand) const;
  /// Results of the function that are the op's.
  mlir::ValueRange outputs() const {
    return func.getBody().front().getTerminator()->getOperands();
  }
  /// The pass that stores a full result: the first one that can.
  unsigned passOf(mlir::linalg::GenericOp op) const {
    return level.lookup(op) + 1;
  }
  unsigned lastPass() const;

private:
  void chooseWidth();
  void countHeldWords();
};

/// How the kernels of a group share the work.
struct RowSchedule {
  /// Threads of a row in one block, and of a block.
  int64_t threads = 1, blockThreads = 128;
  /// Blocks of a row, and the chunks of each when there are several.
  int64_t parts = 1, share = 0;
  /// Whether a thread holds all its chunks from pass to pass.
  bool holds = true;
  /// Chunks that are loaded together in a loop.
  int64_t unroll = 4;
  /// Whether every other pass runs backwards.
  bool backwards = true;
  /// Blocks that a multiprocessor shall hold; 0: as it comes.
  int64_t resident = 0;
};

/// By a model, but for what is given. The group's width is narrowed to the
/// chosen one. Nothing when a choice is refused.
std::optional<RowSchedule> scheduleRows(RowGroup &group,
                                        KernelChoices &choices);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_ROWS_ROWSCHEDULE_H
