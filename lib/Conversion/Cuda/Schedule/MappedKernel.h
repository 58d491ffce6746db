//===- MappedKernel.h - Loops of a schedule to a kernel ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule tiles a workload to scf.forall loops and maps them: the outermost
// to blocks, those in it to warps or threads. Each outermost loop becomes one
// kernel. A loop that is mapped to nothing is mapped here: outermost to blocks,
// next to threads, below that to nothing. What stands between the loops of a
// block is shared by its threads: structured ops and copies point by point,
// reductions with few results as a tree, other writes by one thread.
//
// Buffers of a block are shared memory, buffers of a thread registers or local
// memory. A barrier stands behind everything that the threads share.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_SCHEDULE_MAPPEDKERNEL_H
#define FASTK_LIB_CONVERSION_CUDA_SCHEDULE_MAPPEDKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fastk {

/// Takes allocations inside foralls out of the plan of buffers: they are memory
/// of a block or of a thread. After bufferization, before planBuffers.
void keepMappedBuffers(mlir::func::FuncOp func);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_SCHEDULE_MAPPEDKERNEL_H
