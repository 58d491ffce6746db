//===- ChosenKernel.h - What was chosen for an op, as IR --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fastk.kernel = {strategy = "vectors", vector_threads = 256 : i64, ...} at an
// op says by which strategy and with which numbers it becomes kernels, at the
// function what holds for all of them. It may be edited between the passes that
// write and read it.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_CHOSENKERNEL_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_CHOSENKERNEL_H

#include "KernelStrategy.h"

namespace fastk {

inline constexpr llvm::StringLiteral kKernelAttr = "fastk.kernel";

/// The name of the field that is no number.
inline constexpr llvm::StringLiteral kStrategyName = "strategy";

/// Instead of a strategy: the kernel of a contraction computes the op, too.
inline constexpr llvm::StringLiteral kFoldStrategy = "fold";

struct ChosenKernel {
  /// Empty at a function.
  std::string strategy;
  std::map<std::string, int64_t> numbers;

  void write(mlir::Operation *op) const;
  /// What stands at `op`, which must have something. Errors are diagnostics.
  static mlir::FailureOr<ChosenKernel> read(mlir::Operation *op);

  /// Settles the numbers in `choices`. Those that are not what would be
  /// `decided` now count as given. Fails with a diagnostic at `op` where it has
  /// numbers that nobody asks for, or that are none.
  mlir::LogicalResult follow(mlir::Operation *op,
                             const std::map<std::string, int64_t> &decided,
                             KernelChoices &choices) const;
};

/// The error for an annotation of `op` that does not fit.
mlir::LogicalResult refuseChosen(mlir::Operation *op, const llvm::Twine &why);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_CHOSENKERNEL_H
