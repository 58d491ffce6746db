//===- Bufferization.h - fastk's ops in one-shot bufferization --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_BUFFERIZATION_H
#define FASTK_CONVERSION_BUFFERIZATION_H

#include "mlir/IR/DialectRegistry.h"

namespace fastk {

/// Lets upstream's one-shot-bufferize take fastk.call and the tm_tensor ops: a
/// call gets its results as trailing operands. Call it before the context is
/// made; the dialects themselves are registered apart.
void registerFastkBufferization(mlir::DialectRegistry &registry);

} // namespace fastk

#endif // FASTK_CONVERSION_BUFFERIZATION_H
