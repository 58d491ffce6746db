//===- LegalizeScalars.h - Scalar ops made of others ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_LEGALIZESCALARS_H
#define FASTK_LIB_TRANSFORMS_LEGALIZESCALARS_H

#include "fastk/Transforms/FloatBuilder.h"

namespace fastk {

/// A function of complex numbers made of real ones; null when `op` is none
/// whose upstream expansion loses accuracy. With \p hasLibm also those are left
/// alone that C's library has.
mlir::Value lowerComplexFunction(FloatBuilder &b, mlir::Operation *op,
                                 bool hasLibm);

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_LEGALIZESCALARS_H
