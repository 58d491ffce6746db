//===- GPUProgram.h - What a program in the gpu dialect may be --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks of a gpu.module that came from outside, before it is lowered. They
// tell what is wrong where it stands; that nothing else is wrong is told by the
// check of the PTX (fastk/Cuda/CheckDeviceCode.h), whose rules these share.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_PROGRAM_GPUPROGRAM_H
#define FASTK_LIB_CONVERSION_CUDA_PROGRAM_GPUPROGRAM_H

#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Conversion/ProgramRules.h"

namespace fastk {

/// On a gpu.func, and on the llvm.func it becomes: the numbers of the
/// parameters that are tensor maps, as an array of i64. They are pointers to
/// memory that is passed by value.
inline constexpr llvm::StringLiteral kTensorMapsAttr = "fastk.tensor_maps";

/// Registers the dialects that a program may be written in, and no other.
void registerGPUProgramDialects(mlir::DialectRegistry &registry);

/// Refuses what a program may not hold, with an error at the op that ends in
/// the rule.
mlir::LogicalResult checkGPUProgram(mlir::gpu::GPUModuleOp module);

/// Checks that kernels take what can be passed, and that the plan's launches
/// pass it: names, numbers and kinds of arguments, extents that kernels ask
/// for.
mlir::LogicalResult checkGPULaunches(mlir::gpu::GPUModuleOp module,
                                     const worker::LaunchPlan &plan,
                                     const ProgramBuffers &buffers);

/// Makes parameters of the nvgpu dialect's type for tensor maps into pointers,
/// marks all tensor maps with kTensorMapsAttr, aligns shared memory for copies
/// of any width, and tells each kernel the number of threads that every launch
/// of the plan gives it. After the checks.
void adaptGPUKernels(mlir::gpu::GPUModuleOp module,
                     const worker::LaunchPlan &plan);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_PROGRAM_GPUPROGRAM_H
