//===- Driver.h - The compiler driver ---------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_OPT_DRIVER_H
#define FASTK_TOOLS_FASTK_OPT_DRIVER_H

#include "Options.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

namespace fastk {

/// Exit codes, as docs/commands.md promises them; a search that a signal ended
/// has 128 + the signal.
enum ExitCode {
  kExitDone = 0,
  kExitWrong = 1,
  kExitRefused = 2,
  /// Evaluations are not answered yet: run again later (sysexits' EX_TEMPFAIL).
  kExitPending = 75
};

/// Compiles a model as `options` say. `executable` is the path of this program.
int runDriver(const DriverOptions &options, llvm::StringRef executable);

/// Admits the family that `options` name.
int runAdmission(const DriverOptions &options);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_OPT_DRIVER_H
