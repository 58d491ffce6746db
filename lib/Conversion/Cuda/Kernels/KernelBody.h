//===- KernelBody.h - A linalg.generic inside a kernel ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels of one linalg.generic share: the function with its
// parameters, which dimension runs along memory, and one evaluation of the
// body at given indices.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_KERNELBODY_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_KERNELBODY_H

#include "KernelStrategy.h"
#include "mlir/IR/IRMapping.h"

namespace fastk {

/// Makes a kernel for blocks of `threads` threads at the end of `module`. It
/// does nothing so far, and `builder` is set to where it begins.
mlir::gpu::GPUFuncOp createKernel(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::gpu::GPUModuleOp module,
                                  llvm::StringRef name,
                                  mlir::TypeRange parameters, int64_t threads);

/// Whether a memref is data of the model, and not its state.
bool isConstantGlobal(mlir::Value memref);

/// The same for what `op` of the host function does: a parameter for each
/// memref of `used`, which is added to `operands`; constants are made again in
/// the kernel. `mapping` goes from the host's values to the kernel's.
mlir::gpu::GPUFuncOp createKernel(mlir::OpBuilder &builder, mlir::Operation *op,
                                  mlir::gpu::GPUModuleOp module,
                                  llvm::StringRef name, int64_t threads,
                                  llvm::ArrayRef<mlir::Value> used,
                                  llvm::SmallVectorImpl<mlir::Value> &operands,
                                  mlir::IRMapping &mapping);

class KernelBody {
public:
  explicit KernelBody(mlir::linalg::GenericOp op);

  /// Makes the kernel's function and sets the builder to its beginning.
  mlir::gpu::GPUFuncOp createFunction(mlir::gpu::GPUModuleOp module,
                                      llvm::StringRef name, int64_t threads);
  /// The same with the values of the host that the kernel uses given.
  mlir::gpu::GPUFuncOp createFunction(mlir::gpu::GPUModuleOp module,
                                      llvm::StringRef name, int64_t threads,
                                      llvm::ArrayRef<mlir::Value> used);

  /// Stride in elements of an operand along a loop; 0 where it does not move.
  int64_t strideOf(unsigned operand, unsigned dim);
  /// `dims` with the one along memory last, the others in their order: what
  /// neighbouring threads should walk.
  llvm::SmallVector<unsigned> orderForCoalescing(llvm::ArrayRef<unsigned> dims);

  int64_t countPoints(llvm::ArrayRef<unsigned> dims) const;
  /// Sets the indices of `dims`, the last one fastest, from a linear number.
  void delinearize(mlir::Value number, llvm::ArrayRef<unsigned> dims,
                   llvm::MutableArrayRef<mlir::Value> indices);

  mlir::Value constant(int64_t value);
  /// Zero of an element type.
  mlir::Value zero(mlir::Type type);
  /// Result `index` as the op finds it, at the point's indices.
  mlir::Value loadResult(unsigned index, mlir::ArrayRef<mlir::Value> indices);
  void storeResult(unsigned index, mlir::ArrayRef<mlir::Value> indices,
                   mlir::Value value);
  /// Loads the operands at `indices` and evaluates the body once;
  /// `accumulators` stand for the results' old values.
  llvm::SmallVector<mlir::Value> evaluate(mlir::ArrayRef<mlir::Value> indices,
                                          mlir::ValueRange accumulators);

  /// Host values to those of the kernel.
  const mlir::IRMapping &deviceValues() const { return mapping; }

  mlir::linalg::GenericOp op;
  mlir::OpBuilder builder;
  mlir::Location loc;
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<unsigned> parallelDims, reductionDims;
  /// Memrefs of the host function that are parameters, in order.
  llvm::SmallVector<mlir::Value> operands;

private:
  llvm::SmallVector<mlir::Value>
  subscripts(unsigned operand, mlir::ArrayRef<mlir::Value> indices);

  /// Host values to those of the kernel.
  mlir::IRMapping mapping;
};

/// The type of a kernel's parameter for a memref of the host function: the same
/// strides, the offset left to the pointer.
mlir::MemRefType parameterType(mlir::MemRefType type);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_KERNELBODY_H
