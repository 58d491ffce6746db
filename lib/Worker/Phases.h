//===- Phases.h - Where the seconds of an evaluation go ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Phase lasts as long as its object. Inner ones are taken out of outer ones,
// so the seconds of all add up to the evaluation's. One evaluation at a time on
// a thread; without a log a Phase does nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_PHASES_H
#define FASTK_LIB_WORKER_PHASES_H

#include "fastk/Protocol/Verdict.h"
#include <cstdint>
#include <vector>

namespace fastk::worker {

/// The phases of one evaluation, from here to the end of the object. What is in
/// no phase is "other".
class PhaseLog {
public:
  PhaseLog();
  ~PhaseLog();
  PhaseLog(const PhaseLog &) = delete;
  PhaseLog &operator=(const PhaseLog &) = delete;

  /// In the order of their first beginning; then what went on beside.
  std::vector<PhaseTime> take();

private:
  friend class Phase;
  void spend();

  std::vector<PhaseTime> phases, beside;
  /// Indices of the phases that are open, the innermost last.
  std::vector<size_t> open;
  uint64_t mark;
  PhaseLog *outer;
};

class Phase {
public:
  explicit Phase(const char *name);
  ~Phase();
  Phase(const Phase &) = delete;
  Phase &operator=(const Phase &) = delete;

  /// So much of what has just passed in this phase was spent on another.
  static void wasSpentOn(const char *name, double seconds);
  /// So much was spent elsewhere at the same time: of no phase of ours.
  static void wasSpentBeside(const char *name, double seconds);

private:
  PhaseLog *log;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_PHASES_H
