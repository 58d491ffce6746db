//===- SearchVerdicts.h - What evaluations find, kept -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_EVALUATION_SEARCHVERDICTS_H
#define FASTK_LIB_SEARCH_EVALUATION_SEARCHVERDICTS_H

#include "Budget/SearchLimits.h"
#include "State/Novelty.h"
#include "State/SearchState.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// Looks into the journal before it asks, records each verdict, and keeps to
/// the limits.
class SearchVerdicts {
public:
  using Verdict = llvm::Expected<std::optional<worker::Verdict>>;

  SearchVerdicts(SearchState &search, SearchLimits &limits)
      : search(search), limits(limits) {}

  /// Nothing: the search, or its phase, is over.
  Verdict ask(const Variant &variant, const Variant *incumbent, bool promote,
              int repeat = 0);
  /// Where answers come later: asks for the verdicts on all of `variants` that
  /// are not in `seen`, before any of them decides what comes next. The search
  /// is over when one is pending. Elsewhere does nothing.
  llvm::Error askTogether(llvm::ArrayRef<Variant> variants,
                          const SeenPrograms &seen);
  /// Makes a promotion ahead of its turn, when it counts.
  llvm::Error promoteAhead(const Variant &variant);

  /// Called by ask() before an evaluation that no earlier run has made, unless
  /// it is a promotion.
  std::function<llvm::Error()> beforeNew;

  /// True when there is a verdict, of this run or another.
  bool isKnown(const std::string &name) const;
  /// Of a verdict that is known, else nothing.
  std::optional<worker::Status> statusOf(const std::string &name) const;
  /// Seconds of searching when the last verdict came that was asked for.
  double lastAt() const { return verdictAt; }
  /// Names of promotions that failed through no fault of their variants.
  const std::vector<std::string> &failedPromotions() const { return failed; }

private:
  EvaluationRequest request(const Variant &variant, const Variant *incumbent,
                            bool promote) const;
  /// Asks the evaluator and records what it says. Nothing: the user ended the
  /// search, or the answer is pending.
  Verdict obtain(const std::string &name, EvaluationRequest request);

  SearchState &search;
  SearchLimits &limits;
  /// Verdicts that were asked for in this run, ahead of their turn.
  llvm::StringMap<worker::Verdict> answers;
  double verdictAt = 0;
  std::vector<std::string> failed;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_EVALUATION_SEARCHVERDICTS_H
