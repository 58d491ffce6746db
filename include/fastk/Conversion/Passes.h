//===- Passes.h - The phases of code generation -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each phase from a function on tensors to the LLVM dialect is a pass, and what
// the compiler runs is one of the pipelines below: so a user can stop after any
// of them, print the IR, change it and go on (docs/generated has them with
// examples).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_PASSES_H
#define FASTK_CONVERSION_PASSES_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace fastk {

#define GEN_PASS_DECL
#include "fastk/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fastk/Conversion/Passes.h.inc"

/// What the pipelines for the host have to know of it.
struct HostPipelineOptions : mlir::PassPipelineOptions<HostPipelineOptions> {
  Option<unsigned> vectorBytes{
      *this, "vector-bytes",
      llvm::cl::desc("Width of a SIMD register in bytes"), llvm::cl::init(16)};
  Option<bool> threads{*this, "threads",
                       llvm::cl::desc("Run loops on threads where it pays"),
                       llvm::cl::init(true)};
  Option<bool> approximate{
      *this, "approximate",
      llvm::cl::desc("Sums in another order, fused multiply-adds, and "
                     "polynomials for the functions of f32"),
      llvm::cl::init(true)};
};

/// Functions on tensors to functions on memrefs of identity layout whose
/// results are trailing arguments.
void buildBufferizePipeline(mlir::OpPassManager &passes);

/// A kernel on memrefs, its workspace among its arguments, to the LLVM dialect.
void buildKernelToLLVMPipeline(mlir::OpPassManager &passes,
                               const HostPipelineOptions &options);

/// The functions of a model on memrefs to the LLVM dialect: they own what they
/// allocate, and return the number of what went wrong.
void buildModelToLLVMPipeline(mlir::OpPassManager &passes,
                              const HostPipelineOptions &options);

/// What passes for a GPU have to know of it.
struct GPUPipelineOptions : mlir::PassPipelineOptions<GPUPipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("The GPU, as cuda:sm_90a"),
                             llvm::cl::init("cuda:sm_90a")};
};

/// A function on tensors to kernels for a GPU and the plan that launches them.
void buildLowerToGPUPipeline(mlir::OpPassManager &passes,
                             const GPUPipelineOptions &options);

/// Makes the pipelines known by name: fastk-bufferize-functions,
/// fastk-kernel-to-llvm, fastk-model-to-llvm and fastk-lower-to-gpu.
void registerConversionPipelines();

} // namespace fastk

#endif // FASTK_CONVERSION_PASSES_H
