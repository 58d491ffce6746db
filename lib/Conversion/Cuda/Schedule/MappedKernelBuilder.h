//===- MappedKernelBuilder.h - One outermost loop to a kernel ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_SCHEDULE_MAPPEDKERNELBUILDER_H
#define FASTK_LIB_CONVERSION_CUDA_SCHEDULE_MAPPEDKERNELBUILDER_H

#include "Cuda/Kernels/KernelBody.h"
#include "MappedKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace fastk {

inline constexpr int64_t kWarp = 32;

/// Whose work a loop's iterations are.
enum class MappedLevel { None, Block, Warp, Thread };

/// Who works together on what stands in a block of ops.
struct MappedTeam {
  MappedLevel level;
  /// Number in the team, and how many there are.
  mlir::Value id;
  int64_t count;
};

/// Lowers one outermost loop. MappedKernel.cpp has the function and its loops
/// over blocks, ShareMapped.cpp what the threads of a block do together,
/// MappedBuffers.cpp their memory.
class MappedKernel {
public:
  MappedKernel(mlir::gpu::GPUModuleOp module, mlir::scf::ForallOp forall,
               llvm::StringRef name, const worker::PlanLimits &limits)
      : module(module), forall(forall), name(name), limits(limits),
        rewriter(module.getContext()), loc(forall.getLoc()) {}

  mlir::FailureOr<DeviceKernel> build();

private:
  mlir::LogicalResult createFunction();
  mlir::LogicalResult countThreads(mlir::Operation *root, bool inWarp,
                                   int64_t &threads);
  /// Puts the body of the outermost loop into the kernel.
  mlir::LogicalResult placeBlocks(mlir::scf::ForallOp loop);
  mlir::LogicalResult share(mlir::Block &block, const MappedTeam &team);
  mlir::LogicalResult lowerThread(mlir::Block &block);
  /// The loop's iterations to the members of a team; the block that holds its
  /// body after.
  mlir::Block *distribute(mlir::scf::ForallOp loop, const MappedTeam &team);
  void synchronize(const MappedTeam &team);
  mlir::LogicalResult placeBuffers();
  mlir::FailureOr<int64_t> boundBytes(mlir::memref::AllocaOp alloca);
  mlir::LogicalResult lowerVectors();
  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(rewriter, loc, value);
  }

  mlir::gpu::GPUModuleOp module;
  mlir::scf::ForallOp forall;
  llvm::StringRef name;
  worker::PlanLimits limits;
  mlir::IRRewriter rewriter;
  mlir::Location loc;
  mlir::gpu::GPUFuncOp func;
  DeviceKernel kernel;
  mlir::IRMapping mapping;
  mlir::Value thread;
  /// Buffers of threads; all others are the block's.
  llvm::SetVector<mlir::Operation *> ofThread;
};

/// What a loop is mapped to; nothing when its dimensions disagree or are mapped
/// to what is not known here.
std::optional<MappedLevel> levelOf(mlir::scf::ForallOp loop);

/// The loop's dimensions, the one whose neighbours run side by side first.
llvm::SmallVector<unsigned> fastestFirst(mlir::scf::ForallOp loop);

/// Number `index` of a dimension as its induction variable.
mlir::Value toInduction(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value index, mlir::OpFoldResult lower,
                        mlir::OpFoldResult step);

/// Moves the body of `loop` before `before`; the loop is gone after.
void inlineBody(mlir::IRRewriter &rewriter, mlir::scf::ForallOp loop,
                llvm::ArrayRef<mlir::Value> induction, mlir::Operation *before);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_SCHEDULE_MAPPEDKERNELBUILDER_H
