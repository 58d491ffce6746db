//===- HostLoad.h - What else the machine is doing --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linux says of every thread how long it was ready to run and had to wait for a
// processor (/proc/PID/task/TID/schedstat). A program cannot change that of
// itself but by competing with itself; NoiseRules.h says what follows.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_HOSTLOAD_H
#define FASTK_LIB_WORKER_HOST_HOSTLOAD_H

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>

namespace fastk::worker {

/// How long threads have waited for a processor, ns, by thread; since each
/// began. Empty where the kernel does not say.
using RunDelays = std::map<pid_t, uint64_t>;

/// Of all threads of a process.
RunDelays runDelaysOf(pid_t process);
/// Of this thread, ns; 0 where the kernel does not say.
uint64_t ownRunDelay();
/// The longest wait of any one thread between two readings, ns. A thread that
/// came in between has waited since it began.
uint64_t longestWait(const RunDelays &before, const RunDelays &after);

/// What others did between the construction and describe().
class HostLoad {
public:
  HostLoad();
  /// "other programs took 97 % of 2 processors, load average 4.1"; without what
  /// cannot be known.
  std::string describe() const;

private:
  /// Seconds, of all processors.
  struct Reading {
    double busy = 0, total = 0, own = 0;
  };
  static Reading read();
  Reading begin;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_HOSTLOAD_H
