//===- RaiseVariances.h - Variances in the operand's type -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_RAISEVARIANCES_H
#define FASTK_LIB_TRANSFORMS_RAISEVARIANCES_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace fastk {

/// What the pass fastk-raise-variances does to a function.
void raiseVariances(mlir::FunctionOpInterface function);

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_RAISEVARIANCES_H
