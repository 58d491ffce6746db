//===- SearchTest.cpp - Strategies, stop rules, promotion -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchTestUtils.h"
#include "fastk/Search/SearchReport.h"
#include "gmock/gmock.h"
#include <chrono>
#include <set>
#include <thread>

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

TEST(Search, BranchingFindsTheTopOfTheBestHill) {
  World world(12, hill);
  SearchOptions options;
  options.patience = 100;
  SearchResult result = world.search(options);
  ASSERT_TRUE(result.winner) << result.noWinnerReason;
  // Idea 4, p = 7: the sweep found what no realisation had.
  EXPECT_EQ(result.winner->idea.id, "scripted/4");
  EXPECT_EQ(result.winner->variant.parameters.at("p"), 7);
  EXPECT_EQ(result.winner->verdict.timing.candidate->medianNs, 300);
  EXPECT_EQ(result.counts.promotions, 1);
  EXPECT_DOUBLE_EQ(result.baselineSeconds, 1000e-9);
  EXPECT_EQ(result.end, SearchEnd::Exhausted);
  // The promotion is the last call, and nothing else is promoted.
  EXPECT_THAT(world.evaluator.calls.back(), testing::StartsWith("promote "));
  // Nothing is evaluated twice.
  std::set<std::string> unique(world.evaluator.calls.begin(),
                               world.evaluator.calls.end());
  EXPECT_EQ(unique.size(), world.evaluator.calls.size());
  EXPECT_EQ(result.counts.evaluations,
            static_cast<int>(world.evaluator.calls.size()));
}

TEST(Search, SequentialIsOneChain) {
  World world(12, hill);
  SearchOptions options;
  options.strategy = llvm::cantFail(findSearchStrategy("sequential"));
  options.patience = 100;
  SearchResult result = world.search(options);
  ASSERT_TRUE(result.winner) << result.noWinnerReason;
  EXPECT_EQ(result.winner->idea.id, "scripted/4");
  // One realisation of one idea a step, then the sweep.
  EXPECT_LE(world.proposer.lastParents, 1u);
  int steps = 0;
  for (const TrajectoryRow &row : result.trajectory)
    if (row.round != "0" && row.round != "sweep" && row.round != "promoted") {
      EXPECT_EQ(row.evaluations, 1);
      ++steps;
    }
  EXPECT_EQ(steps, 12);
}

TEST(Search, SameSeedSameSearch) {
  SearchOptions options;
  options.seed = 7;
  World first(30, hill), second(30, hill);
  EXPECT_EQ(summary(first, first.search(options)),
            summary(second, second.search(options)));
}

TEST(Search, ParentsAreTheBestAndDiverse) {
  World world(30, hill);
  SearchOptions options;
  options.patience = 100;
  options.parents = 3;
  options.rounds = 2;
  world.search(options);
  EXPECT_EQ(world.proposer.lastParents, 3u);
}

TEST(Search, IncumbentIsTheBestSoFar) {
  World world(3, [](int idea, int p) {
    const double times[] = {900, 500, 700};
    return ok(times[idea], std::to_string(p));
  });
  world.proposer.sweeps = false;
  SearchOptions options;
  options.implementations = 1;
  world.search(options);
  EXPECT_THAT(world.evaluator.incumbents,
              testing::ElementsAre(HasSubstr("900"), HasSubstr("500")));
}

TEST(Search, DuplicatesAreNotEvaluated) {
  World world(8, [](int, int) { return ok(500); });
  SearchOptions options;
  SearchResult result = world.search(options);
  EXPECT_EQ(world.evaluator.calls.size(), 2u) << "one, and its promotion";
  EXPECT_GT(result.counts.duplicates, 0);
  EXPECT_EQ(result.end, SearchEnd::Exhausted);
}

