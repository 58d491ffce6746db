//===- KernelPhases.h - A function on tensors to kernels -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler's own lowering for a GPU, phase by phase. Each is a pass, too:
// fastk-prepare-kernels, fastk-choose-kernels and fastk-emit-kernels.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_PHASES_KERNELPHASES_H
#define FASTK_LIB_CONVERSION_CUDA_PHASES_KERNELPHASES_H

#include "fastk/Conversion/CudaCodegen.h"

namespace fastk {

/// Of a prepared function: how many of its arguments are operands. The others
/// are results.
inline constexpr llvm::StringLiteral kInputsAttr = "fastk.inputs";

/// Makes of the one function of `module`, on tensors, one on memrefs whose
/// block holds structured ops, views, and allocations that were planned into
/// one arena. Ops that share their rows are functions beside it.
mlir::LogicalResult prepareKernels(mlir::ModuleOp module);

/// The function of `module` that was prepared; an error where there is none.
mlir::FailureOr<mlir::func::FuncOp> findPreparedFunction(mlir::ModuleOp module);

/// Writes to each op of a prepared function by which strategy and with which
/// numbers it becomes kernels. Returns what was decided, by kernel.
mlir::FailureOr<std::vector<KernelDescription>>
chooseKernels(mlir::func::FuncOp func, const CudaTarget &target);

/// What a function has become.
struct LoweredPattern {
  mlir::gpu::GPUModuleOp device;
  worker::LaunchPlan plan;
  std::vector<KernelDescription> kernels;
};

/// Adds the kernels that were chosen to the module around `func`.
mlir::FailureOr<LoweredPattern> emitKernels(mlir::func::FuncOp func,
                                            const CudaTarget &target);

/// All phases, for the one function of `module` and for what a schedule has
/// left of one.
mlir::FailureOr<LoweredPattern> lowerPattern(mlir::ModuleOp module,
                                             const CudaTarget &target);

/// What the hardware has a fast and inexact way to compute: `approximate`
/// says whether it may.
bool canApproximate(mlir::Operation *op);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_PHASES_KERNELPHASES_H
