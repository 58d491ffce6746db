//===- BoundaryChoiceTest.cpp - Which regions are better cut --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/BoundaryChoice.h"
#include "gtest/gtest.h"

using namespace fastk;

namespace {

BoundaryChoice region(double whole, double parts,
                      std::vector<std::string> keys = {"a", "b"}) {
  BoundaryChoice choice;
  choice.wholeSeconds = whole;
  choice.partsSeconds = parts;
  choice.wholeHasWinner = true;
  choice.heaviestHasWinner = true;
  choice.parts = std::move(keys);
  return choice;
}

bool isCut(BoundaryChoice choice) {
  chooseBoundaries(choice);
  return choice.isCut;
}

TEST(BoundaryChoice, TheFasterOneIsChosen) {
  EXPECT_TRUE(isCut(region(10, 6)));
  EXPECT_FALSE(isCut(region(10, 12)));
}

TEST(BoundaryChoice, ALittleFasterIsNotEnough) {
  EXPECT_FALSE(isCut(region(10, 9.6)));
  EXPECT_TRUE(isCut(region(10, 9.4)));
}

TEST(BoundaryChoice, WhatIsNotKnownStaysWhole) {
  EXPECT_FALSE(isCut(region(0, 6)));
  EXPECT_FALSE(isCut(region(10, 0)));
}

TEST(BoundaryChoice, ACompileCutsOnlyWhereTheHeaviestPartHasAWinner) {
  BoundaryChoice choice = region(10, 6);
  choice.heaviestHasWinner = false;
  EXPECT_FALSE(isCut(choice));
}

TEST(BoundaryChoice, APartThatWouldCutAnotherRegionToItsHarmIsNotStored) {
  std::vector<BoundaryChoice> choices = {region(10, 6, {"product", "gelu"}),
                                         region(7, 8, {"product", "relu"})};
  choices[1].wholeHasWinner = false;
  chooseBoundaries(choices);
  EXPECT_FALSE(choices[0].isCut);
  EXPECT_FALSE(choices[1].isCut);
  // With a winner of its own it is taken as a whole.
  choices[1].wholeHasWinner = true;
  chooseBoundaries(choices);
  EXPECT_TRUE(choices[0].isCut);
  EXPECT_FALSE(choices[1].isCut);
}

TEST(BoundaryChoice, HarmIsFollowedToItsEnd) {
  std::vector<BoundaryChoice> choices = {region(10, 6, {"a", "b"}),
                                         region(10, 6, {"b", "c"}),
                                         region(10, 12, {"c", "d"})};
  for (BoundaryChoice &choice : choices)
    choice.wholeHasWinner = false;
  chooseBoundaries(choices);
  for (const BoundaryChoice &choice : choices)
    EXPECT_FALSE(choice.isCut);
}

} // namespace
