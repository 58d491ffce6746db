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

/// What `op` yields as its only result: the operand of it, where the body hands
/// that on, or a value of the body. Whoever asks for a fill asks a matcher of
/// constants about it. Null where `op` has several results or reduces.
mlir::Value fillOf(mlir::linalg::LinalgOp op);

/// The same of the fill or generic op that makes `tensor`, or null.
mlir::Value fillOf(mlir::Value tensor);

/// Whether every element of a tensor is the constant zero.
bool isZero(mlir::Value tensor);

} // namespace fastk

#endif // FASTK_DIALECT_LINALG_FILLS_H
