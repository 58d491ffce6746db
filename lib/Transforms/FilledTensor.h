//===- FilledTensor.h - Tensors of one value ----------------------*- C++
//-*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_FILLEDTENSOR_H
#define FASTK_LIB_TRANSFORMS_FILLEDTENSOR_H

#include "mlir/IR/Value.h"

namespace fastk {

/// The scalar that every element of a tensor is, or null.
mlir::Value fillOf(mlir::Value tensor);

/// Whether every element of a tensor is the constant zero.
bool isZero(mlir::Value tensor);

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_FILLEDTENSOR_H
