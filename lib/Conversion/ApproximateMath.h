//===- ApproximateMath.h - Elementary functions on the host -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_APPROXIMATEMATH_H
#define FASTK_LIB_CONVERSION_APPROXIMATEMATH_H

#include "mlir/Pass/Pass.h"

namespace fastk {

/// A pass on functions that puts polynomials in the place of calls, for f32: a
/// vector of calls is as many calls as it has lanes. Results are within 5 units
/// in the last place, denormals may be flushed; docs/ops.md has what was
/// measured. Functions without a polynomial stay.
std::unique_ptr<mlir::Pass> createApproximateMathPass();

/// A pass on modules that calls C's library where MLIR's conversion to LLVM
/// expands a function inexactly: exp(x) - 1 and log(1 + x) near 0.
std::unique_ptr<mlir::Pass> createCallExactFunctionsPass();

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_APPROXIMATEMATH_H
