//===- NoiseTest.cpp - No record from a busy machine ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchTestUtils.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

/// A promotion as on a machine that others use.
static void makeBusy(worker::Verdict &verdict) {
  verdict.timing.speedupOverBaseline.reset();
  verdict.timing.tooBusy = true;
  verdict.timing.droppedBlocks = 60;
  verdict.timing.disturbedBy = "60 of 60 blocks of calls were disturbed: other "
                               "programs took 97 % of 2 processors";
}

/// The candidate's gain was measured on the variant, as `ratio` says.
static void setGain(worker::Verdict &verdict, worker::Ratio ratio) {
  verdict.timing.speedupOverBaseline = ratio;
  verdict.timing.baseline->p10Ns =
      verdict.timing.candidate->p10Ns * ratio.median;
}

static std::string tableOf(const SearchResult &result) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printTrajectory(result, "attention", os);
  return text;
}

/// One variant, 2.35 times as fast in its first measurement.
static World worldOfOne() {
  return World(1, [](int, int) { return ok(1000 / 2.35); });
}

TEST(NoiseInSearch, WhatWasMeasuredIsSaidAndWhatIsMissing) {
  World world = worldOfOne();
  world.evaluator.alter = [](worker::Verdict &verdict,
                             const EvaluationRequest &request) {
    if (request.promote)
      makeBusy(verdict);
  };
  SearchResult result = world.search(SearchOptions());
  EXPECT_FALSE(result.winner);
  ASSERT_TRUE(result.unproven);
  EXPECT_NEAR(result.unproven->speedup, 2.35, 1e-6);
  EXPECT_EQ(result.counts.promotions, 1);
  std::string text = tableOf(result);
  EXPECT_THAT(
      text,
      HasSubstr(
          "no winner yet, the default lowering stays meanwhile: "
          "'idea 0' had 235.0 % of the default lowering's speed in its first "
          "measurement, and its second does not count: the "
          "machine is too busy: 60 of 60 blocks of calls were "
          "disturbed: other programs took 97 % of 2 processors; "
          "the same command goes on with it"));
  EXPECT_THAT(text, testing::Not(HasSubstr("could not beat")));
  // A record says the same each time.
  result.isReplay = true;
  EXPECT_THAT(tableOf(result), testing::Not(HasSubstr("the same command")));
}

/// A quieter minute may come: what noise spoiled is no last word.
TEST(NoiseInSearch, ARunLaterMeasuresAgain) {
  MemoryFolder folder;
  SearchOptions options;
  {
    World world = worldOfOne();
    world.evaluator.alter = [](worker::Verdict &verdict,
                               const EvaluationRequest &request) {
      if (request.promote)
        makeBusy(verdict);
    };
    EXPECT_FALSE(
        world.search(options, world.openJournal(folder.str(), options).get())
            .winner);
  }
  World world = worldOfOne();
  std::vector<int> repeats;
  world.evaluator.alter = [&](worker::Verdict &,
                              const EvaluationRequest &request) {
    repeats.push_back(request.repeat);
  };
  SearchResult result =
      world.search(options, world.openJournal(folder.str(), options).get());
  EXPECT_TRUE(result.winner);
  EXPECT_FALSE(result.unproven);
  EXPECT_EQ(world.evaluator.calls.size(), 1u) << "the promotion alone";
  EXPECT_EQ(repeats, std::vector<int>({1}));
  // Both are in the journal: a third run asks nothing.
  World third = worldOfOne();
  EXPECT_TRUE(
      third.search(options, third.openJournal(folder.str(), options).get())
          .winner);
  EXPECT_TRUE(third.evaluator.calls.empty());
}

/// One noisy minute does not spend what was kept for the second measurement.
TEST(NoiseInSearch, ARunLaterMeasuresAgainWhereTheBudgetIsSpent) {
  MemoryFolder folder;
  SearchOptions options;
  options.budget.evaluations = 2;
  auto makeNoise = [](worker::Verdict &verdict,
                      const EvaluationRequest &request) {
    if (request.promote)
      makeBusy(verdict);
  };
  // Each run makes one more, and no more than one.
  for (int run = 0; run < 3; ++run) {
    World world = worldOfOne();
    world.evaluator.alter = makeNoise;
    SearchResult result =
        world.search(options, world.openJournal(folder.str(), options).get());
    EXPECT_TRUE(result.unproven);
    EXPECT_EQ(world.evaluator.calls.size(), run == 0 ? 2u : 1u);
  }
  World world = worldOfOne();
  EXPECT_TRUE(
      world.search(options, world.openJournal(folder.str(), options).get())
          .winner);
  EXPECT_EQ(world.evaluator.calls.size(), 1u);
}

