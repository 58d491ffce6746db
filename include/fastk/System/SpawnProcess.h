//===- SpawnProcess.h - How every child process begins ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_SPAWNPROCESS_H
#define FASTK_SYSTEM_SPAWNPROCESS_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastk {

/// The first of the descriptors that a process is given beside its standard
/// streams.
inline constexpr int firstChildDescriptor = 3;

/// The beginning of a process that works for this one: the leader of its own
/// process group, no signal blocked or handled, and no descriptor but those
/// named here.
struct SpawnOptions {
  /// The file to run; empty for that of this process.
  std::string program;
  /// The first is the process's name for itself.
  std::vector<std::string> arguments;
  /// As "NAME=value"; nothing for the environment of this process.
  std::optional<std::vector<std::string>> environment = {};
  /// What become its descriptors from firstChildDescriptor on, in this order.
  std::vector<int> descriptors = {};
  /// What become its standard streams; -1: /dev/null.
  int input = -1, output = -1, error = -1;
  /// Its working folder; empty for that of this process.
  std::string folder = {};
  /// The signal that it gets when this process dies, however that happens; 0
  /// for none. The kernel takes the thread that calls spawnProcess for the
  /// parent: it has to live as long as the process.
  int parentDeathSignal = 0;
  /// Its private memory (RLIMIT_DATA) in bytes; 0: no limit of its own.
  uint64_t dataBytes = 0;
};

/// Returns the process id once the program runs, or -1 with errno set: nothing
/// is left to be waited for then.
pid_t spawnProcess(const SpawnOptions &options);

/// Waits for the end of a child and reaps it, whatever signals come meanwhile.
/// Returns its status as waitpid(2) gives it.
int waitForProcess(pid_t pid);

/// Whether a child has ended, and waits to be reaped.
bool hasChildEnded(pid_t pid);

/// Asks a child of spawnProcess to end, by SIGTERM, and kills its whole process
/// group where it has not ended after \p patience. Reaps it; returns its status
/// as waitpid(2) gives it.
int endProcess(pid_t pid, std::chrono::milliseconds patience);

/// The environment of this process with those of \p variables ("NAME=value")
/// that it does not set itself.
std::vector<std::string>
environmentWith(const std::vector<std::string> &variables);

/// The environment of this process with its temporary files in \p folder, and
/// with those of \p variables ("NAME=value") that it does not set itself.
std::vector<std::string>
environmentFor(const std::string &folder,
               const std::vector<std::string> &variables = {});

} // namespace fastk

#endif // FASTK_SYSTEM_SPAWNPROCESS_H
