//===- Emit.h - What becomes of an applied model ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_EMIT_H
#define FASTK_DRIVER_EMIT_H

#include "fastk/Conversion/HostCodegen.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

enum class EmitKind { MLIR, LLVM, Object, SharedLibrary, Plan };

/// Objects and libraries have functions that a header can declare.
inline bool hasHeader(EmitKind kind) {
  return kind == EmitKind::Object || kind == EmitKind::SharedLibrary;
}

/// Those and plan files are bytes, and no text for a terminal.
inline bool isBinary(EmitKind kind) {
  return hasHeader(kind) || kind == EmitKind::Plan;
}

/// What is made of a model, and where it goes.
struct EmitOptions {
  EmitKind kind = EmitKind::MLIR;
  /// A file; "-" is standard output.
  std::string output = "-";
  /// File for the C header of an object or a library; empty: none.
  std::string header;
  /// The oracle's for a model that was promoted to f64.
  KernelRole role = KernelRole::Program;
  /// What messages call the output where nobody named it: "the model". Empty:
  /// by its name.
  std::string shownAs;
};

/// Writes what `options` say of a model whose winners are applied, for "host"
/// or "cuda:sm_90a": the file, and the header if there is one, or neither.
/// Changes `module`: workloads without a winner take their default lowering. A
/// ToldError follows diagnostics; others are of files.
llvm::Error emitModel(mlir::ModuleOp module, llvm::StringRef target,
                      const EmitOptions &options);

} // namespace fastk

#endif // FASTK_DRIVER_EMIT_H
