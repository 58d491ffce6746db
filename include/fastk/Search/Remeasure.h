//===- Remeasure.h - A stored winner, measured once more --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What came from another bank, another machine or another year is validated and
// timed as a would-be winner of a search is: in a fresh process, on fresh data,
// beside the default lowering and, where there is one, the winner it competes
// with.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_REMEASURE_H
#define FASTK_SEARCH_REMEASURE_H

#include "fastk/Bank/Winner.h"
#include "fastk/Evaluate/Evaluator.h"
#include "fastk/Search/Search.h"
#include "fastk/Target/TargetDescription.h"
#include <string>

namespace fastk {

/// The variant that a winner is.
Variant variantOf(const Winner &winner);

struct Remeasurement {
  /// Why it is no winner here: wrong, no faster than the default lowering, a
  /// machine too noisy to tell. Empty when it is one.
  std::string problem;
  /// True when the problem is the machine's, not the winner's.
  bool isNoise = false;
  worker::Verdict verdict;
  /// The winner with the record of this measurement, when there is no problem.
  mlir::OwningOpRef<mlir::ModuleOp> winner;
  /// Whether it is surely faster than `rival`.
  bool beatsRival = false;
  /// Set where this measurement and one more contradict a record of this
  /// machine, of the winner or of its rival: what they say. Records stay then.
  std::string contradiction;
};

/// What the record of `winner` says that its gain is, where it was made on
/// `device` with this version of fastk and MLIR: elsewhere the default lowering
/// may be another.
std::optional<RecordedGain> recordedGain(const Winner &winner,
                                         const TargetDescription &device);

/// Measures `winner` on `device`, which `evaluator` runs on; once more where
/// that contradicts a record by more than the intervals of both: its own,
/// unless it is a stranger's, and its rival's. An error means that nothing
/// could be measured.
llvm::Expected<Remeasurement> remeasure(const Winner &winner,
                                        const Winner *rival,
                                        const TargetDescription &device,
                                        Evaluator &evaluator,
                                        bool isOfStranger = false);

} // namespace fastk

#endif // FASTK_SEARCH_REMEASURE_H
