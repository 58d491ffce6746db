//===- Parallel.h - A loop over all processors ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_VALUES_PARALLEL_H
#define FASTK_LIB_WORKER_VALUES_PARALLEL_H

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace fastk::worker {

/// Splits [0, count) into at most one part per processor, each a multiple of
/// \p unit long but the last, and calls \p body(part, begin, end) on threads.
/// Small loops stay on the calling thread. Returns the number of parts; part
/// numbers are below maxParts().
inline int64_t maxParts() {
  return std::max<int64_t>(
      1, std::min<int64_t>(16, std::thread::hardware_concurrency()));
}

template <typename Body>
int64_t parallelFor(int64_t count, int64_t unit, Body body) {
  constexpr int64_t worthAThread = 1 << 16;
  int64_t parts = std::min(maxParts(), count / worthAThread + 1);
  int64_t units = (count + unit - 1) / unit;
  parts = std::max<int64_t>(1, std::min(parts, units));
  int64_t step = (units + parts - 1) / parts * unit;
  std::vector<std::thread> threads;
  for (int64_t part = 1; part < parts; ++part)
    threads.emplace_back([=, &body] {
      body(part, std::min(count, part * step),
           std::min(count, (part + 1) * step));
    });
  body(int64_t(0), int64_t(0), std::min(count, step));
  for (std::thread &thread : threads)
    thread.join();
  return parts;
}

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_VALUES_PARALLEL_H
