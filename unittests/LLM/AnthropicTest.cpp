//===- AnthropicTest.cpp - Anthropic's Messages ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WireTest.h"

using namespace fastk;
using namespace fastk::test;

namespace {

const Wire &wire = kAnthropicWire;

TEST(Anthropic, ARequestHasALimitAndMarksWhatIsShared) {
  EXPECT_EQ(wire.path(options()), "/v1/messages");
  EXPECT_EQ(bodyOf(wire, prompt(), options()),
            R"({"model":"m","max_tokens":16000,"system":[{"type":"text",)"
            R"("text":"S","cache_control":{"type":"ephemeral"}}],)"
            R"("messages":[{"role":"user","content":"U"}]})");
}

TEST(Anthropic, WhatIsConfiguredIsSent) {
  Prompt p = prompt();
  p.system.clear();
  p.schema = kSchema.str();
  p.maxOutputTokens = 8000;
  ModelOptions o = options();
  o.effort = "max";
  o.temperature = 1;
  o.topP = 0.5;
  EXPECT_EQ(bodyOf(wire, p, o),
            R"({"model":"m","max_tokens":8000,)"
            R"("messages":[{"role":"user","content":"U"}],)"
            R"("output_config":{"effort":"max","format":{"type":"json_schema",)"
            R"("schema":)" +
                kSchema.str() + R"(}},"temperature":1.0,"top_p":0.5})");
}

TEST(Anthropic, AReplyAndAllThreeKindsOfInput) {
  WireReply read = wire.readReply(response(200, R"({"type":"message","content":[
        {"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},
        {"type":"text","text":"b"}],"stop_reason":"end_turn",
        "usage":{"input_tokens":10,"cache_creation_input_tokens":20,
        "cache_read_input_tokens":30,"output_tokens":5}})"),
                                  0);
  EXPECT_EQ(read.reply.status, ReplyStatus::Complete);
  EXPECT_EQ(read.reply.text, "ab");
  EXPECT_EQ(read.reply.usage.inputTokens, 60);
  EXPECT_EQ(read.reply.usage.cachedTokens, 30);
  EXPECT_EQ(read.cacheWriteTokens, 20);
  EXPECT_EQ(read.reply.usage.outputTokens, 5);
}

TEST(Anthropic, Endings) {
  auto ending = [](const char *reason) {
    return replyOf(wire, std::string(R"({"content":[{"type":"text","text":"T"}],
      "stop_reason":")") + reason +
                             "\"}")
        .status;
  };
  EXPECT_EQ(ending("end_turn"), ReplyStatus::Complete);
  EXPECT_EQ(ending("stop_sequence"), ReplyStatus::Complete);
  EXPECT_EQ(ending("max_tokens"), ReplyStatus::Truncated);
  EXPECT_EQ(ending("model_context_window_exceeded"), ReplyStatus::Truncated);
  EXPECT_EQ(ending("refusal"), ReplyStatus::Refused);
  EXPECT_EQ(replyOf(wire, R"({"content":[],"stop_reason":"refusal"})").status,
            ReplyStatus::Refused);
}

TEST(Anthropic, ErrorsByTheirType) {
  auto failure = [](int status, const char *type, const char *message = "M") {
    return replyOf(wire,
                   std::string(R"({"type":"error","error":{"type":")") + type +
                       R"(","message":")" + message + R"("}})",
                   status)
        .failure;
  };
  EXPECT_EQ(failure(401, "authentication_error"), ModelFailure::Auth);
  EXPECT_EQ(failure(403, "permission_error"), ModelFailure::Auth);
  EXPECT_EQ(failure(402, "billing_error"), ModelFailure::Quota);
  EXPECT_EQ(failure(404, "not_found_error"), ModelFailure::BadRequest);
  EXPECT_EQ(failure(413, "request_too_large"), ModelFailure::ContextTooLong);
  EXPECT_EQ(failure(429, "rate_limit_error"), ModelFailure::RateLimited);
  EXPECT_EQ(failure(500, "api_error"), ModelFailure::Overloaded);
  EXPECT_EQ(failure(529, "overloaded_error"), ModelFailure::Overloaded);
  EXPECT_EQ(failure(400, "invalid_request_error"), ModelFailure::BadRequest);
  EXPECT_EQ(failure(400, "invalid_request_error",
                    "prompt is too long: 300000 tokens > 200000 maximum"),
            ModelFailure::ContextTooLong);
  EXPECT_EQ(
      failure(400, "invalid_request_error", "Your credit balance is too low"),
      ModelFailure::Quota);
  // After a response of status 200 has begun.
  EXPECT_EQ(failure(200, "overloaded_error"), ModelFailure::Overloaded);
}

TEST(Anthropic, ASpendLimitIsNotWaitedFor) {
  EXPECT_EQ(replyOf(wire, R"({"type":"error","error":{"type":"rate_limit_error",
    "message":"M","details":{"error_code":"enforced_spend_limit_reached"}}})",
                    429)
                .failure,
            ModelFailure::Quota);
}

TEST(Anthropic, NonsenseIsMalformed) {
  for (const std::string &body : nonsense()) {
    Reply reply = replyOf(wire, body);
    EXPECT_EQ(reply.failure, ModelFailure::Malformed) << body;
    EXPECT_FALSE(reply.problem.empty()) << body;
  }
}

} // namespace