TEST(Search, BudgetOfEvaluationsIsHard) {
  for (int64_t budget = 1; budget <= 60; ++budget) {
    World world(50, hill);
    SearchOptions options;
    options.patience = 100;
    options.budget.evaluations = budget;
    SearchResult result = world.search(options);
    EXPECT_LE(world.evaluator.calls.size(), static_cast<size_t>(budget));
    EXPECT_EQ(result.end, SearchEnd::Budget);
    // From two on there is enough for a winner: what is found is promoted.
    EXPECT_EQ(result.winner.has_value(), budget >= 2) << budget;
  }
}

TEST(Search, BudgetOfMinutesIsHard) {
  World world(50, hill);
  world.evaluator.secondsPerCall = 7;
  SearchOptions options;
  options.patience = 100;
  options.budget.minutes = 2;
  SearchResult result = world.search(options);
  EXPECT_EQ(result.end, SearchEnd::Budget);
  EXPECT_THAT(result.detail, HasSubstr("2 minutes"));
  EXPECT_LE(world.evaluator.now, 120);
  EXPECT_GE(world.evaluator.now, 100) << "the time is used";
  EXPECT_TRUE(result.winner) << "time is left for the promotion";
}

// Without a clock of its own a search goes by the system's.
TEST(Search, MinutesPassOnTheSystemsClock) {
  World world(50, hill);
  world.evaluator.onCall = [](size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  SearchOptions options;
  options.patience = 100;
  options.budget.minutes = 0.1 / 60;
  SearchInput input = world.input();
  input.clock = nullptr;
  auto result = runSearch(input, options);
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result->end, SearchEnd::Budget);
  EXPECT_GT(result->elapsedSeconds, 0.05);
  // 0.1 s have room for ten calls, of which the last may go beyond and be
  // promoted: fewer on a machine that stands still for a while.
  EXPECT_LE(world.evaluator.calls.size(), 20u);
}

TEST(Search, StopsAtTheFloor) {
  World world(30, hill);
  world.floorSeconds = 400e-9;
  SearchOptions options;
  SearchResult result = world.search(options);
  EXPECT_EQ(result.end, SearchEnd::Floor);
  ASSERT_TRUE(result.winner);
  EXPECT_LE(result.winner->verdict.timing.candidate->medianNs, 400 / 0.95);
  EXPECT_LT(world.evaluator.calls.size(), 25u);
}

TEST(Search, StopsWhenRoundsNoLongerPay) {
  World world(60, [](int idea, int p) {
    return ok(idea < 6 ? 500 : 499 - 0.1 * idea,
              std::to_string(idea + 100 * p));
  });
  world.proposer.sweeps = false;
  SearchOptions options;
  options.rounds = 10;
  SearchResult result = world.search(options);
  EXPECT_EQ(result.end, SearchEnd::Stagnation);
  EXPECT_EQ(world.proposer.asked, 3)
      << "one round that paid and two that did not";
}

TEST(Search, StopsAfterItsRounds) {
  World world(60, [](int idea, int p) {
    return ok(900 - 10 * idea, std::to_string(p));
  });
  world.proposer.sweeps = false;
  SearchOptions options;
  options.rounds = 3;
  SearchResult result = world.search(options);
  EXPECT_EQ(result.end, SearchEnd::Rounds);
  EXPECT_EQ(world.evaluator.calls.size(), 3u * 6 * 2 + 1);
}

TEST(Search, HandWrittenVariantsAreAllTried) {
  World world(
      40, [](int idea, int p) { return ok(2000 - idea, std::to_string(p)); });
  world.proposer.allTried = true;
  SearchOptions options;
  options.rounds = 1;
  options.implementations = 1;
  SearchResult result = world.search(options);
  EXPECT_GE(result.history.size(), 40u);
}

TEST(Search, RepairsAreBounded) {
  World world(1, [](int, int p) { return "crash " + std::to_string(p); });
  world.proposer.repairTo = [](std::string program) { return program + "x"; };
  SearchOptions options;
  options.implementations = 1;
  options.repairs = 2;
  SearchResult result = world.search(options);
  EXPECT_EQ(world.evaluator.calls,
            (std::vector<std::string>{"crash 0", "crash 0x", "crash 0xx"}));
  EXPECT_FALSE(result.winner);
  EXPECT_EQ(result.noWinnerReason, "no variant passed: 3 crash");
}

