//===- ChildProcess.h - A program that runs beside us -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_LLM_COMMAND_CHILDPROCESS_H
#define FASTK_LIB_LLM_COMMAND_CHILDPROCESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastk {

/// What to start. Paths are absolute.
struct ChildCommand {
  std::string program;
  /// The first is the program's name for itself.
  std::vector<std::string> arguments;
  /// A folder to run in, and a file to read as standard input.
  std::string folder, input;
  /// Of standard output, in bytes.
  size_t outputLimit = 0;
};

/// A running program with this process's environment, in a process group of its
/// own, that does not outlive this process. Nothing here blocks. To be used by
/// the thread that made it: the kernel takes that for the parent.
class ChildProcess {
public:
  static llvm::Expected<std::unique_ptr<ChildProcess>>
  start(const ChildCommand &command);
  ChildProcess(const ChildProcess &) = delete;
  ChildProcess &operator=(const ChildProcess &) = delete;
  /// Kills what still runs, with its group.
  ~ChildProcess();

  /// Takes what it has written until now. True when it has ended; its group is
  /// gone then, too.
  bool poll();
  void kill();
  /// What becomes readable when there is something to do.
  int outputDescriptor() const { return out; }
  int errorDescriptor() const { return err; }

  /// All of standard output, and the end of standard error.
  std::string output, errorTail;
  bool hasTooMuchOutput = false;
  /// Once it has ended: the exit status, or the signal that ended it.
  int exitCode = 0, signal = 0;

private:
  ChildProcess() = default;
  void drain();

  pid_t pid = -1;
  int out = -1, err = -1;
  size_t outputLimit = 0;
};

} // namespace fastk

#endif // FASTK_LIB_LLM_COMMAND_CHILDPROCESS_H
