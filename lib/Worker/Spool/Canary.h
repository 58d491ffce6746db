//===- Canary.h - Is this GPU like the others? ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verdicts compare ratios to the baseline of their own job, which a slower GPU
// does not change as long as all of it is slower. One that is held back, by
// heat, power, a neighbour or a fault, is slower in one thing and not in
// another. So each worker that stays measures two rates now and then, of memory
// and of arithmetic, and writes them to the spool, and a GPU that is unlike
// those of its model takes no jobs until it is like them again.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_SPOOL_CANARY_H
#define FASTK_LIB_WORKER_SPOOL_CANARY_H

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace fastk::worker {

/// What a GPU reaches at one moment: bytes and operations a second.
struct CanaryReading {
  double read = 0, f32 = 0;
};

/// How far a rate may be from the median of GPUs of its model. Between healthy
/// ones of a model differences of 1 to 2 % are usual.
inline constexpr double kCanaryTolerance = 0.05;

class Canary {
public:
  using Clock = std::chrono::steady_clock;
  /// Returns a reading, or nothing and why.
  using Measure = std::function<std::optional<CanaryReading>(std::string &)>;

  /// For GPU \p name of \p model, as "node7-gpu-2", at the spool \p root.
  Canary(std::filesystem::path root, std::string model, std::string name,
         Measure measure, std::function<Clock::time_point()> now = Clock::now);

  /// Whether the GPU takes jobs at this moment. Measures where the last reading
  /// is old, sooner where it was bad. \p told is what is to be said, where
  /// something has changed.
  bool mayWork(std::string &told);

private:
  /// Why the reading is unlike the others'; empty: it is like them.
  std::string difference(const CanaryReading &reading) const;
  void write(const CanaryReading &reading) const;

  std::filesystem::path folder;
  std::string name;
  Measure measure;
  std::function<Clock::time_point()> now;
  /// The first of this worker, which counts where there are few others.
  std::optional<CanaryReading> first;
  Clock::time_point next = {};
  bool isLeftOut = false;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_SPOOL_CANARY_H
