//===- Fills.h - Tensors and buffers of one value ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_LINALG_FILLS_H
#define FASTK_DIALECT_LINALG_FILLS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace fastk {

/// The value that `op` writes to its only result without computing it for each
/// element: that of a fill, or a constant; null where it has several results or
/// reduces something.
mlir::Value fillOf(mlir::linalg::LinalgOp op);

/// The scalar that every element of a tensor is, or null.
mlir::Value fillOf(mlir::Value tensor);

/// Whether every element of a tensor is the constant zero.
bool isZero(mlir::Value tensor);

} // namespace fastk

#endif // FASTK_DIALECT_LINALG_FILLS_H