/// The minutes that are kept for the second measurement are spent on it.
TEST(NoiseInSearch, AQuieterMinuteOfTheSameRun) {
  for (double seconds : {30, 10}) {
    World world = worldOfOne();
    world.evaluator.secondsPerCall = 6;
    world.evaluator.alter = [](worker::Verdict &verdict,
                               const EvaluationRequest &request) {
      if (request.promote && request.repeat < 2)
        makeBusy(verdict);
    };
    SearchOptions options;
    options.budget.minutes = seconds / 60;
    SearchResult result = world.search(options);
    EXPECT_EQ(result.winner.has_value(), seconds == 30);
    EXPECT_EQ(result.counts.promotions, seconds == 30 ? 3 : 0);
    EXPECT_LE(world.evaluator.now, seconds);
  }
}

/// Where the machine was quiet enough for the baseline, noise is the variant's.
TEST(NoiseInSearch, AnErraticVariantLeavesItsPlaceToTheNext) {
  World world(2, [](int idea, int) { return ok(idea == 0 ? 400 : 500); });
  world.proposer.sweeps = false;
  world.evaluator.alter = [](worker::Verdict &verdict,
                             const EvaluationRequest &request) {
    if (request.promote && request.candidate.ideaId == "scripted/0")
      setGain(verdict, {2.5, 1.5, 4});
  };
  SearchResult result = world.search(SearchOptions());
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->idea.id, "scripted/1");
}

TEST(NoiseInSearch, ABusyMachineSpoilsAllSoOneIsMeasured) {
  World world(4, [](int idea, int) { return ok(400 + idea); });
  world.proposer.sweeps = false;
  world.evaluator.control = worker::Ratio{1, 0.6, 1.3};
  SearchResult result = world.search(SearchOptions());
  EXPECT_FALSE(result.winner);
  EXPECT_EQ(result.counts.promotions, 1);
  ASSERT_TRUE(result.unproven);
  EXPECT_THAT(result.unproven->why, HasSubstr("timed against itself"));
}

/// However noisy: slower is slower.
TEST(NoiseInSearch, WhatIsSurelyNoGainIsNoNoise) {
  World world = worldOfOne();
  world.evaluator.alter = [](worker::Verdict &verdict,
                             const EvaluationRequest &request) {
    if (request.promote)
      setGain(verdict, {0.5, 0.3, 0.8});
  };
  SearchResult result = world.search(SearchOptions());
  EXPECT_FALSE(result.unproven);
  EXPECT_THAT(result.noWinnerReason, HasSubstr("30.0 %"));
}

TEST(NoiseInSearch, WhatContradictsTheBankIsMeasuredAgain) {
  for (bool again : {false, true}) {
    World world = worldOfOne();
    SearchInput input = world.input();
    Variant variant = world.proposer.make(0, 0);
    input.recordedGain = RecordedGain{digestOf(variant), {1.69, 1.66, 1.72}};
    world.evaluator.alter = [&](worker::Verdict &verdict,
                                const EvaluationRequest &request) {
      if (request.promote)
        setGain(verdict, request.repeat == 0 || again
                             ? worker::Ratio{15.38, 15.2, 15.6}
                             : worker::Ratio{1.7, 1.68, 1.73});
    };
    auto result = runSearch(input, SearchOptions());
    ASSERT_TRUE(static_cast<bool>(result));
    EXPECT_EQ(result->counts.promotions, 2);
    EXPECT_EQ(result->winner.has_value(), !again);
    if (again)
      EXPECT_THAT(result->noWinnerReason,
                  HasSubstr("twice it contradicted its record in the bank, "
                            "which stays: 1538.0 % instead of 169.0 %"));
    else
      EXPECT_EQ(result->winner->verdict.timing.speedupOverBaseline->median,
                1.7);
  }
}

/// In pairs it gains, by the medians it loses: no winner is made of that.
TEST(NoiseInSearch, WhatItsMediansContradictIsMeasuredAgain) {
  for (bool again : {false, true}) {
    World world = worldOfOne();
    world.evaluator.alter = [&](worker::Verdict &verdict,
                                const EvaluationRequest &request) {
      if (request.promote && (request.repeat == 0 || again))
        verdict.timing.baseline->medianNs =
            0.99 * verdict.timing.candidate->medianNs;
    };
    SearchResult result = world.search(SearchOptions());
    EXPECT_EQ(result.counts.promotions, 2);
    EXPECT_EQ(result.winner.has_value(), !again);
    EXPECT_EQ(result.unproven.has_value(), again);
    if (again)
      EXPECT_THAT(result.unproven->why,
                  HasSubstr("its second does not count: the machine was too "
                            "noisy for this measurement to count: its calls "
                            "in pairs gained 2.35 times (2.33 to 2.37), and "
                            "the medians of all calls say 0.99 times"));
  }
}

/// 20 s for evaluations of 2 s and a promotion of 6: at six of ten the rest is
/// the promotion's.
TEST(NoiseInSearch, TheSecondMeasurementIsHeldBackFirst) {
  World world(50, hill);
  world.evaluator.secondsPerCall = 2;
  world.evaluator.alter = [&](worker::Verdict &,
                              const EvaluationRequest &request) {
    if (request.promote)
      world.evaluator.now += 4;
  };
  SearchOptions options;
  options.patience = 100;
  options.budget.minutes = 20.0 / 60;
  SearchResult result = world.search(options);
  EXPECT_TRUE(result.winner);
  EXPECT_LE(world.evaluator.now, 20);
  EXPECT_GE(world.evaluator.now, 18) << "the time is used";
}

