//===- RowGroups.h - Ops that share their rows ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax, norms, row sums: ops over the same rows, some of which reduce a row.
// On tensors the group is cut out as a function of its own and stands as one
// fastk.call in the caller until both have become launches. The function stays
// on tensors: which values exist in memory its kernels decide.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_ROWS_ROWGROUPS_H
#define FASTK_LIB_CONVERSION_CUDA_ROWS_ROWGROUPS_H

#include "fastk/Dialect/Fastk/RowFunction.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fastk {

/// Computes what is cheap and belongs to a column, such as the f32 of a norm's
/// f16 weights, where it is used: the groups need nothing that is no row.
void inlineCheapBroadcasts(mlir::func::FuncOp func);

/// Moves every group of `func`, on tensors of static shape, into `groups` as a
/// function and calls it in its place. No symbol beside `func` is named like
/// one of them.
void outlineRowGroups(mlir::func::FuncOp func, mlir::ModuleOp groups);

/// Whether `func` is such a function, wherever it comes from.
bool isRowGroup(mlir::func::FuncOp func);

/// `value` before any reshape.
mlir::Value skipReshapes(mlir::Value value);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_ROWS_ROWGROUPS_H