TEST(Search, RepairedVariantMayWin) {
  World world(1, [](int, int) { return std::string("wrong 500"); });
  world.proposer.repairTo = [](std::string) { return ok(500); };
  SearchOptions options;
  options.implementations = 1;
  SearchResult result = world.search(options);
  EXPECT_TRUE(result.winner);
  EXPECT_EQ(result.counts.repairs, 1);
}

TEST(Search, NothingSlowerThanTheDefaultLoweringWins) {
  World world(
      6, [](int idea, int p) { return ok(990 + idea, std::to_string(p)); });
  SearchOptions options;
  SearchResult result = world.search(options);
  EXPECT_FALSE(result.winner);
  EXPECT_THAT(
      result.noWinnerReason,
      HasSubstr("the best variant reached 101.0 % of the default lowering's "
                "speed, and more than 102.0 % is needed"));
  for (const std::string &call : world.evaluator.calls)
    EXPECT_THAT(call, testing::Not(testing::StartsWith("promote")));
}

TEST(Search, LowerEndOfTheIntervalDecidesThePromotion) {
  // 1.025x with 0.99 of it sure: 1.0148, below 1.02.
  World world(1, [](int, int) { return ok(1000 / 1.025); });
  SearchOptions options;
  SearchResult result = world.search(options);
  EXPECT_FALSE(result.winner);
  EXPECT_EQ(result.counts.promotions, 1);
  EXPECT_THAT(result.noWinnerReason, HasSubstr("101.5 %"));
}

TEST(Search, NextBestIsPromotedWhenTheBestFails) {
  World world(5, [](int idea, int p) {
    const char *programs[] = {"promote-wrong 200", "promote-slow 300", "ok 400",
                              "ok 500", "ok 600"};
    return programs[idea] + std::string(p ? " second" : "");
  });
  world.proposer.sweeps = false;
  SearchOptions options;
  options.implementations = 1;
  SearchResult result = world.search(options);
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->variant.program, "ok 400");
  EXPECT_EQ(result.counts.promotions, 3);
  EXPECT_TRUE(result.noWinnerReason.empty());
}

// Of a record, too, whose job did not ask.
TEST(Search, OnlyWhatRepeatsItsBitsWinsWhereThatIsRequired) {
  for (std::optional<bool> bits :
       {std::optional<bool>(), std::optional(false), std::optional(true)})
    for (bool required : {false, true}) {
      World world(2, [](int idea, int p) { return ok(300 + 100 * idea + p); });
      world.requireDeterministic = required;
      world.evaluator.alter = [&](worker::Verdict &verdict,
                                  const EvaluationRequest &request) {
        if (request.promote)
          verdict.audit.bitwiseDeterministic = bits;
      };
      SearchResult result = world.search(SearchOptions());
      EXPECT_EQ(result.winner.has_value(), !required || bits == true);
      if (!result.winner) {
        EXPECT_THAT(result.noWinnerReason,
                    HasSubstr(bits ? "gave other bits" : "nothing says"));
        continue;
      }
      SearchInput input = world.input();
      WinnerRecord record = winnerRecord(input, SearchOptions(), result);
      EXPECT_EQ(record.bitwiseDeterministic, bits);
    }
}

TEST(Search, WhatIsRequiredOfBitsIsPartOfTheSearch) {
  World world(1, hill);
  MemoryFolder folder;
  SearchOptions options;
  world.openJournal(folder.str(), options);
  world.requireDeterministic = true;
  auto other = Journal::open(folder.str(), bindingOf(world.input(), options));
  ASSERT_FALSE(static_cast<bool>(other));
  EXPECT_THAT(llvm::toString(other.takeError()),
              HasSubstr("deterministic was absent and is now required"));
}

TEST(Search, RelativesOfAWrongVariantArePromotedLast) {
  // The first idea's realisations are faster, and all wrong on fresh data.
  World world(2, [](int idea, int p) {
    return idea == 0 ? "promote-wrong " + std::to_string(200 + p)
                     : ok(400, std::to_string(p));
  });
  world.proposer.sweeps = false;
  SearchOptions options;
  options.promotions = 2;
  SearchResult result = world.search(options);
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->idea.id, "scripted/1");
  EXPECT_EQ(result.counts.promotions, 2);
}

