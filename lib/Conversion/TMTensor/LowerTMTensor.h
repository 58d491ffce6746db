//===- LowerTMTensor.h - tm_tensor on its way to loops ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_TMTENSOR_LOWERTMTENSOR_H
#define FASTK_LIB_CONVERSION_TMTENSOR_LOWERTMTENSOR_H

#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace fastk {

/// Gives the tm_tensor ops but attention their place in one-shot bufferization.
void registerTMTensorBufferization(mlir::DialectRegistry &registry);

/// One of the ops each; the rewriter stands before it. The op is not erased.
void emitScan(mlir::OpBuilder &builder, tm_tensor::ScanOp op);
void emitScatter(mlir::OpBuilder &builder, tm_tensor::ScatterOp op);
void emitSort(mlir::OpBuilder &builder, tm_tensor::SortOp op);
void emitTopk(mlir::OpBuilder &builder, tm_tensor::TopkOp op);

/// A scan whose rows are serial, whatever their number and length.
void emitScanRows(mlir::OpBuilder &builder, tm_tensor::ScanOp op);

//===----------------------------------------------------------------------===//
// What they share
//===----------------------------------------------------------------------===//

/// Where the slice of `update` begins in each dimension of the target that the
/// indices speak of, null in the others; with an assert that it lies inside.
llvm::SmallVector<mlir::Value> emitScatterStarts(mlir::OpBuilder &builder,
                                                 tm_tensor::ScatterOp op,
                                                 mlir::Value update);
/// The place in the target of an element of such a slice.
llvm::SmallVector<mlir::Value>
emitScatterPlace(mlir::OpBuilder &builder, tm_tensor::ScatterOp op,
                 mlir::ArrayRef<mlir::Value> starts, mlir::ValueRange inSlice);

/// Whether the elements of a row may be combined in groups: the body is one op
/// that is associative and commutes.
bool isAssociative(tm_tensor::ScanOp op);

/// What the body of a sort or of topk says of two elements, the earlier and the
/// later one of each tensor in turn. Of floats it is made a total order, as it
/// is in PyTorch: NaN is larger than all numbers.
mlir::Value emitOrder(mlir::OpBuilder &builder, mlir::Block &body,
                      mlir::ValueRange arguments);

/// Whether the body is one comparison of two elements of one tensor, so that
/// emitOrder() does not contradict itself.
bool isTotalOrder(mlir::Block &body);

/// The body of a tm_tensor op on `arguments`; what it yields.
mlir::Value emitBody(mlir::OpBuilder &builder, mlir::Block &body,
                     mlir::ValueRange arguments);

/// The sizes of a memref, constants where they are known.
llvm::SmallVector<mlir::Value> sizesOf(mlir::OpBuilder &builder,
                                       mlir::Location loc, mlir::Value memref);

mlir::Value constantIndex(mlir::OpBuilder &builder, mlir::Location loc,
                          int64_t value);

/// A parallel loop over every dimension of `sizes` but `dimension`, with a
/// serial body that is given an index for each: zero for `dimension`. Without
/// other dimensions the body stands alone.
void emitRows(mlir::OpBuilder &builder, mlir::Location loc,
              mlir::ArrayRef<mlir::Value> sizes, int64_t dimension,
              llvm::function_ref<void(mlir::OpBuilder &,
                                      llvm::SmallVector<mlir::Value> &)>
                  body);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_TMTENSOR_LOWERTMTENSOR_H
