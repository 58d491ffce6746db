//===- ModelSharesTest.cpp - What a model's searches can gain -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/ModelShares.h"
#include "fastk/Search/BudgetShares.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace fastk;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

ModelPart part(int64_t calls, double seconds, double floorSeconds) {
  ModelPart part;
  part.calls = calls;
  part.seconds = seconds;
  part.floorSeconds = floorSeconds;
  part.isSearched = true;
  return part;
}

TEST(ModelShares, WeightIsCallsTimesWhatIsAboveTheFloor) {
  std::vector<ModelPart> parts = {part(1, 10, 2), part(12, 3, 1),
                                  part(2, 5, 4.5)};
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(1, 0, 2));
  EXPECT_THAT(shares.weights,
              ElementsAre(DoubleEq(24), DoubleEq(8), DoubleEq(1)));
  EXPECT_THAT(shares.tooSmall, IsEmpty());
}

TEST(ModelShares, WhatCannotPayIsNotSearched) {
  // Little time; much time, but at its floor.
  std::vector<ModelPart> parts = {part(1, 1000, 100), part(1, 1, 0.1),
                                  part(1, 800, 797)};
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(0));
  EXPECT_THAT(shares.tooSmall, ElementsAre(1, 2));
}

TEST(ModelShares, TheOnlyOneIsSearchedWhateverItCanGain) {
  std::vector<ModelPart> parts = {part(1, 1, 1), part(1, 1000, 10)};
  parts[1].isSearched = false;
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(0));
  EXPECT_THAT(shares.weights, ElementsAre(1));
}

TEST(ModelShares, UnknownTimesAreAsFarAboveTheirFloorsAsTheKnown) {
  // Known is a gain of 6 + 6 above floors of 1 + 2.
  std::vector<ModelPart> parts = {part(1, 7, 1), part(2, 4, 1), part(2, 0, 3),
                                  part(1, 0, 1)};
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(shares.weights,
              ElementsAre(DoubleEq(24), DoubleEq(6), DoubleEq(6), DoubleEq(4)));
}

TEST(ModelShares, WhereNoTimeIsKnownTheFloorsDecide) {
  std::vector<ModelPart> parts = {part(3, 0, 1e-3), part(1, 0, 2e-3),
                                  part(1, 0, 5e-3)};
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(2, 0, 1));
  EXPECT_THAT(shares.weights,
              ElementsAre(DoubleEq(5e-3), DoubleEq(3e-3), DoubleEq(2e-3)));
  EXPECT_THAT(shares.tooSmall, IsEmpty());
}

TEST(ModelShares, OneKnownTimeLeavesTheProportionsOfTheFloors) {
  // The answers of one workload come before those of the others: it still has
  // its share, and they theirs.
  std::vector<ModelPart> parts = {part(3, 6e-3, 1e-3), part(1, 0, 2e-3),
                                  part(1, 0, 5e-3)};
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(2, 0, 1));
  EXPECT_THAT(shares.weights,
              ElementsAre(DoubleEq(25e-3), DoubleEq(15e-3), DoubleEq(10e-3)));
}

TEST(ModelShares, OfWhatHasAWinnerNothingIsConcluded) {
  std::vector<ModelPart> parts = {part(1, 100, 1), part(1, 0, 2)};
  parts[0].isSearched = false;
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(1));
  EXPECT_THAT(shares.weights, ElementsAre(DoubleEq(2)));
}

TEST(ModelShares, NothingAboveTheFloorTellsNothingOfOthers) {
  std::vector<ModelPart> parts = {part(1, 5, 5), part(3, 0, 2)};
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(1));
  EXPECT_THAT(shares.weights, ElementsAre(DoubleEq(6)));
  EXPECT_THAT(shares.tooSmall, ElementsAre(0));
}

TEST(ModelShares, UnknownTimesAndFloorsCountAsTheAverage) {
  std::vector<ModelPart> parts = {part(1, 0, 0), part(1, 7, 1), part(1, 3, 1)};
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(1, 0, 2));
  EXPECT_THAT(shares.weights,
              ElementsAre(DoubleEq(6), DoubleEq(4), DoubleEq(2)));
}

TEST(ModelShares, TheAverageIsOfGuessesToo) {
  std::vector<ModelPart> parts = {part(9, 0, 0), part(1, 0, 1e-3),
                                  part(1, 0, 3e-3)};
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(2, 0, 1));
  EXPECT_THAT(shares.weights,
              ElementsAre(DoubleEq(3e-3), DoubleEq(2e-3), DoubleEq(1e-3)));
}

TEST(ModelShares, NothingKnownIsEqualAndInOrder) {
  std::vector<ModelPart> parts = {part(3, 0, 0), part(1, 0, 0), part(9, 0, 0)};
  ModelShares shares = shareByGain(parts);
  EXPECT_THAT(shares.order, ElementsAre(0, 1, 2));
  EXPECT_THAT(shares.weights, ElementsAre(1, 1, 1));
}

TEST(ModelShares, BudgetFollowsTheWeights) {
  SearchBudget budget;
  budget.evaluations = 100;
  budget.minutes = 10;
  BudgetShares shares(budget, {6.0, 3.0, 1.0});
  auto first = shares.next();
  EXPECT_EQ(first->evaluations, 60);
  EXPECT_DOUBLE_EQ(first->minutes, 6);
  shares.spend(20, 60); // 80 and 9 are left
  auto second = shares.next();
  EXPECT_EQ(second->evaluations, 60);
  EXPECT_DOUBLE_EQ(second->minutes, 6.75);
  shares.spend(60, 6.75 * 60);
  auto third = shares.next();
  EXPECT_EQ(third->evaluations, 20);
  EXPECT_DOUBLE_EQ(third->minutes, 2.25);
}

TEST(ModelShares, TheTableSaysSharesBeforeAndAfter) {
  std::vector<ModelPart> parts = {part(2, 1e-3, 1e-4), part(1, 6e-3, 3e-3)};
  parts[0].name = "softmax";
  parts[1].name = "matmul";
  parts[1].secondsAfter = 3e-3;
  std::string before, after;
  llvm::raw_string_ostream beforeStream(before), afterStream(after);
  printModelParts(parts, /*isAfter=*/false, beforeStream);
  printModelParts(parts, /*isAfter=*/true, afterStream);
  EXPECT_THAT(before, HasSubstr("where the time goes: 8.00 ms in 3 calls of 2 "
                                "workloads\n"));
  EXPECT_THAT(before,
              testing::ContainsRegex("75.0 %.*6.00 ms.*1.*50 %.*matmul\n"
                                     ".*25.0 %.*2.00 ms.*2.*10 %.*soft"));
  EXPECT_THAT(after,
              HasSubstr("5.00 ms in 3 calls of 2 workloads, 8.00 ms before: "
                        "1.60x as fast\n"));
  EXPECT_THAT(after, testing::ContainsRegex("60.0 %.*3.00 ms.*100 %.*matmul"));
}

TEST(ModelShares, NoTableWhereNothingIsKnown) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printModelParts({part(1, 0, 1)}, /*isAfter=*/false, os);
  EXPECT_EQ(text, "");
}

} // namespace
