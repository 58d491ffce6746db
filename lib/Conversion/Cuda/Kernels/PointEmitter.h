//===- PointEmitter.h - Points of a row in a kernel -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread works on chunks of neighbouring points of one row: it loads them by
// one vector access where memory allows and computes each on its own. Indices
// are 32 bits wide where the sizes allow.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_POINTEMITTER_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_POINTEMITTER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include <map>

namespace fastk {

/// Where one operand of one op lies.
struct PointAccess {
  /// A memref of rank 1 in the kernel.
  mlir::Value buffer;
  mlir::Type element;
  /// The loops of the op, how far each moves the operand, and how many of them
  /// are rows.
  llvm::SmallVector<int64_t> extents, coefficients;
  unsigned split = 0;

  /// The stride of a column; nothing where the columns do not collapse.
  std::optional<int64_t> columnStride() const;
  /// Whether chunks of `width` points are one aligned vector in memory.
  bool isVector(int64_t width) const;
};

/// `width` points of a row from `column` on. Points of one chunk share their
/// number in `id`; no other chunk has it.
struct PointChunk {
  mlir::Value row, column;
  int64_t width = 1;
  unsigned id = 0;
  /// False for a chunk that lies outside and only repeats another; null where
  /// that cannot be.
  mlir::Value inside;
};

class PointEmitter {
public:
  PointEmitter(mlir::OpBuilder &builder, mlir::Location loc, bool narrow)
      : builder(builder), loc(loc),
        indexType(narrow ? builder.getI32Type() : builder.getI64Type()) {}

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value scale(mlir::Value value, int64_t factor);
  mlir::Value divide(mlir::Value value, int64_t by);
  mlir::Value remainder(mlir::Value value, int64_t by);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  /// Of type index, from one of the kernel's indices.
  mlir::Value toIndex(mlir::Value value);
  mlir::Value fromIndex(mlir::Value value);

  /// The operand at point `lane` of the chunk.
  mlir::Value load(const PointAccess &access, const PointChunk &chunk,
                   unsigned lane);
  /// Writes the chunk; one value a lane.
  void store(const PointAccess &access, const PointChunk &chunk,
             mlir::ValueRange values);
  /// The index of loop `dim` at point `lane`.
  mlir::Value loopIndex(llvm::ArrayRef<int64_t> extents, unsigned split,
                        unsigned dim, const PointChunk &chunk, unsigned lane);

  /// One evaluation of the body. `argument` gives what a used argument of the
  /// block stands for, `index` the loop indices. Ops in `skipped` are left out.
  llvm::SmallVector<mlir::Value>
  evaluate(mlir::linalg::GenericOp op, llvm::ArrayRef<mlir::Value> wanted,
           llvm::function_ref<mlir::Value(unsigned)> argument,
           llvm::function_ref<mlir::Value(unsigned)> index,
           llvm::ArrayRef<mlir::Operation *> skipped);

  /// What was emitted inside a loop is not known outside of it.
  struct Scope {
    PointEmitter &emitter;
    std::map<std::vector<int64_t>, mlir::Value> known;
    explicit Scope(PointEmitter &emitter)
        : emitter(emitter), known(emitter.known) {}
    ~Scope() { emitter.known = std::move(known); }
  };

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type indexType;

private:
  mlir::Value rowOffset(const PointAccess &access, mlir::Value row);
  mlir::Value address(const PointAccess &access, const PointChunk &chunk,
                      unsigned lane);
  /// Index of loop `dim` of `extents` at the linear number.
  mlir::Value delinearize(mlir::Value number, llvm::ArrayRef<int64_t> extents,
                          unsigned dim);

  /// Loads by buffer, way of access, chunk and lane.
  std::map<std::vector<int64_t>, mlir::Value> known;
};

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_POINTEMITTER_H
