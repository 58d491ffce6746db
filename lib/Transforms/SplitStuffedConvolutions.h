//===- SplitStuffedConvolutions.h - Zeros that nobody need read -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transposed convolution with stride s is a convolution of an image with s -
// 1 zeros between its pixels (Dumoulin and Visin, A guide to convolution
// arithmetic for deep learning, 2016, 4.5). Of all its products one in s meets
// a pixel, in each dimension. The results whose positions leave the same rest
// when they are divided by s meet the same taps of the window: they are a
// convolution of the image as it is with these taps.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_SPLITSTUFFEDCONVOLUTIONS_H
#define FASTK_LIB_TRANSFORMS_SPLITSTUFFEDCONVOLUTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fastk {

/// Writes each sum of products of `func` that reads a tensor with zeros between
/// its elements, steps of one apart, as one sum for each of the rests. Shapes
/// are static.
void splitStuffedConvolutions(mlir::func::FuncOp func);

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_SPLITSTUFFEDCONVOLUTIONS_H
