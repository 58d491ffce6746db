//===- PricesTest.cpp - What tokens cost ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Providers/Prices.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"

using namespace fastk;
using testing::HasSubstr;

namespace {

constexpr llvm::StringLiteral kTable = R"({
  // Made up.
  "format": 1, "date": "2026-11-21",
  "models": {"openai:a": {"input": 2, "cached_input": 0.5, "output": 8},
             "anthropic:b": {"input": 3, "cached_input": 0.25,
                             "cache_write": 4, "output": 15},
             "gemini:c": {"input": 1, "output": 10}}})";

Price priceOf(llvm::StringRef model) {
  auto price = findPrice(kTable, "table", model);
  if (price && *price)
    return **price;
  ADD_FAILURE() << "no price of " << model.str();
  return {};
}

Usage usage(int64_t input, int64_t cached, int64_t output) {
  Usage result;
  result.inputTokens = input;
  result.cachedTokens = cached;
  result.outputTokens = output;
  // Part of the output: counted once.
  result.reasoningTokens = output / 2;
  return result;
}

TEST(Prices, CachedInputCostsLess) {
  EXPECT_DOUBLE_EQ(
      costOf(priceOf("openai:a"), usage(1'000'000, 600'000, 100'000), 0),
      0.4 * 2 + 0.6 * 0.5 + 0.1 * 8);
}

TEST(Prices, WritingToACacheHasItsPrice) {
  EXPECT_DOUBLE_EQ(
      costOf(priceOf("anthropic:b"), usage(1'000'000, 200'000, 0), 300'000),
      0.5 * 3 + 0.2 * 0.25 + 0.3 * 4);
}

TEST(Prices, WithoutAPriceCachedInputCostsAsInput) {
  EXPECT_DOUBLE_EQ(
      costOf(priceOf("gemini:c"), usage(1'000'000, 600'000, 0), 100'000), 1);
}

TEST(Prices, NonsenseFromAServerIsNoCredit) {
  EXPECT_GE(costOf(priceOf("openai:a"), usage(10, 1000, 0), 0), 0);
}

TEST(Prices, UnknownModelsHaveNone) {
  auto price = findPrice(kTable, "table", "openai:b");
  ASSERT_TRUE(static_cast<bool>(price));
  EXPECT_FALSE(*price);
}

TEST(Prices, ErrorsNameThePlace) {
  for (auto [text, problem] : {
           std::pair{"", "table: is no JSON object"},
           {"[]", "table: is no JSON object"},
           {"{\"models\":{}}", "\"format\": 1"},
           {"{\"format\":2,\"models\":{}}", "\"format\": 1"},
           {"{\"format\":1}", "no object \"models\""},
           {R"({"format":1,"models":{"a:b":3}})", "table: a:b: must be"},
           {R"({"format":1,"models":{"a:b":{"input":1}}})",
            "table: a:b: output must be a number"},
           {R"({"format":1,"models":{"a:b":{"input":-1,"output":1}}})",
            "input must be a number"},
           {R"({"format":1,"models":{"a:b":{"input":1,"output":"1"}}})",
            "output must be a number"},
           {R"({"format":1,"models":{"a:b":{"input":1,"output":1,"x":1}}})",
            "unknown field 'x'"},
       }) {
    auto price = findPrice(text, "table", "openai:m");
    ASSERT_FALSE(static_cast<bool>(price)) << text;
    EXPECT_THAT(llvm::toString(price.takeError()), HasSubstr(problem)) << text;
  }
}

// It states no prices, for these change; but it is a table.
TEST(Prices, TheExampleIsATable) {
  auto buffer = llvm::MemoryBuffer::getFile(FASTK_SOURCE_DIR
                                            "/docs/examples/prices.json");
  ASSERT_TRUE(static_cast<bool>(buffer));
  auto price = findPrice((*buffer)->getBuffer(), "example", "openai:m");
  ASSERT_TRUE(static_cast<bool>(price)) << llvm::toString(price.takeError());
  EXPECT_FALSE(*price);
}

} // namespace
