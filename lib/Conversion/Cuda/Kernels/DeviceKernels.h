//===- DeviceKernels.h - linalg.generic on memrefs to kernels ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_DEVICEKERNELS_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_DEVICEKERNELS_H

#include "KernelChoices.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "fastk/Protocol/LaunchPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

namespace fastk {

/// What else the kernel of a contraction computes; either may be null.
struct ContractionFold {
  /// Elementwise ops: what the sums begin with, and what becomes of them.
  mlir::linalg::GenericOp start, end;
};

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

struct Contraction;
struct SplitKernels;

/// Of every workspace of a plan.
inline constexpr int64_t kWorkspaceAlignment = 256;

/// All workspaces of a plan, one behind the other.
int64_t workspaceBytes(const worker::LaunchPlan &plan);

/// Makes the kernels of a function on memrefs and the plan that launches them.
/// The function's own block holds structured ops, views, and allocations that
/// were planned into one arena, which becomes workspace 0; its first
/// `numInputs` arguments are operands, the others results. Where calls are of
/// `programs` it may hold loops that carry nothing, with the same in them.
class DeviceKernels {
public:
  /// `groups` holds the functions that fastk.call ops of `func` name.
  DeviceKernels(mlir::gpu::GPUModuleOp module, mlir::func::FuncOp func,
                unsigned numInputs, mlir::ModuleOp groups,
                const worker::PlanLimits &limits, KernelChoices &choices)
      : module(module), func(func), groups(groups), numInputs(numInputs),
        limits(limits), choices(choices) {}

  /// Of the lowerings that other fastk.call ops of `func` name. Such a call has
  /// one init more than the lowering has results where the program has
  /// workspaces: the memory for them all.
  const llvm::StringMap<DeviceProgram> *programs = nullptr;

  /// Turns every op of the function into launches. Choices that break a rule
  /// are errors.
  mlir::LogicalResult run();

  worker::LaunchPlan plan;
  /// Globals that calls of `programs` read, and those that are state: inputs of
  /// the plan behind the function's own.
  llvm::SetVector<mlir::StringAttr> constants;

private:
  mlir::LogicalResult add(mlir::linalg::GenericOp op);
  mlir::LogicalResult add(const Contraction &contraction);
  mlir::LogicalResult add(CallOp call);
  /// The steps of a program, on the buffers of a call.
  mlir::LogicalResult splice(CallOp call);
  mlir::LogicalResult add(mlir::scf::ForallOp forall);
  mlir::LogicalResult add(mlir::scf::ParallelOp loop);
  /// Adds what one op of the function becomes.
  mlir::LogicalResult addOp(mlir::Operation *op);
  mlir::LogicalResult addBlock(mlir::Block &block);
  /// A repeat of what the loop's block becomes.
  mlir::LogicalResult addLoop(mlir::scf::ForOp loop);
  std::string nextName() const;
  /// Adds the step that launches the kernel of `op`, or fails with it.
  mlir::LogicalResult launch(mlir::Operation *op,
                             mlir::FailureOr<DeviceKernel> kernel);
  /// One launch; `more` comes behind the kernel's operands.
  mlir::LogicalResult launch(mlir::Operation *op, const DeviceKernel &kernel,
                             llvm::ArrayRef<worker::BufferRef> more = {});
  mlir::LogicalResult launch(mlir::Operation *op, const SplitKernels &kernels);
  /// The buffer and byte that a memref begins at.
  mlir::FailureOr<worker::BufferRef> locate(mlir::Value memref);
  /// Finds what the kernels of contractions compute besides.
  void findFolds();
  /// Folds leave memory that nobody takes.
  void dropUnusedWorkspaces();

