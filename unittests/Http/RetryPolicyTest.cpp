//===- RetryPolicyTest.cpp - When to ask again ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Http/RetryPolicy.h"
#include "gtest/gtest.h"

using namespace fastk;

namespace {

// Tue, 21 Sep 2026 13:33:20 GMT.
constexpr time_t kToday = 1789997600;

HttpResult with(std::vector<std::pair<std::string, std::string>> headers,
                std::string body = "") {
  HttpResult result;
  result.status = 429;
  result.headers = std::move(headers);
  result.body = std::move(body);
  return result;
}

TEST(RetryPolicy, BackOffDoublesUpToItsLimit) {
  RetryPolicy policy;
  policy.firstWait = 2;
  policy.longestWait = 20;
  EXPECT_EQ(backOff(policy, 1, 0), 2);
  EXPECT_EQ(backOff(policy, 2, 0), 4);
  EXPECT_EQ(backOff(policy, 4, 0), 16);
  EXPECT_EQ(backOff(policy, 5, 0), 20);
  EXPECT_EQ(backOff(policy, 5000, 0), 20);
}

TEST(RetryPolicy, JitterTakesAwayUpToAQuarter) {
  RetryPolicy policy;
  EXPECT_EQ(backOff(policy, 1, 0.5), policy.firstWait * 0.875);
  EXPECT_EQ(backOff(policy, 1, 1), policy.firstWait * 0.75);
}

TEST(RetryPolicy, TheProvidersWaitInSeconds) {
  EXPECT_EQ(requestedWait(with({{"retry-after", "7"}}), kToday), 7.0);
  EXPECT_EQ(requestedWait(with({{"retry-after", "1.5"}}), kToday), 1.5);
  EXPECT_EQ(requestedWait(with({{"retry-after", "0"}}), kToday), 0.0);
}

TEST(RetryPolicy, MillisecondsCountFirst) {
  EXPECT_EQ(
      requestedWait(with({{"retry-after", "7"}, {"retry-after-ms", "250"}}),
                    kToday),
      0.25);
}

TEST(RetryPolicy, TheProvidersWaitAsADate) {
  // By the provider's own clock where it shows it, for ours may be off.
  EXPECT_EQ(
      requestedWait(with({{"retry-after", "Mon, 21 Sep 2026 10:00:09 GMT"},
                          {"date", "Mon, 21 Sep 2026 10:00:00 GMT"}}),
                    kToday),
      9.0);
  time_t today = 1789984800; // Mon, 21 Sep 2026 10:00:00 GMT
  EXPECT_EQ(
      requestedWait(with({{"retry-after", "Mon, 21 Sep 2026 10:00:09 GMT"}}),
                    today),
      9.0);
  // What is over is no wait.
  EXPECT_EQ(
      requestedWait(with({{"retry-after", "Mon, 21 Sep 2020 10:00:09 GMT"}}),
                    kToday),
      0.0);
}

TEST(RetryPolicy, GooglesWaitIsInTheBody) {
  auto body = [](const char *delay) {
    return std::string(R"({"error":{"code":429,"details":[{"reason":"x"},
      {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":")") +
           delay + "\"}]}}";
  };
  EXPECT_EQ(requestedWait(with({}, body("38s")), kToday), 38.0);
  EXPECT_EQ(requestedWait(with({}, body("1.25s")), kToday), 1.25);
  EXPECT_EQ(requestedWait(with({}, "[" + body("3s") + "]"), kToday), 3.0);
  EXPECT_FALSE(requestedWait(with({}, body("soon")), kToday));
}

TEST(RetryPolicy, NonsenseIsNoWait) {
  for (const char *text : {"-1", "soon", "nan", "inf", "1e999", ""})
    EXPECT_FALSE(requestedWait(with({{"retry-after", text}}), kToday)) << text;
  for (const char *body : {"", "[]", "{", "{\"error\":3}", "{\"error\":{}}",
                           "{\"error\":{\"details\":{}}}", "[[]]", "null",
                           "{\"error\":{\"details\":[3,{\"retryDelay\":4}]}}"})
    EXPECT_FALSE(requestedWait(with({}, body), kToday)) << body;
}

TEST(RetryPolicy, TheProviderMayDecide) {
  EXPECT_EQ(shouldRetry(with({{"x-should-retry", "true"}})), true);
  EXPECT_EQ(shouldRetry(with({{"x-should-retry", "false"}})), false);
  EXPECT_FALSE(shouldRetry(with({{"x-should-retry", "maybe"}})));
  EXPECT_FALSE(shouldRetry(with({})));
}

} // namespace
