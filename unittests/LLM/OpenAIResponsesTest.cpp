//===- OpenAIResponsesTest.cpp - OpenAI's Responses -----------------------===//
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

const Wire &wire = kOpenAIResponsesWire;

TEST(OpenAIResponses, ARequestSaysNoMoreThanItMust) {
  EXPECT_EQ(wire.path(options()), "/responses");
  EXPECT_EQ(bodyOf(wire, prompt(), options()),
            R"({"model":"m","instructions":"S","input":"U","store":false})");
}

TEST(OpenAIResponses, WhatIsConfiguredIsSent) {
  Prompt p = prompt();
  p.schema = kSchema.str();
  p.maxOutputTokens = 8000;
  ModelOptions o = options();
  o.effort = "low";
  o.temperature = 0;
  o.topP = 1;
  EXPECT_EQ(bodyOf(wire, p, o),
            R"({"model":"m","instructions":"S","input":"U",)"
            R"("max_output_tokens":8000,"reasoning":{"effort":"low"},)"
            R"("temperature":0.0,"top_p":1.0,)"
            R"("text":{"format":{"type":"json_schema","name":"ideas",)"
            R"("strict":true,"schema":)" +
                kSchema.str() + R"(}},"store":false})");
}

TEST(OpenAIResponses, AReply) {
  Reply reply = replyOf(wire, R"({"status":"completed","error":null,
    "incomplete_details":null,"output":[
     {"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]},
     {"type":"message","content":[{"type":"output_text","text":"a"},
                                  {"type":"output_text","text":"b"}]}],
    "usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},
     "output_tokens":5,"output_tokens_details":{"reasoning_tokens":3}}})");
  EXPECT_EQ(reply.status, ReplyStatus::Complete);
  EXPECT_EQ(reply.text, "ab");
  EXPECT_EQ(reply.usage.inputTokens, 10);
  EXPECT_EQ(reply.usage.cachedTokens, 4);
  EXPECT_EQ(reply.usage.outputTokens, 5);
  EXPECT_EQ(reply.usage.reasoningTokens, 3);
}

// As llama.cpp sends it, most required fields left out.
TEST(OpenAIResponses, AShortReply) {
  EXPECT_EQ(replyOf(wire, R"({"output":[{"type":"message","content":[
    {"type":"output_text","text":"T"}]}]})")
                .text,
            "T");
}

TEST(OpenAIResponses, Truncated) {
  Reply reply = replyOf(wire, R"({"status":"incomplete",
    "incomplete_details":{"reason":"max_output_tokens"},
    "output":[{"type":"message","content":[{"type":"output_text","text":"T"}]}],
    "usage":{"output_tokens":5}})");
  EXPECT_EQ(reply.status, ReplyStatus::Truncated);
  EXPECT_EQ(reply.text, "T");
  EXPECT_EQ(reply.usage.outputTokens, 5);
}

// Some servers call a reply complete that the limit has cut.
TEST(OpenAIResponses, AsLongAsTheLimitIsTruncated) {
  const char *body = R"({"status":"completed","output":[{"type":"message",
    "content":[{"type":"output_text","text":"T"}]}],
    "usage":{"output_tokens":64}})";
  EXPECT_EQ(replyOf(wire, body, 200, 64).status, ReplyStatus::Truncated);
  EXPECT_EQ(replyOf(wire, body, 200, 65).status, ReplyStatus::Complete);
  EXPECT_EQ(replyOf(wire, body, 200, 0).status, ReplyStatus::Complete);
}

TEST(OpenAIResponses, Refusals) {
  Reply reply = replyOf(wire, R"({"status":"completed","output":[
    {"type":"message","content":[{"type":"refusal","refusal":"No."}]}],
    "usage":{"output_tokens":2}})");
  EXPECT_EQ(reply.status, ReplyStatus::Refused);
  EXPECT_THAT(reply.problem, HasSubstr("No."));
  EXPECT_EQ(reply.usage.outputTokens, 2);
  reply = replyOf(wire, R"({"status":"incomplete","output":[],
    "incomplete_details":{"reason":"content_filter"}})");
  EXPECT_EQ(reply.status, ReplyStatus::Refused);
}

TEST(OpenAIResponses, AFailedResponse) {
  auto failure = [](const char *code) {
    return replyOf(wire, std::string(R"({"status":"failed","output":[],
      "error":{"code":")") + code +
                             R"(","message":"M"}})");
  };
  EXPECT_EQ(failure("server_error").failure, ModelFailure::Overloaded);
  EXPECT_EQ(failure("rate_limit_exceeded").failure, ModelFailure::RateLimited);
  EXPECT_EQ(failure("invalid_prompt").status, ReplyStatus::Refused);
  EXPECT_EQ(replyOf(wire, R"({"status":"failed"})").failure,
            ModelFailure::Overloaded);
}

TEST(OpenAIResponses, NonsenseIsMalformed) {
  for (const std::string &body : nonsense()) {
    Reply reply = replyOf(wire, body);
    EXPECT_EQ(reply.status, ReplyStatus::Failed) << body;
    EXPECT_FALSE(reply.problem.empty()) << body;
  }
}

} // namespace
