//===- FusedProducts.h - What may be rounded once ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product and the sum over loops that it is added to may be rounded once: as
// exact, and half the instructions. No other sum may. In exp(x * scale - most),
// where `most` is the largest of the same products, the difference is 0 for one
// of them; rounded once it is what rounding the product has lost, which is as
// large as x * scale is, and exp of it infinite.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_LINALG_FUSEDPRODUCTS_H
#define FASTK_DIALECT_LINALG_FUSEDPRODUCTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

namespace fastk {

/// Lets the clone of \p op, which stands in the body of a linalg op, fuse with
/// that of a product which it adds to what the op has summed so far. \p clones
/// has both.
void allowFusedProduct(mlir::Operation &op, mlir::IRMapping &clones);

/// To those that the op has; ops that have none stay as they are.
void addFastMathFlags(mlir::Operation *op, mlir::arith::FastMathFlags flags);

} // namespace fastk

#endif // FASTK_DIALECT_LINALG_FUSEDPRODUCTS_H
