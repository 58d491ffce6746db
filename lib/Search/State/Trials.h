//===- Trials.h - All that was tried in a search ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_STATE_TRIALS_H
#define FASTK_LIB_SEARCH_STATE_TRIALS_H

#include "Trial.h"
#include "fastk/Search/Search.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <random>
#include <vector>

namespace fastk {

/// A step of the sweep, or a new best without a duel, must gain more than the
/// noise between two measurements of one program.
inline constexpr double kNoise = 1.005;

class Trials {
public:
  void add(Trial trial);
  /// Makes a trial the best.
  void setBest(size_t index) { leader = index; }

  llvm::ArrayRef<Trial> all() const { return trials; }
  size_t size() const { return trials.size(); }
  const Trial &operator[](size_t index) const { return trials[index]; }
  const Trial &last() const { return trials.back(); }
  /// The same as proposers see it.
  llvm::ArrayRef<TriedVariant> history() const { return seen; }
  std::optional<size_t> best() const { return leader; }
  bool hasBest() const { return leader.has_value(); }
  const Trial &bestTrial() const { return trials[*leader]; }
  /// Null before something passed.
  const Variant *bestVariant() const {
    return leader ? &bestTrial().tried.variant : nullptr;
  }

  /// Those that passed, best first.
  std::vector<size_t> survivors() const;
  /// The fastest of the trials since this one.
  std::optional<size_t> bestSince(size_t first) const;
  /// What a round starts from: the best, then others of other ideas, best
  /// first. The last of three or more is drawn.
  std::vector<TriedVariant> chooseParents(int count,
                                          std::mt19937_64 &random) const;

private:
  std::vector<Trial> trials;
  std::vector<TriedVariant> seen;
  std::optional<size_t> leader;
};

/// The line of a round whose best is `trial`.
TrajectoryRow rowOf(llvm::StringRef round, const Trial &trial);

} // namespace fastk

#endif // FASTK_LIB_SEARCH_STATE_TRIALS_H
