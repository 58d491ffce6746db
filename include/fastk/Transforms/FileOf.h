//===- FileOf.h - Where a module comes from ---------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_FILEOF_H
#define FASTK_TRANSFORMS_FILEOF_H

#include "mlir/IR/BuiltinOps.h"

namespace fastk {

/// The file that `module` was read from, as a whole: the place of what is wrong
/// with none of its lines, as a linker that is missing.
mlir::Location fileOf(mlir::ModuleOp module);

} // namespace fastk

#endif // FASTK_TRANSFORMS_FILEOF_H
