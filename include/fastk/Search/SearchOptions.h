//===- SearchOptions.h - The shape of a search ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_SEARCHOPTIONS_H
#define FASTK_SEARCH_SEARCHOPTIONS_H

#include "fastk/Search/Strategies.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace fastk {

/// Hard limits of one search; 0: none.
struct SearchBudget {
  /// Evaluations, promotions included.
  int64_t evaluations = 0;
  /// Wall time of a run: what a journal holds was another's. No evaluation
  /// starts after it, nor one that would end after it if it took as long as the
  /// others did.
  double minutes = 0;
  /// Of language models, input and output. No prompt is sent whose reply could
  /// exceed it, as far as texts tell the number of their tokens.
  int64_t tokens = 0;
  /// Of language models, as far as prices are known. No prompt is sent that
  /// would exceed it if it cost as much as the others did.
  double usd = 0;
};

/// Parses "evaluations=N,minutes=N,tokens=N,usd=N" (any may be left out).
llvm::Expected<SearchBudget> parseSearchBudget(llvm::StringRef text);

struct SearchOptions {
  /// Never null.
  const StrategyKind *strategy = &searchStrategies().front();
  int rounds = 5;
  /// Ideas of each proposer per round.
  int ideas = 6;
  /// Realisations of each idea.
  int implementations = 2;
  int parents = 4;
  /// Attempts to mend a variant that failed.
  int repairs = 2;
  uint64_t seed = 0;
  SearchBudget budget;

  /// The search ends at this share of the floor,
  double floorShare = 0.95;
  /// and when `patience` rounds gained less than this.
  double patienceGain = 0.03;
  int patience = 2;
  /// Evaluations of the numeric sweep after each round, and at the end for each
  /// of the best variants.
  int roundSweep = 8;
  int finalSweep = 24;
  /// Would-be winners that are measured again before the search gives up.
  int promotions = 3;
  /// What the lower end of the promotion's confidence interval must pass.
  double promotionGain = 1.02;
};

} // namespace fastk

#endif // FASTK_SEARCH_SEARCHOPTIONS_H
