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

// Nor is it made again where it ended a search, failed once more and others did
// not.
TEST(FailedEvaluations, OneThatFailsAgainAmongOthersStands) {
  TemporaryFolder folder;
  auto isFirst = [](const EvaluationRequest &request) {
    return request.candidate.ideaId == "scripted/0" &&
           request.candidate.parameters.at("p") == 0;
  };
  for (int run = 0; run < 3; ++run) {
    FailingWorld world;
    world.fails = [&](const EvaluationRequest &request) {
      return run == 0 || isFirst(request);
    };
    SearchResult result = world.run(folder);
    EXPECT_EQ(result.end == SearchEnd::Unjudged, run == 0);
    EXPECT_EQ(result.counts.failed, run == 0 ? 3 : run == 1 ? 1 : 0);
    EXPECT_EQ(world.evaluator.calls.empty(), run == 2);
  }
}

// A run that is killed, or interrupted, loses none of those that are missing.
TEST(FailedEvaluations, ThoseNotYetMadeAgainAreMissingStill) {
  TemporaryFolder folder;
  {
    FailingWorld world;
    world.fails = [](const EvaluationRequest &) { return true; };
    world.run(folder);
  }
  {
    FailingWorld killed;
    killed.stopRequested = [&] { return !killed.evaluator.calls.empty(); };
    EXPECT_EQ(killed.run(folder).end, SearchEnd::Interrupted);
    EXPECT_EQ(killed.evaluator.calls.size(), 1u);
  }
  FailingWorld mended, whole;
  SearchResult result = mended.run(folder);
  SearchResult expected = whole.search(whole.options);
  EXPECT_EQ(result.counts.statuses, expected.counts.statuses);
  EXPECT_EQ(mended.evaluator.calls.size() + 1, whole.evaluator.calls.size());
}

TEST(FailedEvaluations, TheLastBeforeAnInterruptIsMadeAgain) {
  TemporaryFolder folder;
  {
    FailingWorld world;
    world.fails = [](const EvaluationRequest &) { return true; };
    // While it is evaluated nobody asks to stop: then it is not believed.
    bool wasAsked = false;
    world.stopRequested = [&] {
      bool stops = wasAsked && !world.evaluator.calls.empty();
      wasAsked = !world.evaluator.calls.empty();
      return stops;
    };
    SearchResult result = world.run(folder);
    EXPECT_EQ(result.end, SearchEnd::Interrupted);
    EXPECT_EQ(result.counts.failed, 1);
  }
  FailingWorld mended;
  SearchResult result = mended.run(folder);
  EXPECT_EQ(result.counts.statuses.count("error"), 0u);
  EXPECT_EQ(mended.failures.front(), 1);
}

// Three in a row count in the order of trials, whatever was measured between
// them: here a run ends after two, and promotes what it has.
TEST(FailedEvaluations, ARowOfTwoRunsIsMadeAgain) {
  TemporaryFolder folder;
  auto makeWorld = [] {
    auto world = std::make_unique<FailingWorld>();
    world->options.ideas = 6;
    world->options.implementations = 1;
    world->evaluator.secondsPerCall = 10;
    world->proposer.program = [](int idea, int p) {
      return (idea == 0 ? "promote-slow " : "ok ") +
             std::to_string(500 - 10 * idea) + " " + std::to_string(p);
    };
    world->fails = [](const EvaluationRequest &request) {
      return !request.promote && request.candidate.ideaId != "scripted/0";
    };
    return world;
  };
  {
    auto world = makeWorld();
    world->options.budget.minutes = 1;
    SearchResult result = world->run(folder);
    EXPECT_EQ(result.end, SearchEnd::Budget);
    EXPECT_EQ(result.counts.failed, 2);
    EXPECT_EQ(result.counts.promotions, 1);
  }
  {
    auto world = makeWorld();
    SearchResult result = world->run(folder);
    EXPECT_EQ(result.end, SearchEnd::Unjudged);
    EXPECT_EQ(result.counts.failed, 1);
  }
  auto mended = makeWorld();
  mended->fails = nullptr;
  SearchResult result = mended->run(folder);
  EXPECT_NE(result.end, SearchEnd::Unjudged);
  EXPECT_EQ(result.counts.statuses.count("error"), 0u);
  EXPECT_TRUE(result.winner.has_value());
}

// All of a batch are made again, not only those that ended the search.
TEST(FailedEvaluations, OfABatchAllAreMadeAgain) {
  TemporaryFolder folder;
  ScriptedEvaluator::Spool spool;
  auto run = [&](bool fails) {
    for (;;) {
      FailingWorld world;
      world.evaluator.spool = &spool;
      world.fails = [&](const EvaluationRequest &) { return fails; };
      SearchResult result = world.run(folder);
      if (result.end != SearchEnd::Pending)
        return result;
      spool.answered = spool.written;
    }
  };
  SearchResult result = run(/*fails=*/true);
  EXPECT_EQ(result.end, SearchEnd::Unjudged);
  int failed = result.counts.failed;
  EXPECT_GT(failed, 3);
  result = run(/*fails=*/false);
  EXPECT_NE(result.end, SearchEnd::Unjudged);
  EXPECT_EQ(result.counts.statuses.count("error"), 0u);
  EXPECT_TRUE(result.winner.has_value());
}

// A second measurement is missing until it is made, whatever became of others.
TEST(FailedEvaluations, ASecondMeasurementIsMissingThoughAnotherWasMade) {
  TemporaryFolder folder;
  auto makeWorld = [] {
    auto world = std::make_unique<FailingWorld>();
    world->options.implementations = 1;
    world->options.ideas = 2;
    world->proposer.program = [](int idea, int) {
      return idea == 0 ? ok(400) : "promote-slow 500";
    };
    return world;
  };
  {
    auto world = makeWorld();
    world->fails = [](const EvaluationRequest &request) {
      return request.promote && request.candidate.ideaId == "scripted/0";
    };
    SearchResult result = world->run(folder);
    EXPECT_FALSE(result.winner);
    EXPECT_EQ(result.counts.promotions, 2);
  }
  auto mended = makeWorld();
  SearchResult result = mended->run(folder);
  ASSERT_TRUE(result.winner.has_value());
  EXPECT_EQ(result.winner->idea.id, "scripted/0");
  EXPECT_THAT(mended->failures, ElementsAre(1));
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
