//===- GeminiTest.cpp - Google's generateContent --------------------------===//
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

const Wire &wire = kGeminiWire;

TEST(Gemini, TheModelIsInThePath) {
  ModelOptions o = options();
  EXPECT_EQ(wire.path(o), "/v1beta/models/m:generateContent");
  o.apiVersion = "v1";
  o.model = "a b?key=c";
  EXPECT_EQ(wire.path(o), "/v1/models/a%20b%3Fkey%3Dc:generateContent");
  o.model = "tunedModels/x";
  EXPECT_EQ(wire.path(o), "/v1/tunedModels/x:generateContent");
}

TEST(Gemini, ARequestSaysNoMoreThanItMust) {
  EXPECT_EQ(bodyOf(wire, prompt(), options()),
            R"({"systemInstruction":{"parts":[{"text":"S"}]},)"
            R"("contents":[{"role":"user","parts":[{"text":"U"}]}]})");
}

TEST(Gemini, WhatIsConfiguredIsSent) {
  Prompt p = prompt();
  p.system.clear();
  p.schema = kSchema.str();
  p.maxOutputTokens = 8000;
  ModelOptions o = options();
  o.effort = "low";
  o.temperature = 0.5;
  o.topP = 0.25;
  o.seed = 7;
  EXPECT_EQ(bodyOf(wire, p, o),
            R"({"contents":[{"role":"user","parts":[{"text":"U"}]}],)"
            R"("generationConfig":{"maxOutputTokens":8000,)"
            R"("thinkingConfig":{"thinkingLevel":"low"},"temperature":0.5,)"
            R"("topP":0.25,"seed":7,"responseMimeType":"application/json",)"
            R"("responseJsonSchema":)" +
                kSchema.str() + "}}");
  o.effort = "2048";
  EXPECT_THAT(bodyOf(wire, p, o), HasSubstr("{\"thinkingBudget\":2048}"));
}

TEST(Gemini, AReplyWithoutItsThoughts) {
  Reply reply = replyOf(wire, R"({"candidates":[{"content":{"parts":[
    {"text":"hm","thought":true},{"text":"a"},{"text":"b","thought":false}]},
    "finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,
    "candidatesTokenCount":5,"thoughtsTokenCount":7,
    "cachedContentTokenCount":4,"totalTokenCount":22}})");
  EXPECT_EQ(reply.status, ReplyStatus::Complete);
  EXPECT_EQ(reply.text, "ab");
  EXPECT_EQ(reply.usage.inputTokens, 10);
  EXPECT_EQ(reply.usage.cachedTokens, 4);
  EXPECT_EQ(reply.usage.outputTokens, 12);
  EXPECT_EQ(reply.usage.reasoningTokens, 7);
}

TEST(Gemini, Endings) {
  auto ending = [](const char *reason) {
    return replyOf(wire, std::string(R"({"candidates":[{"content":{"parts":[
      {"text":"T"}]},"finishReason":")") +
                             reason + "\"}]}")
        .status;
  };
  EXPECT_EQ(ending("MAX_TOKENS"), ReplyStatus::Truncated);
  EXPECT_EQ(ending("SAFETY"), ReplyStatus::Refused);
  EXPECT_EQ(ending("RECITATION"), ReplyStatus::Refused);
  Reply reply = replyOf(wire, R"({"promptFeedback":{"blockReason":"SAFETY"}})");
  EXPECT_EQ(reply.status, ReplyStatus::Refused);
  EXPECT_THAT(reply.problem, HasSubstr("SAFETY"));
  reply = replyOf(wire, R"({"candidates":[{"finishReason":"OTHER"}]})");
  EXPECT_EQ(reply.failure, ModelFailure::Malformed);
  EXPECT_THAT(reply.problem, HasSubstr("OTHER"));
}

TEST(Gemini, Errors) {
  auto error = [](int code, const char *status, const char *details) {
    return replyOf(wire,
                   "{\"error\":{\"code\":" + std::to_string(code) +
                       ",\"message\":\"M\",\"status\":\"" + status +
                       "\",\"details\":" + details + "}}",
                   code)
        .failure;
  };
  EXPECT_EQ(error(429, "RESOURCE_EXHAUSTED", "[]"), ModelFailure::RateLimited);
  EXPECT_EQ(error(429, "RESOURCE_EXHAUSTED",
                  R"([{"violations":[{"quotaId":"RequestsPerMinute"}]}])"),
            ModelFailure::RateLimited);
  EXPECT_EQ(
      error(429, "RESOURCE_EXHAUSTED",
            R"([{"violations":[{"quotaId":"GenerateRequestsPerDay-Free"}]}])"),
      ModelFailure::Quota);
  EXPECT_EQ(error(400, "INVALID_ARGUMENT", R"([{"reason":"API_KEY_INVALID"}])"),
            ModelFailure::Auth);
  EXPECT_EQ(error(400, "INVALID_ARGUMENT", "[]"), ModelFailure::BadRequest);
  EXPECT_EQ(error(403, "PERMISSION_DENIED", "[]"), ModelFailure::Auth);
  EXPECT_EQ(error(503, "UNAVAILABLE", "[]"), ModelFailure::Overloaded);
  EXPECT_EQ(error(504, "DEADLINE_EXCEEDED", "[]"), ModelFailure::Overloaded);
}

TEST(Gemini, NonsenseIsMalformed) {
  for (const std::string &body : nonsense()) {
    Reply reply = replyOf(wire, body);
    EXPECT_EQ(reply.failure, ModelFailure::Malformed) << body;
    EXPECT_FALSE(reply.problem.empty()) << body;
  }
}

} // namespace
