//===- Compile.h - A model's way through the compiler -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps that fastk-opt and fastk-run share, in the order of
// docs/architecture.md: form workloads, apply winners, lower the rest, emit.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_COMPILE_H
#define FASTK_DRIVER_COMPILE_H

#include "fastk/Transforms/ApplyWinners.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace fastk {

/// fastk-form-workloads.
mlir::LogicalResult formWorkloads(mlir::ModuleOp module,
                                  llvm::StringRef fusion);

/// fastk-inline-workloads: what has no winner leaves as it came.
mlir::LogicalResult inlineWorkloads(mlir::ModuleOp module);

/// fastk-lower-workloads: what has no winner becomes a call of its default
/// lowering.
mlir::LogicalResult lowerWorkloads(mlir::ModuleOp module,
                                   llvm::StringRef target);

/// fastk-promote-to-f64 on every function: the model as an oracle of itself.
mlir::LogicalResult promoteToF64(mlir::ModuleOp module);

} // namespace fastk

#endif // FASTK_DRIVER_COMPILE_H
