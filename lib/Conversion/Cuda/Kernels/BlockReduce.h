//===- BlockReduce.h - A value of every thread to one -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_BLOCKREDUCE_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_BLOCKREDUCE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace fastk {

/// How one result of an op is reduced in a kernel. Sums of floats smaller than
/// f32 are f32 until they are stored.
class Reduction {
public:
  /// The result must have a combiner (findCombiner).
  Reduction(mlir::linalg::GenericOp op, unsigned index);

  /// Of two values of `type`.
  mlir::Value combine(mlir::OpBuilder &builder, mlir::Value a,
                      mlir::Value b) const;
  mlir::Value neutral(mlir::OpBuilder &builder) const;
  /// Between the result's own type and `type`.
  mlir::Value widen(mlir::OpBuilder &builder, mlir::Value value) const;
  mlir::Value narrow(mlir::OpBuilder &builder, mlir::Value value) const;

  mutable mlir::linalg::GenericOp op;
  unsigned index;
  /// The op in the body, and what it combines the result with.
  mlir::Operation *combiner;
  mlir::Value contribution;
  mlir::Type type;
};

/// One value to reduce.
struct Reduced {
  mlir::Value value;
  const Reduction *reduction;
};

/// The value of the lane at `distance`, as `mode` says, for types of any width:
/// the hardware moves 32 bits.
mlir::Value shuffle(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, int64_t distance,
                    mlir::gpu::ShuffleMode mode);

/// Combines the values of each `threads` neighbouring threads (a power of two)
/// of a block of `blockThreads`, a multiple of 32; every thread gets the result
/// of its group, the same bits. The tree is fixed, so runs agree. All threads
/// of the block must come here.
void reduceInBlock(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::gpu::GPUFuncOp kernel, int64_t blockThreads,
                   int64_t threads, llvm::MutableArrayRef<Reduced> values);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_BLOCKREDUCE_H
