//===- RequestRunnerTest.cpp - Requests, retries and waiting --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Http/RequestRunner.h"
#include "../FakeTime.h"
#include "gmock/gmock.h"
#include <map>

using namespace fastk;
using namespace fastk::test;
using testing::ElementsAre;

namespace {

/// A provider in memory: each request takes a second.
class FakeTransport : public HttpTransport {
public:
  explicit FakeTransport(FakeTime &time) : time(time) {}
  void start(size_t id, const HttpRequest &) override {
    starts.emplace_back(id, time.now);
    running[id] = time.now + seconds;
    most = std::max(most, running.size());
  }
  std::vector<std::pair<size_t, HttpResult>> wait(double limit) override {
    double end = time.now + limit;
    for (auto &[id, at] : running)
      end = std::min(end, at);
    time.now = std::max(time.now, end);
    std::vector<std::pair<size_t, HttpResult>> done;
    for (auto it = running.begin(); it != running.end();) {
      if (it->second > time.now) {
        ++it;
        continue;
      }
      HttpResult result;
      result.status = 200;
      if (!answers[it->first].empty()) {
        result = answers[it->first].front();
        answers[it->first].erase(answers[it->first].begin());
      }
      done.emplace_back(it->first, std::move(result));
      it = running.erase(it);
    }
    return done;
  }
  void cancelAll() override {
    cancelled += running.size();
    running.clear();
  }

  FakeTime &time;
  double seconds = 1;
  std::map<size_t, std::vector<HttpResult>> answers;
  std::map<size_t, double> running;
  std::vector<std::pair<size_t, double>> starts;
  size_t most = 0, cancelled = 0;
};

HttpResult status(int code, const std::string &retryAfter = "") {
  HttpResult result;
  result.status = code;
  if (!retryAfter.empty())
    result.headers.emplace_back("retry-after", retryAfter);
  return result;
}

/// By status, as a model would.
Judgement judge(size_t, HttpResult &result) {
  if (result.failure != TransportFailure::None)
    return Judgement::TryAgain;
  switch (result.status) {
  case 429:
    return Judgement::Busy;
  case 500:
    return Judgement::TryAgain;
  case 299:
    return Judgement::TryOnceMore;
  default:
    return Judgement::Final;
  }
}

class RequestRunnerTest : public testing::Test {
protected:
  void SetUp() override {
    auto owned = std::make_unique<FakeTransport>(time);
    transport = owned.get();
    limit = std::make_shared<ConcurrencyLimit>(4);
    runner = std::make_unique<RequestRunner>(std::move(owned), limit, policy,
                                             time.clock(), /*seed=*/1);
  }
  /// Sends `count` requests; the efforts by index.
  std::map<size_t, RequestEffort> run(size_t count) {
    std::map<size_t, RequestEffort> efforts;
    std::vector<HttpRequest> requests(count);
    llvm::Error error = runner->run(
        requests, judge,
        [&](size_t index, RequestEffort effort) {
          EXPECT_FALSE(efforts.count(index));
          efforts[index] = effort;
          return llvm::Error::success();
        },
        hooks);
    EXPECT_FALSE(static_cast<bool>(error));
    return efforts;
  }
  std::vector<double> startsOf(size_t id) {
    std::vector<double> result;
    for (auto [each, at] : transport->starts)
      if (each == id)
        result.push_back(at - 1000);
    return result;
  }

