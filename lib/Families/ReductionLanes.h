//===- ReductionLanes.h - Lanes of reductions in C --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_REDUCTIONLANES_H
#define FASTK_LIB_FAMILIES_REDUCTIONLANES_H

#include "HeaderText.h"
#include "IndexSpace.h"
#include "fastk/Families/Reduction.h"

namespace fastk::families {

/// How lanes lie along a group of loops, rows or columns: along the longest
/// run of them that is one index to all that is loaded and stored.
struct LanesWalk {
  /// The variable of a run, and the neighbours that it has.
  unsigned var = 0;
  int64_t run = 1, all = 1;
  /// Whether no loop of the group is that variable.
  bool isNew = false;
  std::vector<catalog::MergedVars> merged;
};

/// What passes over rows do for the lanes of vectors.
class ReductionLanes : protected HeaderText {
protected:
  explicit ReductionLanes(const ReductionCore &core)
      : HeaderText(core.program), core(core) {}

  using Evaluation = llvm::function_ref<void(catalog::Scope &)>;

  /// Nothing: the group has one element, or \p why says what has no text.
  std::optional<LanesWalk> walkOf(llvm::ArrayRef<unsigned> group,
                                  Evaluation evaluate, std::string &why);
  /// Lines that declare the variable of a run from the index of its group.
  std::string alongText(const LanesWalk &walk, llvm::StringRef index) const;
  void writeAlong(const LanesWalk &walk, llvm::StringRef index) {
    os << alongText(walk, index);
  }
  /// Lines for all lanes, and for the first `count`.
  std::string lanesText(const LanesWalk &walk, unsigned indent,
                        Evaluation evaluate);

  /// A scope for values at row r and column c: statistics come from `done`.
  void prepare(catalog::Scope &scope, bool isRows);
  /// Adds elements to the statistics of a stage, in `part`.
  void addTo(catalog::Scope &scope, unsigned stage, bool isRows);
  /// Puts what a stage has found, in `sums`, into `done`.
  void endTo(catalog::Scope &scope, unsigned stage, bool isRows);
  /// Computes and stores results.
  void finishTo(catalog::Scope &scope, bool isRows, bool streams = false);
  /// What a statistic begins at, in all lanes.
  static std::string neutralLanes(catalog::Scope &scope,
                                  const RowStatistic &statistic);

  /// An expensive value that a stage computes and the result needs again is
  /// kept for it.
  void findKept();
  void takeKept(catalog::Scope &scope, bool isRows);
  std::optional<std::pair<void *, llvm::SmallVector<catalog::Lin>>> kept;
  unsigned keptStage = 0;

  catalog::Lin placeOfResult(const LanesWalk &walk);
  /// Whether lanes of results, and none of what is reduced, are divided by one
  /// number.
  bool hasDivisor();
  /// How much there is to do for a vector, of columns or of rows.
  int64_t workOf(bool isRows, Evaluation evaluate);

  const ReductionCore &core;

private:
  /// Whether products are the same wherever they are computed.
  bool roundsProducts() const;
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_REDUCTIONLANES_H
