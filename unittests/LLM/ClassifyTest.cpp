//===- ClassifyTest.cpp - What an error of a provider means ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Providers/Classify.h"
#include "WireTest.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

/// Of a response that is an error by OpenAI's form.
Reply openai(int status, const std::string &code,
             const std::string &message = "M") {
  return replyOf(kOpenAIChatWire,
                 R"({"error":{"message":")" + message +
                     R"(","type":"invalid_request_error","code":")" + code +
                     "\"}}",
                 status);
}

TEST(Classify, ByStatus) {
  std::pair<int, ModelFailure> cases[] = {
      {400, ModelFailure::BadRequest},     {401, ModelFailure::Auth},
      {402, ModelFailure::Quota},          {403, ModelFailure::Auth},
      {404, ModelFailure::BadRequest},     {405, ModelFailure::BadRequest},
      {408, ModelFailure::Timeout},        {409, ModelFailure::Overloaded},
      {413, ModelFailure::ContextTooLong}, {422, ModelFailure::BadRequest},
      {429, ModelFailure::RateLimited},    {500, ModelFailure::Overloaded},
      {502, ModelFailure::Overloaded},     {503, ModelFailure::Overloaded},
      {504, ModelFailure::Overloaded},     {522, ModelFailure::Overloaded},
      {529, ModelFailure::Overloaded}};
  for (auto [status, failure] : cases)
    for (const char *body :
         {"", "{}", "<html>no</html>", "{\"error\":\"no\"}", "{\"error\":{}}",
          "{\"detail\":\"no\"}", "{\"detail\":[{\"loc\":[]}]}", "[]", "null"}) {
      Reply reply = replyOf(kOpenAIChatWire, body, status);
      EXPECT_EQ(reply.status, ReplyStatus::Failed) << status << body;
      EXPECT_EQ(reply.failure, failure) << status << body;
      EXPECT_THAT(reply.problem,
                  HasSubstr("HTTP status " + std::to_string(status)));
    }
}

TEST(Classify, CreditAndRateShareAStatus) {
  EXPECT_EQ(openai(429, "rate_limit_exceeded").failure,
            ModelFailure::RateLimited);
  EXPECT_EQ(openai(429, "insufficient_quota").failure, ModelFailure::Quota);
  EXPECT_EQ(openai(429, "billing_hard_limit_reached").failure,
            ModelFailure::Quota);
}

TEST(Classify, AWaitMakesCreditARate) {
  HttpResult result = response(402, R"({"error":{"code":402,"message":"M"}})");
  EXPECT_EQ(kOpenAIChatWire.readReply(result, 0).reply.failure,
            ModelFailure::Quota);
  result.headers.emplace_back("retry-after", "3");
  EXPECT_EQ(kOpenAIChatWire.readReply(result, 0).reply.failure,
            ModelFailure::RateLimited);
}

TEST(Classify, AnOverlongPromptIsNoFaultOfTheOptions) {
  EXPECT_EQ(openai(400, "context_length_exceeded").failure,
            ModelFailure::ContextTooLong);
  for (const char *message :
       {"This model's maximum context length is 8192 tokens",
        "the request exceeds the available context size",
        "prompt is too long: 1 tokens > 0 maximum",
        "The input token count (9) exceeds the maximum number of tokens"})
    EXPECT_EQ(openai(400, "", message).failure, ModelFailure::ContextTooLong)
        << message;
  // As llama.cpp says it.
  EXPECT_EQ(replyOf(kOpenAIChatWire,
                    R"({"error":{"code":400,"message":"request is too large",
                    "type":"exceed_context_size_error","n_ctx":2048}})",
                    400)
                .failure,
            ModelFailure::ContextTooLong);
}

TEST(Classify, ContentIsRefusedNotFailed) {
  EXPECT_EQ(openai(400, "content_policy_violation").status,
            ReplyStatus::Refused);
  Reply reply = replyOf(kOpenAIChatWire,
                        R"({"error":{"code":403,"message":"flagged",
    "metadata":{"flagged_input":"x","reasons":["y"]}}})",
                        403);
  EXPECT_EQ(reply.status, ReplyStatus::Refused);
}

TEST(Classify, ASchemaThatIsNotTakenHasARemedy) {
  Reply reply = openai(400, "", "This response_format type is unavailable");
  EXPECT_EQ(reply.failure, ModelFailure::BadRequest);
  EXPECT_THAT(reply.problem, HasSubstr("?schema=off"));
}

TEST(Classify, RedirectsAreNamedNotFollowed) {
  HttpResult result = response(307, "");
  result.headers.emplace_back("location", "https://b.example/v1?token=abc");
  Reply reply = kOpenAIChatWire.readReply(result, 0).reply;
  EXPECT_EQ(reply.failure, ModelFailure::BadRequest);
  EXPECT_THAT(reply.problem, HasSubstr("'https://b.example/v1'"));
}

TEST(Classify, TransportFailures) {
  auto failure = [](TransportFailure what) {
    HttpResult result;
    result.failure = what;
    result.problem = "because";
    return kGeminiWire.readReply(result, 0).reply;
  };
  EXPECT_EQ(failure(TransportFailure::Network).failure, ModelFailure::Network);
  EXPECT_EQ(failure(TransportFailure::Timeout).failure, ModelFailure::Timeout);
  EXPECT_EQ(failure(TransportFailure::TooLarge).failure,
            ModelFailure::Malformed);
  EXPECT_EQ(failure(TransportFailure::Setup).failure, ModelFailure::BadRequest);
  Reply reply = failure(TransportFailure::Certificate);
  EXPECT_TRUE(isFatal(reply.failure));
  EXPECT_THAT(reply.problem, HasSubstr("SSL_CERT_FILE"));
}

TEST(Classify, MessagesAreOneCleanLine) {
  EXPECT_EQ(oneLine("  a\r\n\tb  c\x1b[31m\x07 "), "a b c [31m");
  EXPECT_EQ(oneLine("a\xc2\x9b"
                    "31m"),
            "a31m");
  EXPECT_EQ(oneLine(std::string(600, 'x')), std::string(500, 'x') + "...");
  EXPECT_TRUE(llvm::json::isUTF8(oneLine("\xff\xc3", 10)));
  // A character is not cut in two.
  EXPECT_TRUE(llvm::json::isUTF8(oneLine("xxxx\xc3\xa4xx", 5)));
}

} // namespace
