//===- Clock.h - The clock of the worker ------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CLOCK_H
#define FASTK_LIB_WORKER_CLOCK_H

#include <cstdint>
#include <ctime>

namespace fastk::worker {

/// Nanoseconds of the monotonic clock.
inline uint64_t clockNs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CLOCK_H