  mlir::gpu::GPUModuleOp module;
  mlir::func::FuncOp func;
  mlir::ModuleOp groups;
  unsigned numInputs;
  worker::PlanLimits limits;
  KernelChoices &choices;
  llvm::DenseMap<mlir::Operation *, ContractionFold> folds;
  /// What kernels of contractions compute, too.
  llvm::SmallPtrSet<mlir::Operation *, 8> folded;
  /// Those around the op that is added, the outermost first.
  llvm::SmallVector<mlir::scf::ForOp> loops;
  /// The workspace of sums in parts, and what stands for it.
  std::optional<int64_t> scratch;
  llvm::SmallPtrSet<mlir::Operation *, 4> scratchAllocs;
};

/// Makes a kernel for blocks of `threads` threads at the end of `module`. It
/// does nothing so far, and `builder` is set to where it begins.
mlir::gpu::GPUFuncOp createKernel(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::gpu::GPUModuleOp module,
                                  llvm::StringRef name,
                                  mlir::TypeRange parameters, int64_t threads);

/// Whether a memref is data of the model, and not its state.
bool isConstantGlobal(mlir::Value memref);

/// The same for what `op` of the host function does: a parameter for each
/// memref of `used`, which is added to `operands`; constants are made again in
/// the kernel. `mapping` goes from the host's values to the kernel's.
mlir::gpu::GPUFuncOp createKernel(mlir::OpBuilder &builder, mlir::Operation *op,
                                  mlir::gpu::GPUModuleOp module,
                                  llvm::StringRef name, int64_t threads,
                                  llvm::ArrayRef<mlir::Value> used,
                                  llvm::SmallVectorImpl<mlir::Value> &operands,
                                  mlir::IRMapping &mapping);

/// A kernel with one thread for every point of the parallel dimensions, which
/// loops over the others. Any linalg.generic of static shape has one.
mlir::FailureOr<DeviceKernel> buildThreadKernel(mlir::gpu::GPUModuleOp module,
                                                mlir::linalg::GenericOp op,
                                                llvm::StringRef name,
                                                KernelChoices &choices);

/// A kernel with one thread for every point of a loop of constant bounds;
/// parallel loops inside are serial.
mlir::FailureOr<DeviceKernel> buildLoopKernel(mlir::gpu::GPUModuleOp module,
                                              mlir::scf::ParallelOp loop,
                                              llvm::StringRef name,
                                              KernelChoices &choices);

/// Whether blocks can share the rows of the op: an inclusive scan along the
/// last dimension, combined by one associative op with a neutral element.
bool canScanByBlocks(tm_tensor::ScanOp op);

/// A kernel with one block for every row of a scan.
mlir::FailureOr<DeviceKernel> buildScanKernel(mlir::gpu::GPUModuleOp module,
                                              tm_tensor::ScanOp op,
                                              llvm::StringRef name,
                                              KernelChoices &choices);

/// A kernel of an elementwise op whose threads take several vectors each.
/// Nothing when an operand is not linear in the loops or the body reads memory.
mlir::FailureOr<DeviceKernel> buildVectorKernel(mlir::gpu::GPUModuleOp module,
                                                mlir::linalg::GenericOp op,
                                                llvm::StringRef name,
                                                KernelChoices &choices);

/// A kernel of an elementwise op that reads operands along another dimension
/// than it writes along, by squares in shared memory. Nothing for other ops.
mlir::FailureOr<DeviceKernel> buildTileKernel(mlir::gpu::GPUModuleOp module,
                                              mlir::linalg::GenericOp op,
                                              llvm::StringRef name,
                                              KernelChoices &choices);

/// Kernels that run one after the other, with `scratchBytes` of workspace
/// between them. Where in it each buffer lies is in `scratch`: parameters of
/// every kernel, behind its operands.
struct SplitKernels {
  llvm::SmallVector<DeviceKernel> kernels;
  int64_t scratchBytes = 0;
  llvm::SmallVector<int64_t> scratch;
};

/// Kernels of a reduction whose threads lie along memory, whatever is reduced.
/// Nothing when it is short, not linear, combined by more than one op, or reads
/// its operands more than once. Kernels are named k<firstNumber> and so on.
mlir::FailureOr<SplitKernels> buildReduceKernels(mlir::gpu::GPUModuleOp module,
                                                 mlir::linalg::GenericOp op,
                                                 unsigned firstNumber,
                                                 KernelChoices &choices);

/// Whether a block for every point pays: a long reduction along memory, every
/// result combined by one op with a neutral element.
bool wantsBlockKernel(mlir::linalg::GenericOp op);

/// A kernel with one block for every point of the parallel dimensions, whose
/// threads share the reduction.
mlir::FailureOr<DeviceKernel> buildBlockKernel(mlir::gpu::GPUModuleOp module,
                                               mlir::linalg::GenericOp op,
                                               llvm::StringRef name,
                                               KernelChoices &choices);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_DEVICEKERNELS_H
