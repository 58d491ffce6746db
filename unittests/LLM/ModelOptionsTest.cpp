//===- ModelOptionsTest.cpp - Which model, and how to ask it --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/ModelOptions.h"
#include "gmock/gmock.h"

using namespace fastk;
using testing::HasSubstr;

namespace {

ModelOptions parsed(llvm::StringRef text) {
  llvm::Expected<ModelOptions> options = parseModelOptions(text);
  if (options)
    return *options;
  ADD_FAILURE() << llvm::toString(options.takeError());
  return {};
}

std::string failure(llvm::StringRef text) {
  llvm::Expected<ModelOptions> options = parseModelOptions(text);
  return options ? "" : llvm::toString(options.takeError());
}

TEST(ModelOptions, ProviderAndModel) {
  ModelOptions options = parsed("openai:gpt-5");
  EXPECT_EQ(options.provider, "openai");
  EXPECT_EQ(options.model, "gpt-5");
  EXPECT_EQ(options.maxOutputTokens, 0);
  EXPECT_FALSE(options.temperature || options.topP || options.seed);
  EXPECT_TRUE(options.effort.empty());
  // Colons and slashes belong to names.
  EXPECT_EQ(parsed("ollama:qwen3:8b").model, "qwen3:8b");
  EXPECT_EQ(parsed("openrouter:a/b:free").model, "a/b:free");
}

TEST(ModelOptions, AllOptions) {
  ModelOptions options =
      parsed("openai-chat:m?effort=high&max_tokens=32000&temperature=0.5&"
             "top_p=0.9&seed=-7&schema=off&limit_field=max_tokens&"
             "body={\"top_k\":4,\"a\":\"b%26c\"}&api_version=v1&"
             "base_url=http://localhost:8000/v1&key_env=MY_KEY&auth=bearer&"
             "timeout=1.5&concurrency=3&attempts=2&prices=p.json");
  EXPECT_EQ(options.effort, "high");
  EXPECT_EQ(options.maxOutputTokens, 32000);
  EXPECT_EQ(options.temperature, 0.5);
  EXPECT_EQ(options.topP, 0.9);
  EXPECT_EQ(options.seed, -7);
  EXPECT_FALSE(options.sendSchema);
  EXPECT_EQ(options.limitField, "max_tokens");
  EXPECT_EQ(options.extraBody, "{\"top_k\":4,\"a\":\"b&c\"}");
  EXPECT_EQ(options.apiVersion, "v1");
  EXPECT_EQ(options.baseUrl, "http://localhost:8000/v1");
  EXPECT_EQ(options.keyVariable, "MY_KEY");
  EXPECT_EQ(options.keyStyle, "bearer");
  EXPECT_EQ(options.timeoutSeconds, 1.5);
  EXPECT_EQ(options.concurrency, 3);
  EXPECT_EQ(options.attempts, 2);
  EXPECT_EQ(options.priceTable, "p.json");
}

TEST(ModelOptions, TheNameHoldsWhatDecidesTheAnswer) {
  EXPECT_EQ(nameOf(parsed("openai:gpt-5")), "openai:gpt-5");
  EXPECT_EQ(nameOf(parsed("openai:gpt-5?timeout=9&key_env=-&concurrency=2")),
            "openai:gpt-5");
  // In an order of its own, and it reads as the same options.
  std::string name = nameOf(parsed(
      "gemini:m?seed=3&body={\"a\":\"%26\"}&effort=low&schema=off&top_p=0.1"));
  EXPECT_EQ(name, "gemini:m?effort=low&top_p=0.1&seed=3&schema=off&"
                  "body={\"a\":\"%26\"}");
  EXPECT_EQ(nameOf(parsed(name)), name);
}

TEST(ModelOptions, Providers) {
  for (const char *name :
       {"openai", "openai-chat", "anthropic", "gemini", "openrouter", "ollama"})
    EXPECT_TRUE(isModelProvider(name)) << name;
  EXPECT_FALSE(isModelProvider("catalog"));
  EXPECT_FALSE(isModelProvider(""));
}

TEST(ModelOptions, Errors) {
  EXPECT_THAT(failure("gpt-5"), HasSubstr("'gpt-5' is no provider of models; "
                                          "there are openai, openai-chat"));
  EXPECT_THAT(failure("openai:"), HasSubstr("followed by a model's name"));
  EXPECT_THAT(failure("openai:a\nb"), HasSubstr("followed by a model's name"));
  EXPECT_THAT(failure("openai:m?color=red"),
              HasSubstr("unknown option 'color'; there are effort"));
  for (const char *text :
       {"max_tokens=0", "max_tokens=1.5", "max_tokens=many", "temperature=3",
        "temperature=nan", "top_p=-1", "seed=1.5", "schema=maybe", "body=[]",
        "body={", "key_env=sk-abc", "auth=basic", "timeout=0", "timeout=-1",
        "concurrency=0", "concurrency=257", "attempts=0",
        "effort=", "effort=a%0ab"})
    EXPECT_THAT(failure(std::string("openai:m?") + text), HasSubstr("must be"))
        << text;
  EXPECT_THAT(failure("openai:m?effort=%zz"), HasSubstr("write %25"));
  EXPECT_THAT(failure("openai:m?effort=%a"), HasSubstr("write %25"));
}

// A key in the place of its variable's name is not repeated.
TEST(ModelOptions, AMisplacedKeyIsNotShown) {
  EXPECT_THAT(failure("openai:m?key_env=sk-verysecret"),
              testing::Not(HasSubstr("verysecret")));
}

} // namespace
