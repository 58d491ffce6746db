//===- RequestContextTest.cpp - What a search tells an evaluator ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Language models are told the same: ExchangesTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "AskingWorld.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;

namespace {
class TickingProgress : public NotedProgress {
public:
  void tick() override { ++ticks; }
  int ticks = 0;
};
} // namespace

TEST(RequestContext, AnEvaluatorSpeaksToWhoeverWaits) {
  World world(3, hill);
  TickingProgress progress;
  world.progress = &progress;
  world.evaluator.onContext = [](const RequestContext &context) {
    context.tick();
    context.say("the fan is loud");
  };
  world.search(SearchOptions());
  size_t calls = world.evaluator.calls.size();
  ASSERT_GT(calls, 0u);
  EXPECT_EQ(progress.ticks, static_cast<int>(calls));
  EXPECT_THAT(progress.notes,
              testing::ElementsAreArray(
                  std::vector<std::string>(calls, "the fan is loud")));
}

TEST(RequestContext, AnEvaluatorSeesThatTheUserStops) {
  World world(3, hill);
  bool stop = false, seen = false;
  world.stopRequested = [&] { return stop; };
  world.evaluator.onContext = [&](const RequestContext &context) {
    EXPECT_FALSE(context.isStopRequested());
    stop = true;
    seen = context.isStopRequested();
  };
  SearchResult result = world.search(SearchOptions());
  EXPECT_TRUE(seen);
  EXPECT_EQ(result.end, SearchEnd::Interrupted);
  EXPECT_EQ(world.evaluator.calls.size(), 1u);
}

// Without anybody who waits nothing is said, and nothing ends.
TEST(RequestContext, NobodyWaits) {
  World world(3, hill);
  world.evaluator.onContext = [](const RequestContext &context) {
    context.tick();
    context.say("the fan is loud");
    EXPECT_FALSE(context.isStopRequested());
  };
  EXPECT_TRUE(world.search(SearchOptions()).winner);
}
