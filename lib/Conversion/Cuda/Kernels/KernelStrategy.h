//===- KernelStrategy.h - How an op becomes kernels -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op of a function on memrefs becomes one or more kernels by a strategy:
// the first of KernelStrategies.def that takes it. A strategy matches an op,
// decides its numbers, then emits kernels. docs/extending.md says how to add
// one.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_KERNELSTRATEGY_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_KERNELSTRATEGY_H

#include "KernelChoices.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace fastk {

/// What a kernel is launched with, and the memrefs it takes in order.
struct DeviceKernel {
  std::string name;
  int64_t blocks = 1, threads = 1;
  /// Blocks along y and z.
  int64_t blocksY = 1, blocksZ = 1;
  /// Dynamic shared memory of a block.
  int64_t sharedBytes = 0;
  llvm::SmallVector<mlir::Value> operands;
};

/// Kernels that run one after the other, with `scratchBytes` of workspace
/// between them. Where in it each buffer lies is in `scratch`: parameters of
/// every kernel, behind its operands.
struct KernelSequence {
  KernelSequence() = default;
  explicit KernelSequence(DeviceKernel kernel) {
    kernels.push_back(std::move(kernel));
  }

  llvm::SmallVector<DeviceKernel> kernels;
  int64_t scratchBytes = 0;
  llvm::SmallVector<int64_t> scratch;
  /// Among the operands: stands for memory that the kernels of all ops share,
  /// since those of one op have done with it before the next one's begin.
  mlir::memref::AllocOp shared;
};

/// The name of the kernel that is launched as step `number` of its plan.
inline std::string kernelName(unsigned number) {
  return "k" + std::to_string(number);
}

/// What else the kernel of a contraction computes; either may be null.
struct ContractionFold {
  /// Elementwise ops: what the sums begin with, and what becomes of them.
  mlir::linalg::GenericOp start, end;
};

/// What a strategy may know beside the op.
struct KernelContext {
  worker::PlanLimits limits;
  /// By contraction. Who takes such an op computes what is folded, too.
  llvm::DenseMap<mlir::Operation *, ContractionFold> folds{};
};

/// What a strategy makes of one op that it takes.
class KernelStrategy {
public:
  virtual ~KernelStrategy() = default;

  /// Decides all numbers, each by `choices.decide` with what the model says.
  /// Fails when one is refused; `choices` has the reason.
  virtual mlir::LogicalResult decide(KernelChoices &choices) = 0;

  /// Writes the kernels to the end of `module`, as decided; they are named
  /// from kernelName(firstNumber) on. Errors are diagnostics.
  virtual mlir::FailureOr<KernelSequence> emit(mlir::gpu::GPUModuleOp module,
                                               unsigned firstNumber) = 0;
};

/// A row of KernelStrategies.def.
struct KernelStrategyEntry {
  /// What its kernels are called (KernelDescription::kind).
  llvm::StringLiteral name;
  /// The strategy for this op, which outlives it; null where it takes it not.
  /// Nothing is changed.
  std::unique_ptr<KernelStrategy> (*match)(mlir::Operation *op,
                                           const KernelContext &context);
};

/// All there are, in the order in which they are asked.
llvm::ArrayRef<KernelStrategyEntry> kernelStrategies();
/// Null for a name that is not among them.
const KernelStrategyEntry *findKernelStrategy(llvm::StringRef name);

#define FASTK_KERNEL_STRATEGY(NAME, MATCH)                                     \
  std::unique_ptr<KernelStrategy> MATCH(mlir::Operation *op,                   \
                                        const KernelContext &context);
#include "KernelStrategies.def"

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_KERNELSTRATEGY_H
