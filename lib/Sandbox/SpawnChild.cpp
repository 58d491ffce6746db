//===- SpawnChild.cpp - A process with nothing of ours --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Sandbox/SpawnChild.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

using namespace fastk::sandbox;

/// Pointers to the texts, and the null behind them that a process wants.
static std::vector<char *> pointersTo(std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (std::string &text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t fastk::sandbox::spawnChild(const SpawnOptions &options) {
  constexpr int first = firstChildDescriptor;
  int count = int(options.descriptors.size());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd = 0; fd < first; ++fd)
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null",
                                     fd == 0 ? O_RDONLY : O_WRONLY, 0);
  // Copies above all places: taking one must not overwrite the next.
  std::vector<int> copies;
  int code = 0;
  for (int i = 0; i < count; ++i) {
    int copy =
        fcntl(options.descriptors[size_t(i)], F_DUPFD_CLOEXEC, first + count);
    if (copy < 0) {
      code = errno;
      break;
    }
    copies.push_back(copy);
    posix_spawn_file_actions_adddup2(&actions, copy, first + i);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, first + count);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);

  std::vector<std::string> words = {options.name, options.flag};
  std::vector<std::string> variables =
      options.environment.value_or(std::vector<std::string>());
  std::vector<char *> argv = pointersTo(words), own = pointersTo(variables);
  pid_t pid = -1;
  if (code == 0)
    code = posix_spawn(&pid,
                       options.program.empty() ? "/proc/self/exe"
                                               : options.program.c_str(),
                       &actions, &attributes, argv.data(),
                       options.environment ? own.data() : environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (int copy : copies)
    close(copy);
  if (code == 0)
    return pid;
  errno = code;
  return -1;
}
