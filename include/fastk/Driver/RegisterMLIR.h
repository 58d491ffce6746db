//===- RegisterMLIR.h - What fastk-opt takes from MLIR ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that knows the link mode. With the shared libMLIR it is all
// that MLIR has. The static build has LLVM's X86 and NVPTX backends only, where
// MLIR's registerAll* functions do not link: there it is an explicit list, and
// docs/building.md says what that leaves out.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_REGISTERMLIR_H
#define FASTK_DRIVER_REGISTERMLIR_H

#include "mlir/IR/DialectRegistry.h"

namespace fastk {

/// Adds MLIR's dialects, their extensions and interfaces.
void registerMLIRDialects(mlir::DialectRegistry &registry);

/// Adds MLIR's passes and pipelines to the global registry; call it once.
void registerMLIRPasses();

} // namespace fastk

#endif // FASTK_DRIVER_REGISTERMLIR_H