  FakeTime time;
  RetryPolicy policy;
  FakeTransport *transport;
  std::shared_ptr<ConcurrencyLimit> limit;
  std::unique_ptr<RequestRunner> runner;
  RunnerHooks hooks;
};

TEST_F(RequestRunnerTest, AsManyAtOnceAsTheLimitAllows) {
  auto efforts = run(10);
  EXPECT_EQ(efforts.size(), 10u);
  EXPECT_EQ(transport->most, 4u);
  // Three rounds of a second: 4, 4 (5 from the first success on), 2.
  EXPECT_NEAR(time.now, 1003, 0.01);
  for (auto &[index, effort] : efforts)
    EXPECT_EQ(effort.attempts, 1);
}

TEST_F(RequestRunnerTest, WaitsGrowAndAreJittered) {
  for (int i = 0; i < 5; ++i)
    transport->answers[0].push_back(status(500));
  auto efforts = run(1);
  EXPECT_EQ(efforts[0].attempts, 6);
  std::vector<double> starts = startsOf(0);
  ASSERT_EQ(starts.size(), 6u);
  double expected[] = {2, 4, 8, 16, 32};
  for (int i = 0; i < 5; ++i) {
    double wait = starts[i + 1] - starts[i] - 1;
    EXPECT_GE(wait, expected[i] * 0.75 - 1e-6);
    EXPECT_LE(wait, expected[i] + 1e-6);
  }
  EXPECT_NEAR(efforts[0].seconds, starts.back() + 1, 1e-6);
}

TEST_F(RequestRunnerTest, TheSeedMakesTheWaits) {
  auto sequence = [&](uint64_t seed) {
    time.now = 1000;
    auto owned = std::make_unique<FakeTransport>(time);
    transport = owned.get();
    for (int i = 0; i < 5; ++i)
      owned->answers[0].push_back(status(500));
    runner = std::make_unique<RequestRunner>(std::move(owned), limit, policy,
                                             time.clock(), seed);
    run(1);
    return startsOf(0);
  };
  std::vector<double> first = sequence(7);
  EXPECT_EQ(first, sequence(7));
  EXPECT_NE(first, sequence(8));
}

TEST_F(RequestRunnerTest, GivesUpAfterTheLastAttempt) {
  for (int i = 0; i < 20; ++i)
    transport->answers[0].push_back(status(500));
  auto efforts = run(1);
  EXPECT_EQ(efforts[0].attempts, policy.attempts);
  EXPECT_EQ(transport->starts.size(), 6u);
}

TEST_F(RequestRunnerTest, OddFailuresGetOneMoreTry) {
  for (int i = 0; i < 20; ++i)
    transport->answers[0].push_back(status(299));
  EXPECT_EQ(run(1)[0].attempts, 2);
}

TEST_F(RequestRunnerTest, TheProvidersWaitIsKept) {
  transport->answers[0] = {status(429, "17")};
  run(1);
  EXPECT_THAT(startsOf(0), ElementsAre(0, testing::DoubleNear(18, 0.11)));
  EXPECT_GE(startsOf(0)[1], 18 - 1e-6);
}

TEST_F(RequestRunnerTest, WhoAsksForTooLongAWaitIsLeft) {
  transport->answers[0] = {status(429, "3600")};
  auto efforts = run(1);
  EXPECT_EQ(efforts[0].attempts, 1);
  EXPECT_EQ(efforts[0].refusedWait, 3600);
  EXPECT_NEAR(time.now, 1001, 0.2);
}

TEST_F(RequestRunnerTest, APauseHoldsForAll) {
  transport->answers[0] = {status(429, "30")};
  run(8);
  // Those that were in flight at the refusal are 0 to 3; the others waited.
  for (size_t id = 4; id < 8; ++id)
    EXPECT_GE(startsOf(id).front(), 31 - 1e-6) << id;
}

TEST_F(RequestRunnerTest, TooManyAtOnceHalvesTheLimitOnce) {
  for (size_t id = 0; id < 4; ++id)
    transport->answers[id] = {status(429)};
  std::vector<int> limits;
  hooks.whileWaiting = [&] {
    if (limits.empty() || limits.back() != limit->current())
      limits.push_back(limit->current());
  };
  run(12);
  // One burst, one cut; then the limit grows again.
  ASSERT_GE(limits.size(), 3u);
  EXPECT_EQ(limits[0], 4);
  EXPECT_EQ(limits[1], 2);
  EXPECT_EQ(limits[2], 3);
  EXPECT_EQ(limits.back(), limit->current());
  EXPECT_GE(limit->current(), 3);
}

TEST_F(RequestRunnerTest, StopDropsWhatIsOpen) {
  transport->seconds = 1000;
  hooks.stopRequested = [&] { return time.now > 1000.45; };
  EXPECT_TRUE(run(10).empty());
  EXPECT_EQ(transport->cancelled, 4u);
  EXPECT_LT(time.now, 1000.7);
  // Nothing is left behind: the next run has the whole limit.
  transport->seconds = 1;
  hooks.stopRequested = nullptr;
  EXPECT_EQ(run(4).size(), 4u);
  EXPECT_EQ(transport->most, 4u);
}

TEST_F(RequestRunnerTest, StopIsNoticedWithinAWait) {
  transport->answers[0] = {status(429, "100")};
  hooks.stopRequested = [&] { return time.now > 1010; };
  EXPECT_TRUE(run(1).empty());
  EXPECT_LT(time.now, 1010.5);
}

TEST_F(RequestRunnerTest, WhoWaitsIsCalledSeveralTimesASecond) {
  transport->seconds = 3;
  transport->answers[0] = {status(429, "10")};
  double last = 1000, longest = 0;
  hooks.whileWaiting = [&] {
    longest = std::max(longest, time.now - last);
    last = time.now;
  };
  run(1);
  EXPECT_LE(longest, 0.2);
}

/// Waits of two seconds and less are none; of several at once one is told.
TEST_F(RequestRunnerTest, LongWaitsAreToldWhenTheyBegin) {
  for (size_t id = 0; id < 3; ++id)
    for (int i = 0; i < 5; ++i)
      transport->answers[id].push_back(status(500));
  std::vector<double> told;
  double until = 0;
  hooks.onLongWait = [&](size_t, int attempts, double seconds) {
    EXPECT_GT(seconds, 2);
    EXPECT_GT(attempts, 1);
    EXPECT_GE(time.now, until);
    until = time.now + seconds;
    told.push_back(seconds);
  };
  run(3);
  ASSERT_GE(told.size(), 4u);
  EXPECT_LE(told.size(), 8u);
  EXPECT_THAT(told.front(), testing::AllOf(testing::Ge(3), testing::Le(4)));
  EXPECT_GE(told.back(), 16);
  // What the provider asks for is told, too, before it is waited for.
  told.clear();
  until = 0;
  double begin = time.now, at = 0;
  hooks.onLongWait = [&](size_t, int attempts, double seconds) {
    EXPECT_EQ(attempts, 1);
    told.push_back(seconds);
    at = time.now;
  };
  transport->answers[0] = {status(429, "100")};
  run(1);
  EXPECT_THAT(told, ElementsAre(100));
  EXPECT_LT(at - begin, 2);
}

TEST_F(RequestRunnerTest, TheReceiversErrorEndsEverything) {
  std::vector<HttpRequest> requests(10);
  int calls = 0;
  llvm::Error error = runner->run(
      requests, judge,
      [&](size_t, RequestEffort) {
        ++calls;
        return llvm::createStringError("the disk is full");
      },
      hooks);
  EXPECT_EQ(llvm::toString(std::move(error)), "the disk is full");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(run(4).size(), 4u);
}

TEST_F(RequestRunnerTest, ATransportFailureSaysNothingAboutTheLimit) {
  HttpResult broken;
  broken.failure = TransportFailure::Network;
  transport->answers[0] = {broken, broken};
  EXPECT_EQ(run(1)[0].attempts, 3);
  EXPECT_EQ(limit->current(), 4);
}

TEST(ConcurrencyLimit, NeverBelowOne) {
  ConcurrencyLimit limit(8);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(limit.tryStart(i));
    limit.refused(i, i, 0);
  }
  EXPECT_EQ(limit.current(), 1);
}

TEST(ConcurrencyLimit, OneMoreForEachGoodRound) {
  ConcurrencyLimit limit(16);
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(limit.tryStart(0));
  limit.refused(0, 1, 0); // 8 were in flight: 4.
  EXPECT_EQ(limit.current(), 4);
  for (int i = 0; i < 7; ++i)
    limit.succeeded();
  EXPECT_EQ(limit.current(), 5);
}

TEST(ConcurrencyLimit, IsOnePerPlace) {
  auto first = limitOf("https://a.example", 4);
  EXPECT_EQ(first, limitOf("https://a.example", 4));
  EXPECT_NE(first, limitOf("https://b.example", 4));
}

TEST(ConcurrencyLimit, ASecondUserMayWantLess) {
  auto limit = limitOf("https://c.example", 8);
  EXPECT_EQ(limit->current(), 8);
  EXPECT_EQ(limitOf("https://c.example", 2)->current(), 2);
  EXPECT_EQ(limitOf("https://c.example", 6)->current(), 6);
  ASSERT_TRUE(limit->tryStart(0));
  limit->refused(0, 1, 0);
  // What was learnt stays.
  EXPECT_EQ(limitOf("https://c.example", 8)->current(), 1);
}

} // namespace
