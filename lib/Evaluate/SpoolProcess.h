//===- SpoolProcess.h - Who answers a spool ---------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_EVALUATE_SPOOLPROCESS_H
#define FASTK_LIB_EVALUATE_SPOOLPROCESS_H

#include "fastk/Evaluate/Evaluator.h"
#include "fastk/System/SpawnProcess.h"
#include <string>
#include <sys/types.h>

namespace fastk {

/// A process that answers a spool as long as this object lives, and restarts
/// itself what of it dies.
class SpoolProcess {
public:
  SpoolProcess() = default;
  SpoolProcess(const SpoolProcess &) = delete;
  SpoolProcess &operator=(const SpoolProcess &) = delete;
  ~SpoolProcess() { end(); }

  /// Starts it unless it runs. It ends with this process, by SIGTERM; what it
  /// says goes to the file \p log, which it begins anew.
  llvm::Error start(SpawnOptions spawned, std::string log);

  /// What \p spool returns. Meanwhile tells people those lines of the log that
  /// \p isTold is true of. Where the process has ended by itself, an error that
  /// begins with \p ended and has its last words.
  llvm::Expected<std::vector<std::string>>
  waitForAnswers(Evaluator &spool, const RequestContext &context,
                 llvm::function_ref<bool(llvm::StringRef line)> isTold,
                 llvm::StringRef ended);

private:
  void end();
  bool hasEnded() const;
  void passOn(const RequestContext &context,
              llvm::function_ref<bool(llvm::StringRef line)> isTold);

  pid_t process = -1;
  std::string log;
  /// How much of the log was read, to the end of a line.
  size_t read = 0;
};

} // namespace fastk

#endif // FASTK_LIB_EVALUATE_SPOOLPROCESS_H
