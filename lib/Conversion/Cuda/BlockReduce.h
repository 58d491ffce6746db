//===- BlockReduce.h - A value of every thread to one -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_BLOCKREDUCE_H
#define FASTK_LIB_CONVERSION_CUDA_BLOCKREDUCE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fastk {

/// One value to reduce, and how two are combined.
struct Reduced {
  mlir::Value value;
  llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine;
};

/// Combines the values of each `threads` neighbouring threads (a power of two)
/// of a block of `blockThreads`, a multiple of 32; every thread gets the result
/// of its group, the same bits. The tree is fixed, so runs agree. All threads
/// of the block must come here.
void reduceInBlock(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::gpu::GPUFuncOp kernel, int64_t blockThreads,
                   int64_t threads, llvm::MutableArrayRef<Reduced> values);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_BLOCKREDUCE_H
