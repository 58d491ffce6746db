//===- DynamicInterface.h - Dynamic shapes at the border --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled function has pointers only. A tensor with a dynamic dimension
// takes two: an argument one to its elements and one to its shape; a result one
// to a pointer, which gets memory that the caller frees, and one to where its
// shape goes. Shapes are int64_t, one for each dimension.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_HOST_MODEL_DYNAMICINTERFACE_H
#define FASTK_LIB_CONVERSION_HOST_MODEL_DYNAMICINTERFACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fastk {

/// Replaces every argument of dynamic shape of a bufferized function by two. A
/// shape that does not fit the type is an error at run time.
void splitDynamicArguments(mlir::func::FuncOp func);

/// Appends the two arguments for `result`, a memref of dynamic shape, and hands
/// it over before `ret`.
void moveDynamicResult(mlir::func::FuncOp func, mlir::func::ReturnOp ret,
                       mlir::Value result);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOST_MODEL_DYNAMICINTERFACE_H
