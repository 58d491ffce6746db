//===- NarrowestFloats.h - What results are rounded to ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_ANALYSIS_NARROWESTFLOATS_H
#define FASTK_ANALYSIS_NARROWESTFLOATS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace fastk {

/// For each result of \p function, the float with the fewest digits that
/// anything on the way to it is rounded to; the result's own type is one of
/// them. Null for a result that is no float. Arguments, constants and what
/// tensor ops move are exact in any type, and shapes carry no values. What is
/// not known op by op, loops and branches say, counts with all that is in it.
llvm::SmallVector<mlir::FloatType> narrowestFloats(mlir::func::FuncOp function);

} // namespace fastk

#endif // FASTK_ANALYSIS_NARROWESTFLOATS_H
