//===- Prices.cpp - What tokens cost --------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prices.h"
#include "JSONValues.h"

using namespace llvm;
using namespace fastk;

namespace {
struct Row {
  StringLiteral name;
  bool isRequired;
  void (*store)(Price &price, double value);
};
} // namespace

static constexpr Row kRows[] = {
    {"input", true, [](Price &price, double value) { price.input = value; }},
    {"cached_input", false,
     [](Price &price, double value) { price.cachedInput = value; }},
    {"cache_write", false,
     [](Price &price, double value) { price.cacheWrite = value; }},
    {"output", true, [](Price &price, double value) { price.output = value; }},
};

static Expected<Price> readPrice(const Json &entry, const Twine &place) {
  auto wrong = [&](const Twine &problem) {
    return createStringError(inconvertibleErrorCode(), place + ": " + problem);
  };
  if (!entry.is_object())
    return wrong("must be an object with input, output and, where they differ "
                 "from input, cached_input and cache_write");
  Price price;
  for (const Row &row : kRows) {
    const Json &value = field(entry, row.name);
    if (value.is_null() && !row.isRequired)
      continue;
    if (!value.is_number() || !(value.get<double>() >= 0))
      return wrong(row.name + " must be a number: USD for a million tokens");
    row.store(price, value.get<double>());
  }
  for (auto &[name, value] : entry.items())
    if (none_of(kRows, [&, key = StringRef(name)](const Row &row) {
          return row.name == key;
        }))
      return wrong("unknown field '" + name + "'");
  return price;
}

Expected<std::optional<Price>> fastk::findPrice(StringRef text, StringRef shown,
                                                StringRef model) {
  auto wrong = [&](const Twine &problem) {
    return createStringError(inconvertibleErrorCode(),
                             shown + ": " + problem + "; see docs/models.md");
  };
  Json table = Json::parse(text.begin(), text.end(), nullptr, false,
                           /*ignore_comments=*/true);
  if (!table.is_object())
    return wrong("is no JSON object");
  if (field(table, "format") != 1)
    return wrong("has not \"format\": 1");
  const Json &models = field(table, "models");
  if (!models.is_object())
    return wrong("has no object \"models\"");
  std::optional<Price> found;
  // All are read, so that a mistake is seen before it matters.
  for (auto &[name, entry] : models.items()) {
    Expected<Price> price = readPrice(entry, shown + ": " + name);
    if (!price)
      return price.takeError();
    if (StringRef(name) == model)
      found = *price;
  }
  return found;
}

double fastk::costOf(const Price &price, const Usage &usage,
                     int64_t cacheWriteTokens) {
  constexpr double kMillion = 1e6;
  int64_t plain = std::max<int64_t>(
      usage.inputTokens - usage.cachedTokens - cacheWriteTokens, 0);
  double cost = static_cast<double>(plain) * price.input;
  cost += static_cast<double>(usage.cachedTokens) *
          price.cachedInput.value_or(price.input);
  cost += static_cast<double>(cacheWriteTokens) *
          price.cacheWrite.value_or(price.input);
  cost += static_cast<double>(usage.outputTokens) * price.output;
  return cost / kMillion;
}
