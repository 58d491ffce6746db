//===- OperandTripwires.h - Operands that are true in calls only *- C++ -*-===//
//-*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_OPERANDTRIPWIRES_H
#define FASTK_LIB_WORKER_HOST_OPERANDTRIPWIRES_H

#include "SharedBuffer.h"
#include <vector>

namespace fastk::worker {

/// A program that is let run for a call could read the operands before the
/// clock does: in a signal handler, in another thread, in the worker's own code
/// that it has changed. So until the clock runs, some lines of every operand,
/// at secret places, hold other values of the same operand. What was computed
/// of them is wrong.
class OperandTripwires {
public:
  OperandTripwires() = default;
  /// \p flush: what was written is evicted from the caches.
  OperandTripwires(std::vector<const SharedBuffer *> operands, bool flush);
  /// The operands are others': they always get their values back.
  ~OperandTripwires() { reveal(); }
  OperandTripwires(OperandTripwires &&) = default;
  OperandTripwires &operator=(OperandTripwires &&) = default;

  void set();
  /// Puts the true values back.
  void reveal();

private:
  static constexpr size_t lineBytes = 64;
  /// Of an operand; smaller ones have one line in sixteen changed.
  static constexpr size_t mostLines = 256;

  struct Line {
    char *at;
    unsigned char truth[lineBytes];
  };
  std::vector<const SharedBuffer *> operands;
  bool flush = false;
  /// In the order of changes: a place may be changed twice.
  std::vector<Line> changed;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_OPERANDTRIPWIRES_H
