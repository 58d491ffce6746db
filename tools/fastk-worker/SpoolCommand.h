//===- SpoolCommand.h - What is said of a spool -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_WORKER_SPOOLCOMMAND_H
#define FASTK_TOOLS_FASTK_WORKER_SPOOLCOMMAND_H

#include "fastk/Worker/Spool.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk::worker {

struct SpoolCommand {
  SpoolOptions spool;
  /// "all", or numbers of GPUs as the driver counts them: a worker for each.
  /// Empty: this process is the worker.
  std::string gpus;
};

/// True where a folder of jobs is to be answered.
bool isSpoolCommand(int argc, char **argv);

/// The command; nothing where it is wrong, with the remedy in \p problem.
std::optional<SpoolCommand>
parseSpoolCommand(const std::vector<std::string> &arguments,
                  std::string &problem);

/// The arguments of worker number \p share of \p shares of the command, as
/// parseSpoolCommand() reads them.
std::vector<std::string> workerArguments(const SpoolCommand &command,
                                         unsigned share, unsigned shares);

} // namespace fastk::worker

#endif // FASTK_TOOLS_FASTK_WORKER_SPOOLCOMMAND_H
