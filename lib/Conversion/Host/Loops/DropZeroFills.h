//===- DropZeroFills.h - Products that begin with zero ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_HOST_LOOPS_DROPZEROFILLS_H
#define FASTK_LIB_CONVERSION_HOST_LOOPS_DROPZEROFILLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace fastk {

/// Removes the fills with zero of which nothing is read but the first value of
/// a sum of products that one pass makes, and marks these sums with
/// kFromZeroAttr: their results are written once instead of three times read or
/// written.
void dropZeroFills(mlir::func::FuncOp func);

/// Takes the mark from `op` and makes its fill again, before it; null where it
/// has no mark.
mlir::linalg::GenericOp restoreZeroFill(mlir::RewriterBase &rewriter,
                                        mlir::linalg::GenericOp op);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOST_LOOPS_DROPZEROFILLS_H
