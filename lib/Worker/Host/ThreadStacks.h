//===- ThreadStacks.h - What lies below the stacks of threads ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_THREADSTACKS_H
#define FASTK_LIB_WORKER_HOST_THREADSTACKS_H

#include <cstddef>
#include <cstdint>

namespace fastk::worker {

/// Stacks of threads: the C library's default, and what OpenMP's have.
inline constexpr uint64_t threadStackBytes = uint64_t(8) << 20;
inline constexpr uint64_t openMPStackBytes = uint64_t(4) << 20;
/// Of the main thread, on which the kernel runs: 8 MiB, as nearly everywhere,
/// of which its callers have 2 MiB.
inline constexpr uint64_t kernelStackBytes = uint64_t(6) << 20;
/// Addresses below a thread's stack that fault: a frame as large as all of a
/// stack, and again as much, does not reach beyond.
inline constexpr size_t threadGuardBytes = size_t(16) << 20;

/// From now on every new thread of this process has so large a guard.
void guardThreadStacks();

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_THREADSTACKS_H
