//===- RowKernelBuilder.h - Writes one kernel of a group --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of rows and the kernel's frame are in RowKernel.cpp, the passes over a
// row in RowPasses.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_ROWS_ROWKERNELBUILDER_H
#define FASTK_LIB_CONVERSION_CUDA_ROWS_ROWKERNELBUILDER_H

#include "Cuda/Kernels/Access.h"
#include "Cuda/Kernels/BlockReduce.h"
#include "Cuda/Kernels/KernelBody.h"
#include "Cuda/Kernels/PointEmitter.h"
#include "RowSchedule.h"
#include <map>

namespace fastk {

/// Writes one kernel: the passes from `firstPass` to `lastPass`.
class RowKernelBuilder {
public:
  RowKernelBuilder(mlir::gpu::GPUModuleOp module, const RowGroup &group,
                   const RowSchedule &schedule, llvm::StringRef name,
                   unsigned firstPass, unsigned lastPass, bool isLast);

  DeviceKernel build();

private:
  mlir::Value rowValue(mlir::Value value);
  mlir::Value fullValue(mlir::Value value, const PointChunk &chunk,
                        unsigned lane);
  mlir::Value operandValue(mlir::OpOperand &operand, const PointChunk *chunk,
                           unsigned lane);
  mlir::SmallVector<mlir::Value>
  evaluate(mlir::linalg::GenericOp op, llvm::ArrayRef<mlir::Value> wanted,
           const PointChunk *chunk, unsigned lane,
           llvm::ArrayRef<mlir::Operation *> skipped = {});
  PointAccess boundAccess(mlir::OpOperand &operand);

  void runPass(unsigned pass);
  /// The sums of a pass that another kernel has run, each thread's share.
  mlir::SmallVector<mlir::Value> combineParts(llvm::ArrayRef<Reduction> names);
  /// Goes through the row once: what this thread has summed up for each of
  /// `names`. Stores the results that this pass has.
  mlir::SmallVector<mlir::Value>
  passRow(unsigned pass, llvm::ArrayRef<mlir::linalg::GenericOp> reductions,
          llvm::ArrayRef<Reduction> names);
  /// What one chunk gives to the sums, lane by lane.
  mlir::SmallVector<mlir::Value>
  contributionsOf(const PointChunk &chunk,
                  llvm::ArrayRef<mlir::linalg::GenericOp> reductions);
  /// A result of the row, and the number of the output that it is.
  using Stored = std::pair<mlir::Value, unsigned>;
  /// `values`: those of `stored` in this chunk, lane by lane.
  void storeChunk(const PointChunk &chunk, llvm::ArrayRef<Stored> stored,
                  llvm::ArrayRef<mlir::Value> values);
  /// Calls `visit` for the chunks that this thread works on, some at a time;
  /// the values go through all calls.
  mlir::SmallVector<mlir::Value>
  forChunks(unsigned pass, mlir::ValueRange values,
            llvm::function_ref<mlir::SmallVector<mlir::Value>(
                llvm::ArrayRef<PointChunk>, mlir::ValueRange)>
                visit);
  void storeRows();
  mlir::Value isLeader();

  PointAccess partials(const Reduction &reduction);

  const RowGroup &group;
  const RowSchedule &schedule;
  unsigned firstPass, lastPass;
  bool isLast;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::gpu::GPUFuncOp kernel;
  PointEmitter emit;
  DeviceKernel result;

  mlir::Value row, rowInside, thread, part, isRowLeader;
  unsigned chunks = 0;
  mlir::SmallVector<PointChunk> held;
  llvm::DenseMap<mlir::Value, mlir::Value> rowValues;
  std::map<std::pair<const void *, std::pair<unsigned, unsigned>>, mlir::Value>
      fullValues;
  /// Parameters behind inputs and outputs: the parts' sums.
  llvm::DenseMap<mlir::Value, mlir::Value> partialBuffers;
};

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_ROWS_ROWKERNELBUILDER_H
