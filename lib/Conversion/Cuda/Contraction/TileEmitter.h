//===- TileEmitter.h - What kernels on tiles are made of --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_CONTRACTION_TILEEMITTER_H
#define FASTK_LIB_CONVERSION_CUDA_CONTRACTION_TILEEMITTER_H

#include "Contraction.h"
#include "Cuda/Kernels/KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fastk {

/// Where one operand of a contraction lies, to a block's threads.
struct TileOperand {
  unsigned number = 0;
  mlir::Type element;
  /// All its elements in a row: a memref, or a pointer to shared memory.
  mlir::Value flat;
  /// First element of the block's batch, an index.
  mlir::Value base;
};

/// Emits integer arithmetic on tiles and accesses of operands. Numbers inside a
/// matrix are of one type, i32 where it is wide enough: 64-bit arithmetic costs
/// twice the registers.
class TileEmitter {
public:
  /// Makes the kernel's function; the builder is at its beginning after.
  TileEmitter(mlir::gpu::GPUModuleOp module, const Contraction &contraction,
              llvm::StringRef name, int64_t threads);

  mlir::Value number(int64_t value);
  mlir::Value index(int64_t value);
  mlir::Value toIndex(mlir::Value number);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, number(b)); }
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value bitXor(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, int64_t b);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);

  /// The thread's number in its block.
  mlir::Value thread();
  /// Splits the block's number: sets the batch, and returns the first row and
  /// the first column of its tile. Bands of row tiles share columns, so that
  /// what runs at the same time stays in L2.
  std::pair<mlir::Value, mlir::Value> locateTile(int64_t rows, int64_t columns);
  /// A thread's own row and first of `width` columns, and the batch; the row is
  /// past the end for threads too many.
  std::pair<mlir::Value, mlir::Value> locatePoint(int64_t width,
                                                  int64_t threads);
  int64_t countTiles(int64_t rows, int64_t columns) const;

  /// Operand `number` of the op in the block's batch.
  TileOperand operand(unsigned number);
  /// What index `number` of `group` adds to the place in `operand`; null for
  /// nothing.
  mlir::Value offset(const LoopGroup &group, mlir::Value number,
                     const TileOperand &operand);
  /// Place of an element from its parts, as an index.
  mlir::Value place(const TileOperand &operand,
                    llvm::ArrayRef<mlir::Value> offsets);
  /// `width` elements from `place` on, each a value.
  llvm::SmallVector<mlir::Value> load(const TileOperand &operand,
                                      mlir::Value place, int64_t width);
  void store(const TileOperand &operand, mlir::Value place,
             llvm::ArrayRef<mlir::Value> values);

  /// The factor from the values of its operands.
  mlir::Value compute(const ContractionSide &side,
                      llvm::ArrayRef<mlir::Value> loaded);
  mlir::Value zero(mlir::Type type);
  /// An elementwise op at one place, from the values of its operands.
  mlir::Value compute(mlir::linalg::GenericOp op,
                      llvm::ArrayRef<mlir::Value> values);
  void barrier();
  /// Emits `then` under `condition`; null is always.
  void branch(mlir::Value condition, llvm::function_ref<void()> then);
  /// `elements` of shared memory in a row, 16-byte aligned.
  TileOperand shared(mlir::Type element, int64_t elements);
  /// The shared memory that the launch gives.
  TileOperand dynamicShared(mlir::Type element);
  /// The same operand as a pointer to global memory.
  TileOperand global(const TileOperand &operand);
  /// Pointer to the element at `place`, an index, of an operand that is a
  /// pointer.
  mlir::Value pointer(const TileOperand &operand, mlir::Value place);
  /// Stores a thread's sums, given row by row, with what they begin with and
  /// what becomes of them; every `group` columns are neighbours. What lies
  /// outside is left out.
  void storeResult(llvm::ArrayRef<mlir::Value> rows,
                   llvm::ArrayRef<mlir::Value> columns, int64_t group,
                   llvm::ArrayRef<mlir::Value> sums);

  const Contraction &contraction;
  KernelBody body;
  mlir::gpu::GPUFuncOp func;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type numberType;

private:
  /// An operand that is read where sums are stored.
  struct Read {
    TileOperand operand;
    /// Of each column.
    llvm::SmallVector<mlir::Value> offsets;
    /// Neighbouring columns come at once.
    bool vector = false;
  };
  Read prepareRead(unsigned number, llvm::ArrayRef<mlir::Value> columns,
                   int64_t width);
  llvm::SmallVector<mlir::Value> read(const Read &read, mlir::Value rowOffset,
                                      size_t column, int64_t width);

  mlir::Value batch;
};

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_CONTRACTION_TILEEMITTER_H
