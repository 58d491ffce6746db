//===- SpawnChild.h - A process with nothing of ours ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SANDBOX_SPAWNCHILD_H
#define FASTK_SANDBOX_SPAWNCHILD_H

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastk::sandbox {

/// The first of the descriptors that a child is given.
inline constexpr int firstChildDescriptor = 3;

/// The beginning of a process that works for this one: the leader of its own
/// process group, no signal blocked or handled, and no descriptor but those
/// named here and /dev/null as 0, 1 and 2.
struct SpawnOptions {
  /// The file to run; empty for that of this process.
  std::string program;
  /// Its name, and the one argument that says what it is to do.
  std::string name, flag;
  /// As "NAME=value"; nothing for the environment of this process.
  std::optional<std::vector<std::string>> environment;
  /// What become its descriptors from firstChildDescriptor on, in this order.
  std::vector<int> descriptors;
};

/// Returns the process id, or -1 with errno set.
pid_t spawnChild(const SpawnOptions &options);

} // namespace fastk::sandbox

#endif // FASTK_SANDBOX_SPAWNCHILD_H
