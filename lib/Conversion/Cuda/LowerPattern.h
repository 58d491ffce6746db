//===- LowerPattern.h - A function on tensors to kernels -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_LOWERPATTERN_H
#define FASTK_LIB_CONVERSION_CUDA_LOWERPATTERN_H

#include "Cuda/Kernels/KernelChoices.h"

namespace fastk {

/// What a function on tensors has become.
struct LoweredPattern {
  mlir::gpu::GPUModuleOp device;
  worker::LaunchPlan plan;
  std::vector<KernelDescription> kernels;
};

/// The compiler's own lowering of the one function of `module`, on tensors, and
/// of what a schedule has left of one; its first `numInputs` arguments are
/// operands. The kernels are added to `module`.
mlir::FailureOr<LoweredPattern> lowerPattern(mlir::ModuleOp module,
                                             unsigned numInputs,
                                             const CudaTarget &target,
                                             KernelChoices &choices);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_LOWERPATTERN_H
