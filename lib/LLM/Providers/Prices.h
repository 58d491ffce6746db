//===- Prices.h - What tokens cost ------------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_LLM_PROVIDERS_PRICES_H
#define FASTK_LIB_LLM_PROVIDERS_PRICES_H

#include "Provider.h"

namespace fastk {

/// USD for a million tokens.
struct Price {
  double input = 0, output = 0;
  /// As input, where the table says nothing.
  std::optional<double> cachedInput, cacheWrite;
};

/// The price of "PROVIDER:MODEL" in a table's text; nothing for a model that is
/// not in it. `shown` names the table in errors.
llvm::Expected<std::optional<Price>>
findPrice(llvm::StringRef text, llvm::StringRef shown, llvm::StringRef model);

/// In USD.
double costOf(const Price &price, const Usage &usage, int64_t cacheWriteTokens);

} // namespace fastk

#endif // FASTK_LIB_LLM_PROVIDERS_PRICES_H
