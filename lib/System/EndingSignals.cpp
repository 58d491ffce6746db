//===- EndingSignals.cpp - Signals that end a tool ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/EndingSignals.h"
#include "fastk/System/ProcessFolder.h"
#include <csignal>
#include <cstdlib>

using namespace fastk;

namespace {
struct Signals {
  std::vector<int> ending, ignored;
};
} // namespace

static Signals &signals() {
  static Signals known;
  return known;
}

void fastk::endBySignal(int signal) {
  removeTemporaryFolders();
  std::signal(signal, SIG_DFL);
  // Blocked while this handler runs; it ends the process when it returns.
  std::raise(signal);
}

void fastk::watchEndingSignals() {
  for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0 &&
        action.sa_handler == SIG_IGN) {
      signals().ignored.push_back(signal);
      continue;
    }
    action = {};
    action.sa_handler = endBySignal;
    sigaction(signal, &action, nullptr);
    if (signal != SIGPIPE)
      signals().ending.push_back(signal);
  }
  std::atexit(removeTemporaryFolders);
}

void fastk::keepIgnoredSignals() {
  for (int signal : signals().ignored)
    std::signal(signal, SIG_IGN);
}

std::vector<int> fastk::endingSignals() { return signals().ending; }
