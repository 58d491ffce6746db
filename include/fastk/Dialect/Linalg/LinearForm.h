//===- LinearForm.h - Sums of indices times constants --------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_LINALG_LINEARFORM_H
#define FASTK_DIALECT_LINALG_LINEARFORM_H

#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace fastk {

/// constant + sum of coefficients[i] * index[i].
struct LinearForm {
  int64_t constant = 0;
  llvm::SmallVector<int64_t, 4> coefficients;

  static LinearForm ofConstant(int64_t value, unsigned dims);
  static LinearForm ofDim(unsigned dim, unsigned dims);
  /// Nothing where `expr` is not linear in its dims.
  static std::optional<LinearForm> ofExpr(mlir::AffineExpr expr, unsigned dims);
  /// The address, in elements from the first, of what `map` accesses in memory
  /// with that stride for each of its results. Nothing where the map is not
  /// linear or a stride is not known.
  static std::optional<LinearForm> ofAccess(mlir::AffineMap map,
                                            llvm::ArrayRef<int64_t> strides);
  bool isConstant() const;
  /// Each index i replaced by a form over other indices.
  LinearForm substitute(llvm::ArrayRef<LinearForm> forms, unsigned dims) const;
  LinearForm plus(const LinearForm &other, int64_t factor = 1) const;
  LinearForm scaled(int64_t factor) const;
};

} // namespace fastk

#endif // FASTK_DIALECT_LINALG_LINEARFORM_H
