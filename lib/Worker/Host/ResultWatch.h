//===- ResultWatch.h - Who writes results, and when -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_RESULTWATCH_H
#define FASTK_LIB_WORKER_HOST_RESULTWATCH_H

#include "SharedBuffer.h"
#include <cstdint>
#include <vector>

namespace fastk::worker {

/// Results belong to a call: what is written before its begin or after its
/// return is work that no clock saw, by a thread that outlives the call.
/// Watches lines of the results at secret places, all of them where they are
/// few: whoever leaves a hundredth of the work to such a thread is found at
/// once.
class ResultWatch {
public:
  ResultWatch() = default;
  /// \p buffers are the results of one mapped slot.
  explicit ResultWatch(const std::vector<const SharedBuffer *> &buffers);

  /// The program is ready, and must not have begun.
  void beforeCall();
  /// The kernel has just returned; its process still runs. Looks at few lines:
  /// it must be over before a late thread is.
  void atReturn();
  /// The process is stopped.
  void whenStopped();
  /// Whether results were written outside the call, as far as is known after
  /// whenStopped(); or, later, since then.
  bool wroteOutside() const { return outside; }
  bool changedSinceStop() const;

private:
  static constexpr size_t lineBytes = 64;
  static constexpr size_t mostLines = 2048;
  /// Of these, looked at while the process runs.
  static constexpr size_t quickLines = 256;
  /// Of these, looked at before a call: they are warm then.
  static constexpr size_t earlyLines = 8;

  void copy(size_t count, std::vector<unsigned char> &to) const;

  struct Line {
    const SharedBuffer *buffer;
    size_t offset;
    size_t bytes;
  };
  std::vector<Line> lines;
  std::vector<unsigned char> first, last;
  bool outside = false;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_RESULTWATCH_H
