//===- Strategies.h - Strategies of a search, by name -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_STRATEGIES_H
#define FASTK_SEARCH_STRATEGIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace fastk {

class SearchStrategy;
struct SearchOptions;

/// A row of the table of strategies; see docs/extending.md.
struct StrategyKind {
  /// As users and journals write it.
  llvm::StringLiteral name;
  /// The strategy of one search, whose options outlive it.
  std::unique_ptr<SearchStrategy> (*create)(const SearchOptions &options);
};

/// All that can be chosen; the first is the default.
llvm::ArrayRef<StrategyKind> searchStrategies();
/// An error that names the known ones when `name` is none of them.
llvm::Expected<const StrategyKind *> findSearchStrategy(llvm::StringRef name);
/// "branching (default) or sequential": the text of the option.
std::string describeSearchStrategies();

} // namespace fastk

#endif // FASTK_SEARCH_STRATEGIES_H
