//===- Subprocess.h - Run a program under limits ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_SUBPROCESS_H
#define FASTK_EVALUATE_SUBPROCESS_H

#include "fastk/Support/RequestContext.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <csignal>
#include <functional>
#include <string>

namespace fastk {

struct ProcessLimits {
  /// Wall time, then the process and its group are killed.
  unsigned seconds = 60;
  /// Private memory (RLIMIT_DATA) in MiB; 0 for none.
  unsigned memoryMegabytes = 0;
  /// Asked about five times a second and after every signal; true kills the
  /// process and its group, and runProcess() returns an error.
  std::function<bool()> cancelled;
  /// Lets whoever waits end it, and know that time passes.
  void watchedBy(const RequestContext &context) {
    cancelled = [context] {
      context.tick();
      return context.isStopRequested();
    };
  }
  /// What the process gets when this one dies, however that happens. A program
  /// with children of its own wants a signal that it can catch, see
  /// endWithParent().
  int parentDeathSignal = SIGKILL;
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
/// means that it could not be started, its files not be made, or that it was
/// cancelled; a program that fails is a result. `scratch` is a folder for the
/// redirected streams and for the program's own temporary files ($TMPDIR), all
/// of which are removed.
///
/// The process leads a group of its own: a terminal's interrupt does not reach
/// it, and nothing that it started in its group outlives it. It does not
/// outlive this process either. To be called from a thread that lives as long
/// as the process: the kernel takes the thread for the parent.
llvm::Expected<ProcessResult> runProcess(llvm::StringRef program,
                                         llvm::ArrayRef<std::string> arguments,
                                         llvm::StringRef input,
                                         const ProcessLimits &limits,
                                         llvm::StringRef scratch);

/// For a program that runProcess() started with SIGTERM as parentDeathSignal:
/// from here on that signal kills its whole group. Does nothing in a process
/// that does not lead its group.
void endWithParent();

} // namespace fastk

#endif // FASTK_EVALUATE_SUBPROCESS_H
