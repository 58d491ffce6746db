//===- Passes.h - Passes of fastk -------------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_PASSES_H
#define FASTK_TRANSFORMS_PASSES_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Transforms/PassChoices.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace fastk {

#define GEN_PASS_DECL
#include "fastk/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fastk/Transforms/Passes.h.inc"

} // namespace fastk

#endif // FASTK_TRANSFORMS_PASSES_H
