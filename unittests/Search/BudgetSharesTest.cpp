//===- BudgetSharesTest.cpp - One budget for several searches -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/BudgetShares.h"
#include "SearchTestUtils.h"
#include "gmock/gmock.h"
#include <random>

using namespace fastk;
using namespace fastk::test;

namespace {

SearchBudget budgetOf(int64_t evaluations, double minutes) {
  SearchBudget budget;
  budget.evaluations = evaluations;
  budget.minutes = minutes;
  return budget;
}

TEST(BudgetShares, EqualWhenAllIsUsed) {
  BudgetShares shares(budgetOf(11, 9), 3);
  std::vector<int64_t> evaluations;
  for (int i = 0; i < 3; ++i) {
    auto share = shares.next();
    ASSERT_TRUE(share);
    evaluations.push_back(share->evaluations);
    EXPECT_DOUBLE_EQ(share->minutes, 3);
    shares.spend(share->evaluations, share->minutes * 60);
  }
  EXPECT_EQ(evaluations, (std::vector<int64_t>{4, 4, 3}));
}

TEST(BudgetShares, WhatIsLeftGoesToThoseAfter) {
  BudgetShares shares(budgetOf(30, 30), 3);
  shares.next();
  shares.spend(2, 60);
  auto second = shares.next();
  EXPECT_EQ(second->evaluations, 14);
  EXPECT_DOUBLE_EQ(second->minutes, 14.5);
  shares.spend(4, 90);
  auto third = shares.next();
  EXPECT_EQ(third->evaluations, 24);
  EXPECT_DOUBLE_EQ(third->minutes, 27.5);
}

TEST(BudgetShares, NoLimitStaysNone) {
  BudgetShares shares(SearchBudget(), 2);
  for (int i = 0; i < 2; ++i) {
    auto share = shares.next();
    ASSERT_TRUE(share);
    EXPECT_EQ(share->evaluations, 0);
    EXPECT_EQ(share->minutes, 0);
    shares.spend(1000, 1e6);
  }
}

/// A winner takes an evaluation and its second measurement: who has little
/// weight gets both, where they are there.
TEST(BudgetShares, LaterOnesAreLeftEnoughToWin) {
  BudgetShares shares(budgetOf(10, 9), std::vector<double>{99, 1, 1});
  EXPECT_EQ(shares.next()->evaluations, 6);
  shares.spend(6, 60);
  EXPECT_EQ(shares.next()->evaluations, 2);
  shares.spend(2, 60);
  EXPECT_EQ(shares.next()->evaluations, 2);
  // Of too few nobody gets more than there are.
  BudgetShares few(budgetOf(1, 9), std::vector<double>{1, 99});
  EXPECT_EQ(few.next()->evaluations, 1);
}

// 0 would mean no limit: a spent budget must not turn into that.
TEST(BudgetShares, SpentIsNoShare) {
  BudgetShares few(budgetOf(2, 0), 3);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(few.next());
    few.spend(1, 100);
  }
  EXPECT_FALSE(few.next());
  BudgetShares late(budgetOf(0, 1), 2);
  late.next();
  late.spend(10, 61);
  EXPECT_FALSE(late.next());
}

TEST(BudgetShares, HardLimitsHoldHoweverSearchesEnd) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 1000; ++trial) {
    size_t workloads = 1 + random() % 20;
    SearchBudget total = budgetOf(1 + random() % 100, 1 + random() % 100);
    BudgetShares shares(total, workloads);
    int64_t evaluations = 0;
    double seconds = 0;
    for (size_t i = 0; i < workloads; ++i) {
      auto share = shares.next();
      if (!share)
        continue;
      EXPECT_GE(share->evaluations, 1);
      int64_t used = random() % (share->evaluations + 1);
      double time = share->minutes * 60 * (random() % 101) / 100;
      shares.spend(used, time);
      evaluations += used;
      seconds += time;
    }
    EXPECT_LE(evaluations, total.evaluations);
    EXPECT_LE(seconds, total.minutes * 60 * (1 + 1e-9));
  }
}