TEST(Search, PromotionsAreBounded) {
  World world(6, [](int idea, int p) {
    return "promote-wrong " + std::to_string(300 + idea) + " " +
           std::to_string(p);
  });
  world.proposer.sweeps = false;
  SearchOptions options;
  options.promotions = 2;
  SearchResult result = world.search(options);
  EXPECT_FALSE(result.winner);
  // Faults: twice as many as are allowed for their speed.
  EXPECT_EQ(result.counts.promotions, 4);
  EXPECT_THAT(result.noWinnerReason,
              HasSubstr("failed its second measurement: wrong: because"));

  World slow(6, [](int idea, int p) {
    return "promote-slow " + std::to_string(300 + idea) + " " +
           std::to_string(p);
  });
  slow.proposer.sweeps = false;
  result = slow.search(options);
  EXPECT_FALSE(result.winner);
  EXPECT_EQ(result.counts.promotions, 2);
}

TEST(Search, AfterAFaultThoseWithoutSplitBarriersComeFirst) {
  World world(4, [](int idea, int p) {
    const char *programs[] = {"promote-wrong 200 mbarWait", "ok 300 mbarWait",
                              "ok 400 barArrive", "ok 500"};
    return programs[idea] + std::string(p ? " second" : "");
  });
  world.proposer.sweeps = false;
  SearchOptions options;
  options.implementations = 1;
  SearchResult result = world.search(options);
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->variant.program, "ok 500");
  EXPECT_EQ(result.counts.promotions, 2);
}

TEST(Search, OnlyTheSecondMeasurementIsRecorded) {
  World world(1, [](int, int) { return ok(500); });
  SearchOptions options;
  SearchInput input = world.input();
  auto result = runSearch(input, options);
  ASSERT_TRUE(static_cast<bool>(result));
  ASSERT_TRUE(result->winner);
  result->winner->verdict.timing.candidate->medianNs = 510;
  EXPECT_EQ(winnerRecord(input, options, *result).medianNs, 510);
}

TEST(Search, UnfitWorkloadEndsAtOnce) {
  World world(6, [](int, int) { return std::string("unfit"); });
  SearchResult result = world.search(SearchOptions());
  EXPECT_EQ(result.end, SearchEnd::Unfit);
  EXPECT_EQ(world.evaluator.calls.size(), 1u);
  EXPECT_EQ(result.noWinnerReason, "because it is unfit");
}

// Its verdicts rest on an oracle that is wrong, on one side or the other.
TEST(Search, DisagreementOfOraclesEndsAtOnce) {
  World world(6, [](int, int) { return std::string("disagreement"); });
  SearchResult result = world.search(SearchOptions());
  EXPECT_EQ(result.end, SearchEnd::Disagreement);
  EXPECT_EQ(world.evaluator.calls.size(), 1u);
  EXPECT_FALSE(result.winner);
  EXPECT_EQ(result.noWinnerReason, "because it is disagreement");

  // Another run may find it when all that is left is the promotion.
  World late(6, [](int idea, int p) {
    return "promote-disagreement " + std::to_string(300 + idea) + " " +
           std::to_string(p);
  });
  late.proposer.sweeps = false;
  result = late.search(SearchOptions());
  EXPECT_EQ(result.end, SearchEnd::Disagreement);
  EXPECT_EQ(result.counts.promotions, 1);
  EXPECT_FALSE(result.winner);
  EXPECT_EQ(result.noWinnerReason, "because it is disagreement");
}

