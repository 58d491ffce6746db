//===- StopOnSignal.cpp - What ends long work early -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StopOnSignal.h"
#include "fastk/System/EndingSignals.h"

using namespace fastk;

static volatile std::sig_atomic_t interrupted = 0;

StopOnSignal::StopOnSignal() {
  // The default action would kill the process in the middle of a line; the
  // second signal still does.
  struct sigaction action = {};
  action.sa_handler = [](int signal) {
    interrupted = signal;
    std::signal(signal, endBySignal);
  };
  for (int signal : endingSignals())
    sigaction(signal, &action, &before[signal]);
}

StopOnSignal::~StopOnSignal() {
  for (const auto &[signal, handler] : before)
    sigaction(signal, &handler, nullptr);
}

int StopOnSignal::signal() { return interrupted; }
