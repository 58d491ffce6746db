//===- Strategies.cpp - The table of strategies ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/Strategies.h"
#include "SearchStrategy.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;

// The one place where the vtables live.
SearchMoves::~SearchMoves() = default;
SearchStrategy::~SearchStrategy() = default;

ArrayRef<StrategyKind> fastk::searchStrategies() {
  static constexpr StrategyKind table[] = {
      {"branching", createBranching},
      {"sequential", createSequential},
  };
  return table;
}

/// "a, b or c"; `mark` stands behind the first.
static std::string listNames(StringRef mark) {
  ArrayRef<StrategyKind> kinds = searchStrategies();
  std::string text;
  for (auto [index, kind] : enumerate(kinds)) {
    if (index > 0)
      text += index + 1 == kinds.size() ? " or " : ", ";
    text += kind.name.str();
    if (index == 0)
      text += mark.str();
  }
  return text;
}

Expected<const StrategyKind *> fastk::findSearchStrategy(StringRef name) {
  for (const StrategyKind &kind : searchStrategies())
    if (kind.name == name)
      return &kind;
  return createStringError(inconvertibleErrorCode(),
                           "unknown strategy '" + name + "': choose " +
                               listNames(/*mark=*/""));
}

std::string fastk::describeSearchStrategies() {
  return listNames(" (default)");
}