/// Its first evaluation takes nearly all of a small share.
TEST(NoiseInSearch, ABudgetThatEndsBeforeTheSecondSaysSo) {
  World world = worldOfOne();
  world.evaluator.secondsPerCall = 8;
  SearchOptions options;
  options.budget.minutes = 10.0 / 60;
  SearchResult result = world.search(options);
  EXPECT_FALSE(result.winner);
  ASSERT_TRUE(result.unproven);
  EXPECT_THAT(result.unproven->why, HasSubstr("the budget ran out"));
  EXPECT_THAT(tableOf(result), HasSubstr("no winner yet"));
}

// The next run has minutes of its own, and begins with what is missing.
TEST(NoiseInSearch, WhatABudgetLeftOutComesFirst) {
  MemoryFolder folder;
  SearchOptions options;
  options.patience = 100;
  options.budget.minutes = 10.0 / 60;
  std::string best;
  {
    World world(50, hill);
    world.evaluator.secondsPerCall = 8;
    SearchResult result =
        world.search(options, world.openJournal(folder.str(), options).get());
    ASSERT_TRUE(result.unproven);
    EXPECT_TRUE(result.isOutOfTime);
    EXPECT_EQ(result.earlierSeconds, 0);
    EXPECT_EQ(result.runSeconds, 8);
    best = world.evaluator.calls.front();
  }
  options.budget.minutes = 1;
  World world(50, hill);
  world.evaluator.secondsPerCall = 8;
  SearchResult result =
      world.search(options, world.openJournal(folder.str(), options).get());
  EXPECT_EQ(world.evaluator.calls.front(), "promote " + best);
  EXPECT_GT(world.evaluator.calls.size(), 2u) << "then more is tried";
  EXPECT_TRUE(result.winner);
  EXPECT_LE(world.evaluator.now, 60);
  EXPECT_EQ(result.earlierSeconds, 8);
  EXPECT_EQ(result.elapsedSeconds, 8 + world.evaluator.now);
  EXPECT_THAT(tableOf(result), HasSubstr("8 s of them in earlier runs"));
}

// It counts, though there is no time to prove what was found after it.
TEST(NoiseInSearch, WhatWasProvedFirstWinsWhereTimeEnds) {
  MemoryFolder folder;
  SearchOptions options;
  options.patience = 100;
  options.budget.minutes = 10.0 / 60;
  // Each is better than the one before it.
  auto better = [](int idea, int p) { return ok(900 - 50 * idea - p); };
  {
    World world(10, better);
    world.evaluator.secondsPerCall = 8;
    world.search(options, world.openJournal(folder.str(), options).get());
  }
  World world(10, better);
  // After the first promotion and an evaluation the clock jumps.
  world.evaluator.onCall = [&](size_t call) {
    world.evaluator.now += call == 2 ? 100 : 0;
  };
  options.budget.minutes = 1;
  SearchResult result =
      world.search(options, world.openJournal(folder.str(), options).get());
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(world.evaluator.calls.size(), 2u);
  EXPECT_EQ("promote " + result.winner->variant.program,
            world.evaluator.calls.front());
}

// The longest promotion of a run is what the next search keeps back.
TEST(NoiseInSearch, PromotionsTellWhatToKeep) {
  World world(50, hill);
  world.evaluator.secondsPerCall = 2;
  world.evaluator.alter = [&](worker::Verdict &,
                              const EvaluationRequest &request) {
    if (request.promote)
      world.evaluator.now += 18;
  };
  SearchOptions options;
  options.patience = 100;
  SearchResult first = world.search(options);
  EXPECT_DOUBLE_EQ(first.promotionCost, 10);
  world.evaluator.now = 0;
  options.budget.minutes = 1;
  SearchInput input = world.input();
  input.promotionCost = first.promotionCost;
  auto second = runSearch(input, options);
  ASSERT_TRUE(static_cast<bool>(second));
  EXPECT_TRUE(second->winner);
  EXPECT_LE(world.evaluator.now, 60);
  EXPECT_GE(world.evaluator.now, 58);
}

// What scripted/0 was found to be worth before noise or a budget got in the way
// is in the report, too.
TEST(NoiseInSearch, TheReportHasIt) {
  World world = worldOfOne();
  world.evaluator.control = worker::Ratio{1, 0.6, 1.3};
  SearchInput input = world.input();
  auto result = runSearch(input, SearchOptions());
  ASSERT_TRUE(static_cast<bool>(result));
  llvm::json::Object report = reportJson(input, SearchOptions(), *result);
  llvm::json::Object *unproven = report.getObject("unproven");
  ASSERT_TRUE(unproven);
  EXPECT_EQ(unproven->getString("title"), "idea 0");
}
