//===- Trial.h - A variant that was tried -----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_STRATEGY_TRIAL_H
#define FASTK_LIB_SEARCH_STRATEGY_TRIAL_H

#include "fastk/Propose/Proposer.h"
#include "fastk/Protocol/Verdict.h"

namespace fastk {

/// A variant that was evaluated, or a reply that holds no program.
struct Trial {
  Idea idea;
  /// Null for a winner that the search began with.
  Proposer *owner = nullptr;
  TriedVariant tried;
  worker::Verdict verdict;
  /// Baseline over candidate; 0 unless it passed.
  double speedup = 0;
  /// How often it was mended.
  int attempt = 0;
  /// Seconds of searching when its verdict came.
  double measuredAt = 0;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_STRATEGY_TRIAL_H
