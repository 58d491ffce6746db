//===- SearchChoices.h - What options of a search choose from ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_SEARCHCHOICES_H
#define FASTK_DRIVER_SEARCHCHOICES_H

#include "fastk/Search/SearchOptions.h"
#include "fastk/Transforms/PassChoices.h"

namespace fastk {

/// Which workloads are searched.
enum class SearchScope {
  None,
  Misses, ///< Those that have no winner.
  All     ///< Those that have one, too; it is a seed.
};

template <>
struct Choices<SearchScope> {
  static constexpr llvm::StringLiteral kind = "scope";
  static constexpr SearchScope values[] = {SearchScope::Misses,
                                           SearchScope::All, SearchScope::None};
  static llvm::StringRef name(SearchScope value) {
    return value == SearchScope::None     ? "none"
           : value == SearchScope::Misses ? "misses"
                                          : "all";
  }
};

} // namespace fastk

template <>
class llvm::cl::parser<fastk::SearchScope>
    : public fastk::ChoiceParser<fastk::SearchScope> {
public:
  using ChoiceParser::ChoiceParser;
};

#endif // FASTK_DRIVER_SEARCHCHOICES_H
