//===- RepeatLoops.h - Loops that a plan repeats ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A repeat of a plan carries no values: its steps find everything in memory, at
// places that follow from the iteration. What a loop between kernels carries
// and counts is brought into that form, first on tensors, then on memrefs.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_LOOPS_REPEATLOOPS_H
#define FASTK_LIB_CONVERSION_CUDA_LOOPS_REPEATLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fastk {

/// On tensors. Loops between kernels count from 0 by 1. Where a counter is a
/// number to compute with and not a place, it is read from a table: kernels
/// take memory only. What a loop carries has a buffer without an offset.
void prepareLoops(mlir::func::FuncOp func);

/// On memrefs. What a loop carries lies in two buffers, which the iterations
/// read and write alternately; where the body makes the next value it makes it
/// there, else it is copied at the iteration's end. Where all values are kept
/// as the rows of a tensor, each is read out of the row that it was written to.
/// After it no loop between kernels carries anything.
mlir::LogicalResult placeCarriedBuffers(mlir::func::FuncOp func);

/// Lets calls read slices where they are, and not copies of them, where memory
/// is as a program may expect it: contiguous, and 16-byte aligned.
void passSlices(mlir::func::FuncOp func);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_LOOPS_REPEATLOOPS_H
