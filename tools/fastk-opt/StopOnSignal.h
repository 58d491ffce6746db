//===- StopOnSignal.h - What ends long work early ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_OPT_STOPONSIGNAL_H
#define FASTK_TOOLS_FASTK_OPT_STOPONSIGNAL_H

#include <csignal>
#include <map>

namespace fastk {

/// As long as it lives, the first signal that asks to end is only noted: who
/// works looks at it, kills what runs and keeps what was recorded. The second
/// one ends the process.
class StopOnSignal {
public:
  StopOnSignal();
  /// LLVM's own handlers again, which remove half-written files.
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal &) = delete;
  StopOnSignal &operator=(const StopOnSignal &) = delete;

  /// The signal that came; 0: none.
  static int signal();

private:
  std::map<int, struct sigaction> before;
};

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_OPT_STOPONSIGNAL_H
