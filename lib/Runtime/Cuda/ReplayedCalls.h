//===- ReplayedCalls.h - Calls that come again, as graphs -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch takes the driver some microseconds, which is longer than many
// kernels of small models run. A call with the same buffers as earlier ones
// enqueues the same launches, so these are captured into a CUDA graph once and
// launched together from then on.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_RUNTIME_CUDA_REPLAYEDCALLS_H
#define FASTK_LIB_RUNTIME_CUDA_REPLAYEDCALLS_H

#include "fastk/Cuda/LoadedProgram.h"
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fastk::runtime {

/// Of one function in one context. Errors are texts.
class ReplayedCalls {
public:
  /// Calls with the same buffers that are enqueued launch by launch before one
  /// is captured: buffers that never come again are not worth a graph.
  static constexpr unsigned callsBefore = 2;
  /// With fewer launches a graph gains nothing; with more it takes memory, and
  /// seconds to be made.
  static constexpr uint64_t leastLaunches = 8, mostLaunches = 20000;
  /// Sets of buffers that are remembered, those used last.
  static constexpr size_t mostSets = 8;

  /// `launches` are those of a call. FASTK_GRAPHS=0 in the environment turns
  /// graphs off.
  ReplayedCalls(const cuda::Driver &driver, uint64_t launches);
  /// The context is current, or gone with all that was in it.
  ~ReplayedCalls();
  ReplayedCalls(const ReplayedCalls &) = delete;
  ReplayedCalls &operator=(const ReplayedCalls &) = delete;

  /// A call with \p buffers on \p stream; \p enqueue puts its launches on a
  /// stream. A stream that the caller captures gets the launches themselves.
  std::string run(const cuda::DeviceBuffers &buffers, cuda::CUstream stream,
                  const std::function<std::string(cuda::CUstream)> &enqueue);

private:
  struct Set {
    cuda::CUgraphExec graph = nullptr;
    unsigned calls = 0;
    uint64_t lastCall = 0;
  };
  using Key = std::vector<cuda::CUdeviceptr>;

  Set &setOf(Key key);
  bool isCapturing(cuda::CUstream stream) const;
  /// Null where the driver does not capture it.
  cuda::CUgraphExec
  capture(const std::function<std::string(cuda::CUstream)> &enqueue);

  const cuda::Driver &driver;
  std::atomic<bool> isOn;
  std::mutex mutex;
  std::map<Key, Set> sets;
  uint64_t calls = 0;
  /// Where calls are captured: the caller's may be the default stream, which
  /// cannot be.
  cuda::CUstream captured = nullptr;
};

/// The launches and memsets of a call, those of loops as often as they run.
uint64_t countLaunches(const worker::LaunchPlan &plan);

} // namespace fastk::runtime

#endif // FASTK_LIB_RUNTIME_CUDA_REPLAYEDCALLS_H
