//===- ModelDiagnostics.h - Diagnostics of a model's file -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_MODELDIAGNOSTICS_H
#define FASTK_DRIVER_MODELDIAGNOSTICS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace fastk {

/// Prints diagnostics to `said` with the lines of source that they are at.
/// Those of a whole file, which MLIR places at line 0, name the file alone.
class ModelDiagnosticHandler : public mlir::SourceMgrDiagnosticHandler {
public:
  ModelDiagnosticHandler(llvm::SourceMgr &sourceMgr, mlir::MLIRContext *context,
                         llvm::raw_ostream &said);

private:
  void print(mlir::Location loc, const std::string &text,
             mlir::DiagnosticSeverity severity);
};

} // namespace fastk

#endif // FASTK_DRIVER_MODELDIAGNOSTICS_H
