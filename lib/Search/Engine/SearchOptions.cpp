//===- SearchOptions.cpp - The shape of a search --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/SearchOptions.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace fastk;

Expected<SearchBudget> fastk::parseSearchBudget(StringRef text) {
  SearchBudget budget;
  auto problem = [](const Twine &what) {
    return createStringError(inconvertibleErrorCode(),
                             "budget: " + what +
                                 "; write it as evaluations=200,minutes=10");
  };
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, value] = part.split('=');
    name = name.trim();
    value = value.trim();
    if (name == "evaluations") {
      if (value.getAsInteger(10, budget.evaluations) || budget.evaluations < 1)
        return problem("evaluations wants a whole number above 0, not '" +
                       value + "'");
    } else if (name == "minutes") {
      if (value.getAsDouble(budget.minutes) || !(budget.minutes > 0))
        return problem("minutes wants a number above 0, not '" + value + "'");
    } else if (name == "tokens") {
      if (value.getAsInteger(10, budget.tokens) || budget.tokens < 1)
        return problem("tokens wants a whole number above 0, not '" + value +
                       "'");
    } else if (name == "usd") {
      if (value.getAsDouble(budget.usd) || !(budget.usd > 0))
        return problem("usd wants a number above 0, not '" + value + "'");
    } else {
      return problem("unknown limit '" + name +
                     "', known are evaluations, minutes, tokens, usd");
    }
  }
  return budget;
}