TEST(Search, ErrorsInARowEndTheSearch) {
  World world(60, [](int idea, int p) {
    return "error " + std::to_string(idea) + "/" + std::to_string(p);
  });
  SearchResult result = world.search(SearchOptions());
  EXPECT_EQ(result.end, SearchEnd::Unjudged);
  EXPECT_EQ(world.evaluator.calls.size(), 3u);
  EXPECT_EQ(result.detail, "3 evaluations in a row failed through no fault of "
                           "their variants: because it is error");
  EXPECT_EQ(result.noWinnerReason, result.detail);
  EXPECT_EQ(result.counts.failed, 3);
  EXPECT_EQ(result.counts.judged, 0);
}

TEST(Search, ABudgetDoesNotHideThatNothingWasJudged) {
  for (int budget : {1, 3}) {
    World world(60, [](int idea, int p) {
      return "error " + std::to_string(idea) + "/" + std::to_string(p);
    });
    SearchOptions options;
    options.budget.evaluations = budget;
    SearchResult result = world.search(options);
    EXPECT_EQ(result.end, SearchEnd::Unjudged);
    EXPECT_EQ(result.detail,
              (budget == 1 ? "its only evaluation" : "all 2 evaluations") +
                  std::string(" failed through no fault of the variant: "
                              "because it is error"));
  }
}

TEST(Search, EvaluatorThatCannotEvaluateIsAnError) {
  World world(6, [](int, int) { return std::string("broken"); });
  SearchInput input = world.input();
  auto result = runSearch(input, SearchOptions());
  ASSERT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(llvm::toString(result.takeError()), "no worker answers");
}

TEST(Search, InterruptEndsBetweenEvaluations) {
  World world(30, hill);
  world.stopRequested = [&] { return world.evaluator.calls.size() >= 5; };
  SearchResult result = world.search(SearchOptions());
  EXPECT_EQ(result.end, SearchEnd::Interrupted);
  EXPECT_EQ(world.evaluator.calls.size(), 5u);
  EXPECT_FALSE(result.winner);
  EXPECT_THAT(result.noWinnerReason, HasSubstr("run it again"));
}

// What an evaluation says that the interrupt itself may have broken is neither
// believed nor recorded; what passed is kept.
TEST(Search, FailureDuringAnInterruptIsNotBelieved) {
  for (const char *program : {"crash", "broken", "ok 500"}) {
    World world(1, [&](int, int) { return std::string(program); });
    MemoryFolder folder;
    bool stop = false;
    world.stopRequested = [&] { return stop; };
    world.evaluator.onCall = [&](size_t) { stop = true; };
    SearchOptions options;
    SearchResult result =
        world.search(options, world.openJournal(folder.str(), options).get());
    EXPECT_EQ(result.end, SearchEnd::Interrupted);
    bool passed = llvm::StringRef(program).starts_with("ok");
    EXPECT_EQ(result.history.size(), passed ? 1u : 0u);
    EXPECT_EQ(llvm::StringRef(readAll(folder.file("journal.jsonl")))
                  .count("\"type\":\"evaluation\""),
              passed ? 1u : 0u);
  }
}

TEST(Search, SeedsAreTriedFirstAndMayWin) {
  World world(2, hill);
  Variant seed;
  seed.program = "ok 100";
  world.seeds = {
      {Idea{"bank/old", IdeaCategory::Compute, "old winner", ""}, seed}};
  SearchResult result = world.search(SearchOptions());
  EXPECT_EQ(world.evaluator.calls.front(), "ok 100");
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->idea.id, "bank/old");
}

TEST(SearchOptions, BudgetIsParsedStrictly) {
  auto budget = parseSearchBudget("evaluations=200,minutes=1.5");
  ASSERT_TRUE(static_cast<bool>(budget));
  EXPECT_EQ(budget->evaluations, 200);
  EXPECT_EQ(budget->minutes, 1.5);
  for (const char *bad :
       {"", "evaluations", "evaluations=0", "evaluations=-1", "evaluations=1.5",
        "minutes=0", "minutes=nan", "hours=1", "evaluations=5,,minutes=1"}) {
    auto failed = parseSearchBudget(bad);
    ASSERT_FALSE(static_cast<bool>(failed)) << bad;
    EXPECT_THAT(llvm::toString(failed.takeError()),
                HasSubstr("write it as evaluations=200,minutes=10"));
  }
}
