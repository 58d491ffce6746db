//===- FailedEvaluationsTest.cpp - Evaluators that fail -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An evaluation that fails through no fault of its variant says nothing of it:
// it is asked for again when the search goes on.
//
//===----------------------------------------------------------------------===//

#include "AskingWorld.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace fastk;
using namespace fastk::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
struct FailingWorld : World {
  FailingWorld()
      : World(6, [](int idea, int p) {
          return ok(500 - 10 * idea, std::to_string(p));
        }) {
    proposer.sweeps = false;
    options.rounds = 1;
    evaluator.alter = [this](worker::Verdict &verdict,
                             const EvaluationRequest &request) {
      failures.push_back(request.failures);
      if (!fails || !fails(request))
        return;
      verdict = worker::Verdict();
      verdict.id = "job";
      verdict.status = worker::Status::Error;
      verdict.reason = "the GPU is lost";
    };
  }
  SearchResult run(const TemporaryFolder &folder) {
    return search(options, openJournal(folder.str(), options).get());
  }

  SearchOptions options;
  std::function<bool(const EvaluationRequest &)> fails;
  /// What each request says of those before it.
  std::vector<int> failures;
};
} // namespace

TEST(FailedEvaluations, AreMadeAgainByTheNextRun) {
  TemporaryFolder folder;
  for (int run = 0; run < 2; ++run) {
    FailingWorld world;
    world.fails = [](const EvaluationRequest &) { return true; };
    SearchResult result = world.run(folder);
    EXPECT_EQ(result.end, SearchEnd::Unjudged);
    EXPECT_THAT(result.detail, HasSubstr("the GPU is lost"));
    EXPECT_THAT(world.failures, ElementsAre(run, run, run));
    EXPECT_EQ(result.counts.failed, 3);
  }
  FailingWorld mended, whole;
  SearchResult result = mended.run(folder);
  SearchResult expected = whole.search(whole.options);
  ASSERT_TRUE(result.winner.has_value());
  EXPECT_EQ(result.winner->variant.program, expected.winner->variant.program);
  EXPECT_EQ(result.counts.statuses, expected.counts.statuses);
  EXPECT_EQ(mended.evaluator.calls, whole.evaluator.calls);
  FailingWorld last;
  EXPECT_TRUE(last.run(folder).winner.has_value());
  EXPECT_TRUE(last.evaluator.calls.empty());
}

TEST(FailedEvaluations, OneAmongOthersStands) {
  TemporaryFolder folder;
  for (int run = 0; run < 2; ++run) {
    FailingWorld world;
    world.fails = [](const EvaluationRequest &request) {
      return request.candidate.ideaId == "scripted/1" &&
             request.candidate.parameters.at("p") == 0;
    };
    SearchResult result = world.run(folder);
    EXPECT_TRUE(result.winner.has_value());
    EXPECT_EQ(result.counts.statuses.at("error"), 1);
    EXPECT_EQ(world.evaluator.calls.empty(), run == 1);
  }
}

TEST(FailedEvaluations, ASecondMeasurementThatFailedIsMissing) {
  TemporaryFolder folder;
  {
    FailingWorld world;
    world.fails = [](const EvaluationRequest &request) {
      return request.promote;
    };
    SearchResult result = world.run(folder);
    EXPECT_FALSE(result.winner);
    ASSERT_TRUE(result.unproven.has_value());
    EXPECT_EQ(result.unproven->why, "its second failed through no fault of its "
                                    "own: the GPU is lost");
  }
  FailingWorld mended;
  EXPECT_TRUE(mended.run(folder).winner.has_value());
  EXPECT_THAT(mended.failures, ElementsAre(1));
}

/// A model with ideas, of whose programs those of sample 0 cannot be read, or
/// none can.
static void saysNoPrograms(AskingWorld &world, bool inAnySample) {
  world.model.say = [=](const Prompt &prompt) -> std::optional<Reply> {
    if (prompt.kind == PromptKind::Ideas)
      return saying("ideas");
    bool isBad = inAnySample || prompt.sample == 0;
    return saying(isBad ? "bad " + digestOf(prompt)
                        : ok(500, digestOf(prompt)));
  };
}

// Where nothing was evaluated no evaluator has failed.
TEST(FailedEvaluations, RepliesThatAreNoProgramsAreNone) {
  AskingWorld world;
  saysNoPrograms(world, /*inAnySample=*/true);
  auto result = world.run();
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(result->end, SearchEnd::Rounds);
  EXPECT_EQ(result->counts.evaluations, 0);
  EXPECT_GT(result->counts.statuses.at("unreadable"), 0);
  EXPECT_THAT(result->noWinnerReason, HasSubstr("unreadable"));
}

TEST(FailedEvaluations, AreCountedWithoutRepliesThatAreNoPrograms) {
  AskingWorld world;
  world.options.rounds = 1;
  world.options.repairs = 0;
  saysNoPrograms(world, /*inAnySample=*/false);
  world.evaluator.alter = [](worker::Verdict &verdict,
                             const EvaluationRequest &) {
    verdict.status = worker::Status::Error;
    verdict.reason = "the GPU is lost";
  };
  auto result = world.run();
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(result->counts.statuses.at("unreadable"), 2);
  EXPECT_EQ(result->end, SearchEnd::Unjudged);
  EXPECT_EQ(result->detail, "all 2 evaluations failed through no fault of the "
                            "variant: the GPU is lost");
}
