//===- ModelShares.h - What a model's searches can gain ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_MODELSHARES_H
#define FASTK_SEARCH_MODELSHARES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// A distinct workload of a model.
struct ModelPart {
  std::string name;
  /// How often the model has it.
  int64_t calls = 1;
  /// Of one call, before the search; 0 where nobody knows.
  double seconds = 0;
  /// The time that no kernel can beat; 0 where nobody knows.
  double floorSeconds = 0;
  /// It has a share of the budget.
  bool isSearched = false;
  /// Of one call, after the search; 0: as before.
  double secondsAfter = 0;

  double timeBefore() const { return calls * seconds; }
  double timeAfter() const {
    return calls * (secondsAfter > 0 ? secondsAfter : seconds);
  }
  /// Seconds of the model's time that a search can gain at most: calls times
  /// what is above the floor. Nothing where the time is unknown.
  std::optional<double> headroom() const;
};

/// A search that can gain less than this of the model's time is not made.
inline constexpr double kMinGain = 0.005;

struct ModelShares {
  /// Those that are searched, the one with the most to gain first; equals keep
  /// their order.
  std::vector<size_t> order;
  /// What each of `order` gets of the budget, in proportion. Positive.
  std::vector<double> weights;
  /// Those that were to be searched and can gain less than kMinGain. None
  /// where only one was to be searched: then the user asked for that one.
  std::vector<size_t> tooSmall;
};

/// Deals the budget by what each search can gain. Where a part's time is
/// unknown, that is taken to be in proportion to calls times floor: as much for
/// each second of it as the parts gain whose time is known, or a second where
/// none is. A part whose floor is unknown too counts for what the others gain
/// on average.
ModelShares shareByGain(llvm::ArrayRef<ModelPart> parts);

/// Where the time goes, the largest share first, before the search or after
/// it. Prints nothing when the time of no part is known.
void printModelParts(llvm::ArrayRef<ModelPart> parts, bool isAfter,
                     llvm::raw_ostream &os);

} // namespace fastk

#endif // FASTK_SEARCH_MODELSHARES_H
