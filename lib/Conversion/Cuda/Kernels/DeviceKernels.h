//===- DeviceKernels.h - A function on memrefs to kernels -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_DEVICEKERNELS_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_DEVICEKERNELS_H

#include "ChosenKernel.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

namespace fastk {

/// Of every workspace of a plan.
inline constexpr int64_t kWorkspaceAlignment = 256;

/// All workspaces of a plan, one behind the other.
int64_t workspaceBytes(const worker::LaunchPlan &plan);

/// Chooses how each op of a function on memrefs becomes kernels, and then makes
/// the kernels and the plan that launches them.
/// The function's own block holds structured ops, views, and allocations that
/// were planned into one arena, which becomes workspace 0; its first
/// `numInputs` arguments are operands, the others results. Where calls are of
/// `programs` it may hold loops that carry nothing, with the same in them.
class DeviceKernels {
public:
  /// `given`: choices for the kernels.
  DeviceKernels(mlir::func::FuncOp func, unsigned numInputs,
                const worker::PlanLimits &limits, const KernelChoices &given)
      : func(func), numInputs(numInputs), given(given), choices(given),
        context{limits} {}

  /// Of the lowerings that fastk.call ops of `func` name; without it they name
  /// groups of rows. Such a call has one init more than the lowering has
  /// results where the program has workspaces: the memory for them all.
  const llvm::StringMap<DeviceProgram> *programs = nullptr;

  /// Writes to every op that becomes kernels by which strategy and with which
  /// numbers it does (ChosenKernel.h). Choices that break a rule are errors.
  mlir::LogicalResult choose();

  /// Turns every op of the function into launches of kernels, which are put
  /// into `device`, as is written at it.
  mlir::LogicalResult emit(mlir::gpu::GPUModuleOp device);

  /// What has been chosen or emitted.
  KernelChoices &decisions() { return choices; }

  worker::LaunchPlan plan;
  /// Globals that calls of `programs` read, and those that are state: inputs of
  /// the plan behind the function's own.
  llvm::SetVector<mlir::StringAttr> constants;

private:
  mlir::LogicalResult chooseBlock(mlir::Block &block);
  mlir::LogicalResult chooseOp(mlir::Operation *op);
  /// Whether the op does anything.
  static bool isDone(mlir::Operation *op);
  /// Where there is no point there is no thread.
  static bool hasNoPoints(mlir::Operation *op);
  /// `op` as strategies take it: itself, or another one before it.
  static mlir::FailureOr<mlir::Operation *> generalize(mlir::Operation *op);
  /// Adds what one op of the function becomes.
  mlir::LogicalResult addOp(mlir::Operation *op);
  /// Adds the kernels of `op` that were chosen.
  mlir::LogicalResult addKernels(mlir::Operation *op,
                                 const ChosenKernel &chosen);
  /// The steps of a program, on the buffers of a call.
  mlir::LogicalResult splice(CallOp call);
  mlir::LogicalResult addBlock(mlir::Block &block);
  /// A repeat of what the loop's block becomes.
  mlir::LogicalResult addLoop(mlir::scf::ForOp loop);
  /// One launch; `more` comes behind the kernel's operands.
  mlir::LogicalResult launch(mlir::Operation *op, const DeviceKernel &kernel,
                             llvm::ArrayRef<worker::BufferRef> more);
  mlir::LogicalResult launch(mlir::Operation *op,
                             const KernelSequence &kernels);
  /// The memory that `memory` stands for: one workspace for all such.
  void share(mlir::memref::AllocOp memory);
  /// The buffer and byte that a memref begins at.
  mlir::FailureOr<worker::BufferRef> locate(mlir::Value memref);
  /// Finds what the kernels of contractions can compute besides.
  void findFolds();
  /// Keeps of that what was chosen.
  void keepChosenFolds();
  /// Folds leave memory that nobody takes.
  void dropUnusedWorkspaces();

  mlir::gpu::GPUModuleOp module;
  mlir::func::FuncOp func;
  unsigned numInputs;
  KernelChoices given, choices;
  KernelContext context;
  /// What they do compute.
  llvm::SmallPtrSet<mlir::Operation *, 8> folded;
  /// Those around the op that is added, the outermost first.
  llvm::SmallVector<mlir::scf::ForOp> loops;
  /// The workspace that all ops share, and what stands for it.
  std::optional<int64_t> scratch;
  llvm::SmallPtrSet<mlir::Operation *, 4> scratchAllocs;
};

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_DEVICEKERNELS_H
