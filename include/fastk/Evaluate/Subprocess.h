//===- Subprocess.h - Run a program under limits ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_SUBPROCESS_H
#define FASTK_EVALUATE_SUBPROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

struct ProcessLimits {
  /// Wall time, then the process is killed.
  unsigned seconds = 60;
  /// Address space in MiB; 0 for none.
  unsigned memoryMegabytes = 0;
};

struct ProcessResult {
  /// Exit status; negative when it was killed or died of a signal.
  int exitCode = -1;
  bool timedOut = false;
  /// What it wrote to standard output, and to standard error (first 64 KiB).
  std::string output;
  std::string diagnostics;
};

/// Runs `program` with `input` on its standard input and waits for it. An error
/// means that it could not be started or its files not be made; a program that
/// fails is a result. `scratch` is a folder for the redirected streams.
llvm::Expected<ProcessResult> runProcess(llvm::StringRef program,
                                         llvm::ArrayRef<std::string> arguments,
                                         llvm::StringRef input,
                                         const ProcessLimits &limits,
                                         llvm::StringRef scratch);

} // namespace fastk

#endif // FASTK_EVALUATE_SUBPROCESS_H
