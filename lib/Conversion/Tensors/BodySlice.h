//===- BodySlice.h - What a value in a body is computed by ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_TENSORS_BODYSLICE_H
#define FASTK_LIB_CONVERSION_TENSORS_BODYSLICE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"

namespace fastk {

/// Ops of a body in order, and the numbers of the body's arguments they read.
struct BodySlice {
  llvm::SetVector<mlir::Operation *> ops;
  llvm::SetVector<unsigned> arguments;

  /// Adds what `value` is computed by. False when something other than element
  /// arithmetic and constants is among it, or a value from outside `body` that
  /// `mayUse` refuses; what it accepts is not listed.
  bool collect(mlir::Value value, mlir::Block *body,
               llvm::function_ref<bool(mlir::Value)> mayUse);
};

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_TENSORS_BODYSLICE_H
