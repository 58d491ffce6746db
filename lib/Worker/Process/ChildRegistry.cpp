//===- ChildRegistry.cpp - Children to kill when the worker is ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildRegistry.h"
#include <array>
#include <atomic>
#include <csignal>

using namespace fastk::worker;

static std::array<std::atomic<pid_t>, 64> children;

void fastk::worker::rememberChild(pid_t pid) {
  for (std::atomic<pid_t> &entry : children) {
    pid_t free = 0;
    if (entry.compare_exchange_strong(free, pid))
      return;
  }
}

void fastk::worker::forgetChild(pid_t pid) {
  for (std::atomic<pid_t> &entry : children) {
    pid_t expected = pid;
    entry.compare_exchange_strong(expected, 0);
  }
}

void fastk::worker::forEachChild(const std::function<void(pid_t)> &visit) {
  for (std::atomic<pid_t> &entry : children)
    if (pid_t pid = entry.load())
      visit(pid);
}

void fastk::worker::killAllChildren() {
  for (std::atomic<pid_t> &entry : children)
    if (pid_t pid = entry.load())
      kill(-pid, SIGKILL);
}
