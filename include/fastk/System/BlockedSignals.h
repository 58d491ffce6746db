//===- BlockedSignals.h - A moment without signals --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_BLOCKEDSIGNALS_H
#define FASTK_SYSTEM_BLOCKEDSIGNALS_H

#include <csignal>

namespace fastk {

/// As long as it lives no handler of a signal runs on this thread: what belongs
/// together is done, and what threads besides the main one have is left to it.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  BlockedSignals(const BlockedSignals &) = delete;
  BlockedSignals &operator=(const BlockedSignals &) = delete;

private:
  sigset_t before;
};

} // namespace fastk

#endif // FASTK_SYSTEM_BLOCKEDSIGNALS_H
