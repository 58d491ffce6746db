//===- BoundaryChoice.h - Which regions are better cut ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_BOUNDARYCHOICE_H
#define FASTK_SEARCH_BOUNDARYCHOICE_H

#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace fastk {

/// A region as one workload and as several, each by its best program.
struct BoundaryChoice {
  std::string name, key;
  double wholeSeconds = 0;
  bool wholeHasWinner = false;
  /// Keys of the parts, as often as they come.
  std::vector<std::string> parts;
  /// Of all parts together; 0 where that of one is unknown.
  double partsSeconds = 0;
  /// A compile cuts a workload without a winner where its heaviest part has
  /// one, and nowhere else.
  bool heaviestHasWinner = false;
  /// What was chosen.
  bool isCut = false;
};

/// The parts must take less than this of the whole's time: they are measured
/// one by one, and what is between them is not.
inline constexpr double kCutGain = 0.95;

/// Sets isCut where the parts are faster. A part's winner cuts every workload
/// without a winner that it lies in: a region whose part would do harm to
/// another one, which has no winner as a whole, stays whole as well.
void chooseBoundaries(llvm::MutableArrayRef<BoundaryChoice> choices);

} // namespace fastk

#endif // FASTK_SEARCH_BOUNDARYCHOICE_H
