//===- SumOfProducts.h - What contractions compute ------------ -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_LINALG_SUMOFPRODUCTS_H
#define FASTK_DIALECT_LINALG_SUMOFPRODUCTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace fastk {

/// The factors of what is summed: values of an op's body.
struct SumOfProducts {
  mlir::Value lhs, rhs;
  /// Their product; something else of the body may use it, too.
  mlir::Value product;
};

/// A result of `op` as the sum, over the loops that it reduces, of products of
/// floats. What the factors are computed from is for the caller to look at.
std::optional<SumOfProducts> matchSumOfProducts(mlir::linalg::GenericOp op,
                                                unsigned result = 0);

} // namespace fastk

#endif // FASTK_DIALECT_LINALG_SUMOFPRODUCTS_H
