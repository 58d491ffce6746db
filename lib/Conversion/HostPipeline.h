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

#ifndef FASTK_LIB_CONVERSION_HOSTPIPELINE_H
#define FASTK_LIB_CONVERSION_HOSTPIPELINE_H

#include "fastk/Conversion/HostCodegen.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace fastk {

struct ErrorTexts;

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

/// Removes loops of length zero from functions on tensors: a linalg op whose
/// reduction is empty becomes its inits, and what has no elements a
/// tensor.empty.
void foldEmpty(mlir::ModuleOp module);

/// The same after bufferization: copies of nothing go, and arguments without
/// elements become pointers that nobody follows.
mlir::LogicalResult dropEmptyBuffers(mlir::func::FuncOp func);

/// After bufferization: copies of constants that hold a single value become
/// fills, and constants that nobody reads go.
void fillSplats(mlir::ModuleOp module);

/// Rewrites ops on tensors that have no bufferization as ops that do, and
/// refuses those that have no such form.
mlir::LogicalResult decomposeTensorOps(mlir::ModuleOp module);

/// Turns the functions of `module` on tensors into functions on memrefs of
/// identity layout whose results are trailing arguments. Those of dynamic shape
/// are as DynamicInterface.h says.
mlir::LogicalResult bufferizeFunctions(mlir::ModuleOp module);

/// Lowers bufferized functions to loops, decides what runs in parallel, plans
/// the buffers and lowers the rest to the LLVM dialect. `approximate` allows
/// polynomials for exp, erf and the like (a few ulp of f32), never for f64.
/// With `errors` the functions are those of a model: they return the number of
/// what went wrong (CallFrame.h).
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module,
                                       const HostTarget &target,
                                       bool approximate,
                                       ErrorTexts *errors = nullptr);

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

/// Gives each thread of a parallel region its own temporaries, for as long as
/// the region runs. After the conversion to OpenMP.
void placeThreadBuffers(mlir::ModuleOp module);

/// Gives integer divisions by zero, and that of the smallest number by -1, a
/// value: the processor would end the process. In both cases it is as if the
/// divisor were 1. (Torch raises for the first on a CPU, and gives some value
/// on a GPU.)
void guardDivisions(mlir::ModuleOp module);
/// The same in a C program's code, before anything is optimised.
void guardDivisions(llvm::Module &module);

/// Sets triple, data layout and the target attributes of every function.
void attachTarget(llvm::Module &module, const HostTarget &target);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOSTPIPELINE_H
