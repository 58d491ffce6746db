//===- OutlineScalars.h - Numbers between kernels ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_MODEL_OUTLINESCALARS_H
#define FASTK_LIB_CONVERSION_CUDA_MODEL_OUTLINESCALARS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fastk {

/// Puts what a function on memrefs computes on single numbers (loads, stores,
/// arithmetic, asserts) into parallel loops of one point, which become kernels
/// of one thread. What other ops take of it goes through memory. An address
/// that depends on such a number is an error.
mlir::LogicalResult outlineScalars(mlir::func::FuncOp func);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_MODEL_OUTLINESCALARS_H
