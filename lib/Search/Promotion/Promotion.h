//===- Promotion.h - The second measurement of a would-be winner -*- C++ -*-==//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_PROMOTION_PROMOTION_H
#define FASTK_LIB_SEARCH_PROMOTION_PROMOTION_H

#include "Budget/SearchLimits.h"
#include "Evaluation/SearchVerdicts.h"
#include "Report/ProgressReporter.h"
#include "State/SearchState.h"
#include "llvm/ADT/StringSet.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk {

class Promotion {
public:
  Promotion(SearchState &search, SearchLimits &limits, SearchVerdicts &verdicts,
            const ProgressReporter &progress)
      : search(search), limits(limits), verdicts(verdicts), progress(progress) {
  }

  /// Measures the best trials again, until one is a winner or none is left.
  llvm::Error run();
  /// Where an earlier run left a would-be winner without its second
  /// measurement, that is made before more is tried.
  llvm::Error secureBest();

private:
  /// Whether it is worth a second measurement.
  bool isCandidate(const Trial &trial) const {
    return trial.speedup > search.options.promotionGain;
  }
  /// Takes the trial to measure next out of `order`. What is wrong with one
  /// realisation is often wrong with its relatives: the other ideas come first
  /// then, and before them those that do without what a tool could not follow.
  size_t takeNext(std::vector<size_t> &order,
                  const llvm::StringSet<> &failedIdeas,
                  bool avoidsBarriers) const;
  /// Why its second measurement makes the trial no winner; empty: it is one.
  std::string problemOf(const Trial &trial,
                        const worker::Verdict &second) const;
  /// The winner, at this attempt.
  void crown(const Trial &trial, const worker::Verdict &second, int attempts);
  /// The second measurement of a trial, made again where an earlier run's was
  /// spoiled by noise, or where it contradicts the bank or itself. Nothing:
  /// none could be made.
  llvm::Expected<std::optional<worker::Verdict>>
  measureAgain(const Trial &trial);
  /// Says that a second measurement of the trial is missing.
  void noteUnproven(const Trial &trial, std::string why);

  SearchState &search;
  SearchLimits &limits;
  SearchVerdicts &verdicts;
  const ProgressReporter &progress;
  bool isSecured = false;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_PROMOTION_PROMOTION_H
