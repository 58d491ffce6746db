//===- StageBlock.h - A stage as a workload of its own ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_CATALOG_STAGEBLOCK_H
#define FASTK_LIB_PROPOSE_CATALOG_STAGEBLOCK_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fastk::catalog {

/// What computes a value from values that lie in buffers: a workload whose
/// operands are these.
class StageBlock {
public:
  /// `isOperand` tells which values lie in buffers.
  StageBlock(mlir::Value root, llvm::function_ref<bool(mlir::Value)> isOperand);

  mlir::Block &body() { return block; }
  /// In the pattern, in the order of the block's arguments.
  llvm::ArrayRef<mlir::Value> operands() const { return inputs; }

private:
  void copy(mlir::Value value, llvm::function_ref<bool(mlir::Value)> isOperand);

  mlir::OpBuilder builder;
  mlir::Block block;
  mlir::IRMapping mapping;
  llvm::SmallVector<mlir::Value> inputs;
};

} // namespace fastk::catalog

#endif // FASTK_LIB_PROPOSE_CATALOG_STAGEBLOCK_H