// Less than an evaluation and a second measurement take is of no use: who comes
// first has that much, and the others what is left.
TEST(BudgetShares, MinutesForASecondMeasurementOrNone) {
  BudgetShares shares(budgetOf(0, 1), 4);
  EXPECT_DOUBLE_EQ(shares.next(/*leastSeconds=*/25)->minutes * 60, 25);
  shares.spend(0, 25);
  EXPECT_DOUBLE_EQ(shares.next(/*leastSeconds=*/10)->minutes * 60, 35. / 3);
  shares.spend(0, 5);
  EXPECT_DOUBLE_EQ(shares.next(/*leastSeconds=*/40)->minutes * 60, 30);
  shares.spend(0, 30);
  EXPECT_FALSE(shares.next(/*leastSeconds=*/1));
}

// A winner takes an evaluation and a second measurement: the first one's weight
// does not take that from those that come later, where it is there.
TEST(BudgetShares, WeightLeavesMinutesToWinForLaterOnes) {
  BudgetShares shares(budgetOf(0, 1), {8, 1, 1});
  EXPECT_DOUBLE_EQ(
      shares.next(/*leastSeconds=*/10, /*laterSeconds=*/20)->minutes * 60, 40);
  shares.spend(0, 40);
  EXPECT_DOUBLE_EQ(
      shares.next(/*leastSeconds=*/10, /*laterSeconds=*/10)->minutes * 60, 10);
  shares.spend(0, 10);
  EXPECT_DOUBLE_EQ(
      shares.next(/*leastSeconds=*/10, /*laterSeconds=*/0)->minutes * 60, 10);
  // Too little for all: it goes to those that come first.
  BudgetShares few(budgetOf(0, 1), {8, 1, 1});
  EXPECT_DOUBLE_EQ(
      few.next(/*leastSeconds=*/25, /*laterSeconds=*/50)->minutes * 60, 25);
  // What nobody knows the cost of has its part.
  BudgetShares unknown(budgetOf(0, 1), {1, 1});
  EXPECT_DOUBLE_EQ(
      unknown.next(/*leastSeconds=*/0, /*laterSeconds=*/60)->minutes * 60, 30);
}

// Searches on a clock of their own: the first is at its floor after an
// evaluation or two, the second has no ideas left, the third takes the rest.
TEST(BudgetShares, SearchesThatEndEarlyLeaveTheirTimeToTheOthers) {
  SearchOptions options;
  options.rounds = 100;
  options.patience = 100;
  SearchBudget total = budgetOf(0, 10);
  BudgetShares shares(total, 3);
  World floor(60, hill), poor(2, hill), rich(400, hill);
  floor.floorSeconds = 800e-9;
  poor.proposer.sweeps = false;
  std::vector<SearchEnd> ends;
  std::vector<double> used, given;
  for (World *world : {&floor, &poor, &rich}) {
    world->evaluator.secondsPerCall = 2;
    auto share = shares.next();
    ASSERT_TRUE(share);
    options.budget = *share;
    SearchResult result = world->search(options);
    shares.spend(result.counts.evaluations, result.elapsedSeconds);
    ends.push_back(result.end);
    given.push_back(share->minutes * 60);
    used.push_back(result.elapsedSeconds);
    EXPECT_LE(used.back(), given.back());
  }
  EXPECT_THAT(ends, testing::ElementsAre(SearchEnd::Floor, SearchEnd::Exhausted,
                                         SearchEnd::Budget));
  EXPECT_DOUBLE_EQ(given[0], 200);
  EXPECT_DOUBLE_EQ(given[1], (600 - used[0]) / 2);
  EXPECT_DOUBLE_EQ(given[2], 600 - used[0] - used[1]);
  EXPECT_GT(given[2], 500) << "far more than a third";
  EXPECT_GT(used[2], 0.8 * given[2]) << "and it is used";
}

// What a finished search spent is read from its journal: where its winner is in
// the bank already, it is not searched again.
TEST(BudgetShares, JournalTellsWhatWasSpent) {
  MemoryFolder folder;
  SearchOptions options;
  options.rounds = 1;
  World world(8, hill);
  SearchResult result =
      world.search(options, world.openJournal(folder.str(), options).get());
  ASSERT_TRUE(result.winner);
  Journal::Spent spent = Journal::spentIn(folder.str());
  EXPECT_EQ(spent.evaluations, result.counts.evaluations);
  EXPECT_DOUBLE_EQ(spent.seconds, result.elapsedSeconds);

  Journal::Spent none = Journal::spentIn(folder.file("none"));
  EXPECT_EQ(none.evaluations, 0);
  EXPECT_EQ(none.seconds, 0);
}

} // namespace
