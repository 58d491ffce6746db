//===- SharedWork.h - Work of several threads on a device -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_SCHEDULE_SHAREDWORK_H
#define FASTK_LIB_CONVERSION_CUDA_SCHEDULE_SHAREDWORK_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fastk {

/// The largest value that `value` takes.
mlir::FailureOr<int64_t> boundFromAbove(mlir::OpFoldResult value);

/// Points of several dimensions, shared by the members of a team: member i
/// takes point i, i + count and so on.
class SharedRange {
public:
  SharedRange(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// Adds a dimension; neighbours in the first one go to neighbours.
  void add(mlir::OpFoldResult lower, mlir::OpFoldResult upper,
           mlir::OpFoldResult step);
  /// Emits what gives each member its points; returns the block in which a
  /// point is handled, with the builder at its end.
  mlir::Block *open(mlir::Value id, int64_t count);
  /// Numbers of the point along each dimension, in the order they were added.
  llvm::SmallVector<mlir::Value> indices();
  /// The op that what is done for a point stands before.
  mlir::Operation *end() { return body->getTerminator(); }

private:
  mlir::Value value(mlir::OpFoldResult number);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// How many numbers each dimension has.
  llvm::SmallVector<mlir::OpFoldResult> trips;
  mlir::Value number;
  mlir::Block *body = nullptr;
};

/// Replaces `op`, on memrefs, by loops that `count` threads share, `id` being
/// the number of the one that runs; all of them come here. A reduction to fewer
/// results than there are threads is combined as a tree. Nobody waits at the
/// end. The kernel is `func`, and `id` its thread, or the thread's lane where
/// `count` is a warp.
void shareOp(mlir::IRRewriter &rewriter, mlir::linalg::GenericOp op,
             mlir::gpu::GPUFuncOp func, mlir::Value id, int64_t count);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_SCHEDULE_SHAREDWORK_H
