//===- PipeSignal.cpp - Readers that go while we write --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/PipeSignal.h"

using namespace fastk;

static bool isPending() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 1;
}

static sigset_t justPipe() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGPIPE);
  return set;
}

NoPipeSignal::NoPipeSignal() : wasPending(isPending()) {
  sigset_t blocked = justPipe();
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
}

NoPipeSignal::~NoPipeSignal() {
  // The one that we caused is for nobody else.
  if (!wasPending && isPending()) {
    sigset_t set = justPipe();
    timespec none = {};
    ::sigtimedwait(&set, nullptr, &none);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}
