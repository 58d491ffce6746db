//===- OpAccess.h - One op on memrefs, as points of rows --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_OPACCESS_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_OPACCESS_H

#include "KernelBody.h"
#include "PointEmitter.h"

namespace fastk {

/// A linalg.generic whose operands are linear in its loops, and whose body
/// looks at nothing else but constants.
class OpAccess {
public:
  static std::optional<OpAccess> of(mlir::linalg::GenericOp op);

  /// Puts the loops in the order given.
  void reorder(llvm::ArrayRef<unsigned> order);
  /// The loops in the order in which they walk the memory of an operand; those
  /// that do not move it stay in front.
  void orderLoopsBy(unsigned operand);
  /// Makes one loop of neighbours that every operand walks as one. Bodies that
  /// ask for loop indices keep their loops.
  void mergeLoops();
  /// Makes the row as long as all operands allow.
  void splitLongestRow();
  void splitAt(unsigned loops);

  int64_t rows() const;
  int64_t columns() const;
  /// The widest vector that every operand along the row allows, whether or not
  /// it divides the row.
  int64_t widest() const;
  bool isNarrow() const;

  /// Makes the kernel, sets the builder into it and returns the op's memrefs
  /// that are its parameters; `extra` ones come behind.
  llvm::SmallVector<mlir::Value> createFunction(mlir::OpBuilder &builder,
                                                mlir::gpu::GPUModuleOp module,
                                                llvm::StringRef name,
                                                int64_t threads,
                                                mlir::TypeRange extra = {});
  mlir::gpu::GPUFuncOp kernel;

  /// The body at a point. `given` may hold the values of some operands; null
  /// ones are loaded. `wanted` is what is asked for, the results by default.
  llvm::SmallVector<mlir::Value>
  evaluate(PointEmitter &emit, const PointChunk &chunk, unsigned lane,
           mlir::ValueRange given = {}, llvm::ArrayRef<mlir::Value> wanted = {},
           llvm::ArrayRef<mlir::Operation *> skipped = {});

  mlir::linalg::GenericOp op;
  /// Of the loops in their present order.
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<unsigned> order;
  unsigned split = 0;
  /// One an operand; those of scalars have no element type.
  llvm::SmallVector<PointAccess> operands;

private:
  /// Elements that an operand's memref spans, and where it begins in its
  /// buffer, or what that is a multiple of.
  llvm::SmallVector<int64_t> spans, offsets;
};

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_OPACCESS_H
