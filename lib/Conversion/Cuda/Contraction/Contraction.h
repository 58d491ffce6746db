//===- Contraction.h - Sums of products on a GPU ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix products and convolutions are one thing here: c[m, n] += sum over k of
// a(m, k) * b(k, n), once for each point of the batch, where m, n, k and batch
// are groups of loops of one linalg.generic. A convolution has the pixels in m,
// the output channels in n, and channels and window in k; the addresses are
// linear in the loops, so no operand is copied first (implicit GEMM).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_CONTRACTION_CONTRACTION_H
#define FASTK_LIB_CONVERSION_CUDA_CONTRACTION_CONTRACTION_H

#include "Cuda/Kernels/KernelStrategy.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace fastk {

/// One loop, and how far a step moves in each operand of the op, in elements.
struct TileLoop {
  int64_t extent = 1;
  llvm::SmallVector<int64_t> strides;
};

/// Loops that are walked as one index, outermost first.
struct LoopGroup {
  llvm::SmallVector<TileLoop> loops;

  int64_t size() const {
    int64_t product = 1;
    for (const TileLoop &loop : loops)
      product *= loop.extent;
    return product;
  }
  /// Furthest element from the first in operand `number`.
  int64_t reach(unsigned number) const {
    int64_t sum = 0;
    for (const TileLoop &loop : loops)
      sum += (loop.extent - 1) * loop.strides[number];
    return sum;
  }
  /// Whether neighbours in this group are neighbours in operand `number`.
  bool runsAlong(unsigned number) const {
    return !loops.empty() && loops.back().strides[number] == 1;
  }
  bool moves(unsigned number) const {
    return llvm::any_of(
        loops, [&](const TileLoop &loop) { return loop.strides[number] != 0; });
  }
};

/// One factor of the product.
struct ContractionSide {
  /// Numbers of the operands it is computed from; the largest is first.
  llvm::SmallVector<unsigned> operands;
  /// What is computed on them before the product, in order.
  llvm::SmallVector<mlir::Operation *> body;
  mlir::Value result;
};

/// Which part of the work a kernel does: all of it, the products of parts of
/// the sums, or adding up those parts.
enum class ContractionPart { Whole, Products, Sums };

struct Contraction {
  mlir::linalg::GenericOp op;
  ContractionPart part = ContractionPart::Whole;
  ContractionFold fold;
  /// The op's operands, then the inputs of fold.start, then the operands of
  /// fold.end. Their places here are the numbers of operands.
  llvm::SmallVector<mlir::Value> operands;
  /// Number of the first of fold.start, of the first of fold.end, of the op's
  /// own result and of what the kernel writes.
  unsigned startOperands = 0, endOperands = 0, sum = 0, result = 0;
  ContractionSide a, b;
  LoopGroup batch, m, n, k;
  /// Of products and sums.
  mlir::FloatType element;
  /// Number of the memory for parts of sums, where there is one.
  unsigned partial = 0;
  /// What the tile is chosen for.
  worker::PlanLimits device;
  /// What a schedule has decided; null where nothing can be.
  KernelChoices *choices = nullptr;
  /// Rows of tiles that are walked together.
  int64_t band = 8;
  /// Whether tensor cores multiply; the factors must fit them.
  bool onTensorCores = false;

  /// The given number, or else `byModel`.
  int64_t chosen(llvm::StringRef name, int64_t byModel) const {
    return choices ? choices->find(name).value_or(byModel) : byModel;
  }

  /// Whether the kernel reads or writes operand `number`.
  bool usesOperand(unsigned number) const;
  /// Whether `width` neighbours along `group` can be moved at once in operand
  /// `number`: they lie together, begin at multiples of `width`, and none is
  /// outside when the first is inside.
  bool isVectorAccess(unsigned number, const LoopGroup &group,
                      int64_t width) const;
};

/// The op as a contraction that tiles pay for: a sum of products in f32 or f64
/// with rows and columns enough, each factor computed from its own operands.
/// `fold` must be what findContractionFolds says.
std::optional<Contraction> matchContraction(mlir::linalg::GenericOp op,
                                            ContractionFold fold = {});

/// Bytes of a buffer.
struct ByteRange {
  /// Equal for places in the same buffer.
  int64_t buffer = 0;
  int64_t begin = 0, end = 0;

  bool overlaps(const ByteRange &other) const {
    return buffer == other.buffer && begin < other.end && other.begin < end;
  }
};

/// The elementwise ops of `func` that can be computed in the kernel of the
/// contraction before or behind them, by contraction. `rangeOf` tells where a
/// memref lies; memory is planned already, so that what lives at other times
/// may lie in the same place.
llvm::DenseMap<mlir::Operation *, ContractionFold> findContractionFolds(
    mlir::func::FuncOp func,
    llvm::function_ref<std::optional<ByteRange>(mlir::Value)> rangeOf);

/// Into how many parts each sum is cut so that a small result keeps the device
/// busy; 1 for none. Nothing when the choice of a schedule is refused.
std::optional<int64_t> chooseSplit(const Contraction &contraction);
/// Elements of the parts of all sums.
int64_t countPartials(const Contraction &contraction, int64_t split);
/// The first step: parts of sums, to `partial`, a memref in one piece. The
/// second adds them up.
Contraction takeProducts(const Contraction &contraction, int64_t split,
                         mlir::Value partial);
Contraction takeSums(const Contraction &contraction, int64_t split,
                     mlir::Value partial);
DeviceKernel buildSumsKernel(mlir::gpu::GPUModuleOp module,
                             const Contraction &contraction,
                             llvm::StringRef name);

/// Seconds that the kernel takes, roughly.
double estimateScalarContraction(const Contraction &contraction);
double estimateTensorCoreContraction(const Contraction &contraction);

/// Decides the tile of the kernel. False when it is refused: no multiprocessor
/// can hold it.
bool decideScalarTile(const Contraction &contraction);
bool decideTensorCoreTile(const Contraction &contraction);

/// A kernel whose blocks compute tiles of the result, as decided.
DeviceKernel buildScalarContraction(mlir::gpu::GPUModuleOp module,
                                    const Contraction &contraction,
                                    llvm::StringRef name);
DeviceKernel buildTensorCoreContraction(mlir::gpu::GPUModuleOp module,
                                        const Contraction &contraction,
                                        llvm::StringRef name);

/// Whether both factors are f16, or both bf16, widened to f32.
bool fitsTensorCores(const Contraction &contraction);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_CONTRACTION_CONTRACTION_H
