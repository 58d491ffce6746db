//===- LegalizeScalars.h - Scalar ops made of others ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_LEGALIZESCALARS_H
#define FASTK_LIB_TRANSFORMS_LEGALIZESCALARS_H

#include "fastk/Transforms/FloatBuilder.h"
#include <cstdint>
#include <optional>

namespace fastk {

/// x^exponent by squaring, for exponents above 0; \p multiply makes products of
/// whatever x is.
template <typename T, typename Multiply>
T powerBySquaring(T x, int64_t exponent, Multiply multiply) {
  std::optional<T> power;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1)
      power = power ? multiply(*power, x) : x;
    if (exponent > 1)
      x = multiply(x, x);
  }
  return *power;
}

/// A function of complex numbers made of real ones; null when `op` is none
/// whose upstream expansion loses accuracy. With \p hasLibm also those are left
/// alone that C's library has.
mlir::Value lowerComplexFunction(FloatBuilder &b, mlir::Operation *op,
                                 bool hasLibm);

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_LEGALIZESCALARS_H
