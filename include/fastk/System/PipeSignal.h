//===- PipeSignal.h - Readers that go while we write ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_PIPESIGNAL_H
#define FASTK_SYSTEM_PIPESIGNAL_H

#include <csignal>

namespace fastk {

/// While it lives, this thread's writes into closed connections and pipes fail
/// instead of raising SIGPIPE: TLS libraries write without asking for that, and
/// our tools take the signal for the end of their own output.
class NoPipeSignal {
public:
  NoPipeSignal();
  NoPipeSignal(const NoPipeSignal &) = delete;
  NoPipeSignal &operator=(const NoPipeSignal &) = delete;
  ~NoPipeSignal();

private:
  sigset_t before;
  bool wasPending;
};

} // namespace fastk

#endif // FASTK_SYSTEM_PIPESIGNAL_H
