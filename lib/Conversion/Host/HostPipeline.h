//===- HostPipeline.h - Functions on tensors to the LLVM dialect -*- C++ -*-==//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part that kernels and models share, and the schedules end in.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_HOST_HOSTPIPELINE_H
#define FASTK_LIB_CONVERSION_HOST_HOSTPIPELINE_H

#include "fastk/Conversion/HostCodegen.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace fastk {

/// Gives fastk.call its place in one-shot bufferization.
void registerCallBufferization(mlir::DialectRegistry &registry);

/// Loads what registerHostCodegen has registered.
void loadHostDialects(mlir::MLIRContext *context);

/// A module with one function on tensors, a copy of the lowering's pattern.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
createPatternFunction(LoweringOp lowering, llvm::StringRef symbol);

/// Makes of such a function what `role` computes, of scalar ops that have a
/// lowering. `hasComplexLibm`: complex functions that C's library has may stay.
mlir::LogicalResult legalizePattern(mlir::ModuleOp module, KernelRole role,
                                    bool hasComplexLibm);

/// After bufferization: copies of nothing go, and arguments without elements
/// become pointers that nobody follows.
mlir::LogicalResult dropEmptyBuffers(mlir::func::FuncOp func);

/// Runs the pipeline fastk-bufferize-functions. Dynamic shapes at the border
/// are as DynamicInterface.h says.
mlir::LogicalResult bufferizeFunctions(mlir::ModuleOp module);

/// Runs fastk-kernel-to-llvm, or fastk-model-to-llvm for functions that return
/// the number of what went wrong (CallFrame.h). `approximate` allows
/// polynomials for exp, erf and the like (a few ulp of f32), never for f64.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module,
                                       const HostTarget &target,
                                       bool approximate, bool isModel = false);

/// Marks a function whose temporaries are to lie in its last argument, a
/// pointer. The plan makes of it how many bytes it has put there.
inline constexpr llvm::StringLiteral kWorkspaceAttr = "fastk.workspace_bytes";

/// The last operation of `alloc`'s block that uses it, directly or through
/// views. Null when the buffer leaves through something that is not a view.
mlir::Operation *findLastUse(mlir::memref::AllocOp alloc);

/// Frees every allocation of `func` once, and overlays those whose lives do not
/// meet. Each begins at a multiple of `alignment` bytes.
mlir::LogicalResult planBuffers(mlir::func::FuncOp func,
                                int64_t alignment = 64);

/// Overlays the allocations in each loop between kernels, which becomes a
/// repeat of a plan: one temporary before the loop holds them all. Before
/// planBuffers.
mlir::LogicalResult planLoopBuffers(mlir::func::FuncOp func,
                                    int64_t alignment = 64);

/// What fastk-guard-divisions does, in a C program's code, before anything is
/// optimised.
void guardDivisions(llvm::Module &module);

/// Whether the processor has an instruction that rounds to bf16.
bool hasBFloatRounding(const HostTarget &target);

/// Makes integers of bf16 by way of f32, which holds every bf16: the back end
/// takes vectors of bf16 apart, element by element.
void convertBFloatAsFloat(llvm::Module &module);

/// Rounds to bf16 by operations on integers.
void roundToBFloatByIntegers(llvm::Module &module);
/// Defines the functions that the back end calls to round to bf16 where it
/// takes vectors apart: C libraries have them or not.
void defineBFloatCalls(llvm::Module &module);

/// Sets triple, data layout and the target attributes of every function.
void attachTarget(llvm::Module &module, const HostTarget &target);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOST_HOSTPIPELINE_H
