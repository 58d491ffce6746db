//===- ElementwiseToLinalg.h - Arithmetic on tensors as linalg --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_ELEMENTWISETOLINALG_H
#define FASTK_LIB_TRANSFORMS_ELEMENTWISETOLINALG_H

#include "mlir/IR/Operation.h"

namespace fastk {

/// Turns arith and math ops on whole tensors under `root` into linalg.generic,
/// so that only one form has to be formed, keyed and lowered. Other ops stay as
/// they are. The linalg dialect must be loaded.
mlir::LogicalResult convertElementwiseToLinalg(mlir::Operation *root);

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_ELEMENTWISETOLINALG_H
