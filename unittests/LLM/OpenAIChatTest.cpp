//===- OpenAIChatTest.cpp - OpenAI's Chat Completions ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WireTest.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

const Wire &wire = kOpenAIChatWire;

TEST(OpenAIChat, ARequestSaysNoMoreThanItMust) {
  EXPECT_EQ(wire.path(options()), "/chat/completions");
  EXPECT_EQ(bodyOf(wire, prompt(), options()),
            R"({"model":"m","messages":[{"role":"system","content":"S"},)"
            R"({"role":"user","content":"U"}]})");
}

TEST(OpenAIChat, WhatIsConfiguredIsSent) {
  Prompt p = prompt();
  p.system.clear();
  p.schema = kSchema.str();
  ModelOptions o = options();
  o.maxOutputTokens = 8000;
  o.effort = "high";
  o.temperature = 0.5;
  o.topP = 0.25;
  o.seed = 7;
  EXPECT_EQ(bodyOf(wire, p, o),
            R"({"model":"m","messages":[{"role":"user","content":"U"}],)"
            R"("max_completion_tokens":8000,"reasoning_effort":"high",)"
            R"("temperature":0.5,"top_p":0.25,"seed":7,)"
            R"("response_format":{"type":"json_schema","json_schema":)"
            R"({"name":"ideas","strict":true,"schema":)" +
                kSchema.str() + "}}}");
}

TEST(OpenAIChat, TheLowerLimitCounts) {
  Prompt p = prompt();
  ModelOptions o = options();
  o.limitField = "max_tokens";
  p.maxOutputTokens = 100;
  EXPECT_THAT(bodyOf(wire, p, o), HasSubstr("\"max_tokens\":100"));
  o.maxOutputTokens = 50;
  EXPECT_THAT(bodyOf(wire, p, o), HasSubstr("\"max_tokens\":50"));
  o.maxOutputTokens = 500;
  EXPECT_THAT(bodyOf(wire, p, o), HasSubstr("\"max_tokens\":100"));
}

TEST(OpenAIChat, ASchemaMayGoAsText) {
  Prompt p = prompt();
  p.schema = kSchema.str();
  ModelOptions o = options();
  o.sendSchema = false;
  Json body = wire.makeBody(p, o);
  EXPECT_TRUE(field(body, "response_format").is_null());
  llvm::StringRef text =
      textOf(field(element(field(body, "messages"), 1), "content"));
  EXPECT_TRUE(text.starts_with("U\n\nAnswer with one JSON object"))
      << text.str();
  EXPECT_TRUE(text.contains(kSchema));
}

TEST(OpenAIChat, BytesThatAreNoTextAreReplaced) {
  Prompt p = prompt();
  p.user = "a\xff\xc0z";
  std::string body = bodyOf(wire, p, options());
  EXPECT_TRUE(llvm::json::isUTF8(body));
  EXPECT_THAT(body, HasSubstr("a\xef\xbf\xbd"));
}

TEST(OpenAIChat, AReply) {
  WireReply read = wire.readReply(
      response(200, R"({"choices":[{"message":{"content":"T","refusal":null},
        "finish_reason":"stop"}],"usage":{"prompt_tokens":10,
        "completion_tokens":5,"total_tokens":15,
        "prompt_tokens_details":{"cached_tokens":4},
        "completion_tokens_details":{"reasoning_tokens":3}}})"),
      0);
  EXPECT_EQ(read.reply.status, ReplyStatus::Complete);
  EXPECT_EQ(read.reply.text, "T");
  EXPECT_EQ(read.reply.usage.inputTokens, 10);
  EXPECT_EQ(read.reply.usage.cachedTokens, 4);
  EXPECT_EQ(read.reply.usage.outputTokens, 5);
  EXPECT_EQ(read.reply.usage.reasoningTokens, 3);
  EXPECT_FALSE(read.reply.usage.usd);
}

TEST(OpenAIChat, ContentInParts) {
  EXPECT_EQ(replyOf(wire, R"({"choices":[{"message":{"content":[
    {"type":"text","text":"a"},{"type":"thinking"},{"type":"text","text":"b"}]}}]})")
                .text,
            "ab");
}

TEST(OpenAIChat, TheProvidersOwnWordOfTheCost) {
  Reply reply = replyOf(wire, R"({"choices":[{"message":{"content":"T"}}],
    "usage":{"prompt_tokens":1,"cost":0.0125}})");
  EXPECT_EQ(reply.usage.usd, 0.0125);
}

TEST(OpenAIChat, TruncatedIsNotMalformed) {
  Reply reply = replyOf(wire, R"({"choices":[{"message":{"content":"T"},
    "finish_reason":"length"}]})");
  EXPECT_EQ(reply.status, ReplyStatus::Truncated);
  EXPECT_EQ(reply.text, "T");
  // The reasoning took it all.
  reply = replyOf(wire, R"({"choices":[{"message":{"content":null},
    "finish_reason":"length"}]})");
  EXPECT_EQ(reply.status, ReplyStatus::Truncated);
  EXPECT_EQ(reply.text, "");
}

TEST(OpenAIChat, Refusals) {
  Reply reply = replyOf(wire, R"({"choices":[{"message":{"content":null,
    "refusal":"I will\n not."},"finish_reason":"stop"}]})");
  EXPECT_EQ(reply.status, ReplyStatus::Refused);
  EXPECT_EQ(reply.failure, ModelFailure::None);
  EXPECT_THAT(reply.problem, HasSubstr("I will not."));
  reply = replyOf(wire, R"({"choices":[{"message":{"content":"half"},
    "finish_reason":"content_filter"}]})");
  EXPECT_EQ(reply.status, ReplyStatus::Refused);
}

TEST(OpenAIChat, AnErrorInAGoodResponse) {
  Reply reply =
      replyOf(wire, R"({"error":{"code":502,"message":"The model is down"}})");
  EXPECT_EQ(reply.failure, ModelFailure::Overloaded);
  reply = replyOf(wire, R"({"error":{"code":402,"message":"No credit"}})");
  EXPECT_EQ(reply.failure, ModelFailure::Quota);
  // Within the choice, with half an answer.
  reply = replyOf(wire, R"({"choices":[{"message":{"content":"half"},
    "error":{"code":429,"message":"Slow down"},"finish_reason":"error"}]})");
  EXPECT_EQ(reply.failure, ModelFailure::RateLimited);
  EXPECT_THAT(reply.problem, HasSubstr("Slow down"));
}

TEST(OpenAIChat, NonsenseIsMalformed) {
  for (const std::string &body : nonsense()) {
    Reply reply = replyOf(wire, body);
    EXPECT_EQ(reply.status, ReplyStatus::Failed) << body;
    EXPECT_EQ(reply.failure, ModelFailure::Malformed) << body;
    EXPECT_FALSE(reply.problem.empty()) << body;
  }
}

TEST(OpenAIChat, CountsOfAnyKind) {
  auto input = [](const char *count) {
    return replyOf(wire,
                   std::string(R"({"choices":[{"message":{"content":"T"}}],
      "usage":{"prompt_tokens":)") +
                       count + "}}")
        .usage.inputTokens;
  };
  EXPECT_EQ(input("7"), 7);
  EXPECT_EQ(input("7.0"), 7);
  EXPECT_EQ(input("\"7\""), 7);
  EXPECT_EQ(input("-7"), 0);
  EXPECT_EQ(input("null"), 0);
  EXPECT_EQ(input("1e300"), int64_t(1e15));
}

} // namespace
