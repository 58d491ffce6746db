//===- StaticConcat.h - Concatenations of what is static --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_STATICCONCAT_H
#define FASTK_LIB_TRANSFORMS_STATICCONCAT_H

#include "mlir/IR/Operation.h"

namespace fastk {

/// Lets each tensor.concat under `root` read what its operands were cast from
/// where that says more of the size. torch-mlir makes such casts of torch.roll,
/// and upstream's canonicalization keeps them.
void makeConcatsStatic(mlir::Operation *root);

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_STATICCONCAT_H
