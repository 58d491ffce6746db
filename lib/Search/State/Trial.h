//===- Trial.h - What is to be tried, and what was --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_STATE_TRIAL_H
#define FASTK_LIB_SEARCH_STATE_TRIAL_H

#include "fastk/Propose/Proposer.h"
#include "fastk/Protocol/Verdict.h"
#include <string>

namespace fastk {

/// An idea that was proposed in this round.
struct AskedIdea {
  Idea idea;
  Proposer *owner = nullptr;
  /// Its place in the journal, "1/0/3": round, proposer, number.
  std::string name;
};

/// A variant that is to be tried.
struct Planned {
  Idea idea;
  /// Null for a winner that the search begins with.
  Proposer *owner = nullptr;
  Variant variant;
  /// How often it was mended.
  int attempt = 0;
};

/// A variant that was evaluated, or a reply that holds no program.
struct Trial {
  Idea idea;
  Proposer *owner = nullptr;
  TriedVariant tried;
  worker::Verdict verdict;
  /// Baseline over candidate; 0 unless it passed.
  double speedup = 0;
  int attempt = 0;
  /// Seconds of searching when its verdict came.
  double measuredAt = 0;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_STATE_TRIAL_H
