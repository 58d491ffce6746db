//===- EndingSignals.cpp - Signals that end a tool ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/EndingSignals.h"
#include "fastk/System/ProcessFolder.h"
#include <algorithm>
#include <csignal>
#include <cstdlib>

using namespace fastk;

static std::vector<int> &ignored() {
  static std::vector<int> signals;
  return signals;
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
      ignored().push_back(signal);
      continue;
    }
    action = {};
    action.sa_handler = endBySignal;
    sigaction(signal, &action, nullptr);
  }
  std::atexit(removeTemporaryFolders);
}

void fastk::keepIgnoredSignals() {
  for (int signal : ignored())
    std::signal(signal, SIG_IGN);
}

std::vector<int> fastk::endingSignals() {
  std::vector<int> signals = {SIGINT, SIGTERM};
  if (std::find(ignored().begin(), ignored().end(), SIGHUP) == ignored().end())
    signals.push_back(SIGHUP);
  return signals;
}
