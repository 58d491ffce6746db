//===- PowersTest.cpp - Powers that need no library -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedPointwise.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;
using testing::Not;

/// The header of x to a constant power.
static std::string headerOf(const std::string &exponent) {
  PointwiseText text;
  text.lines = "    %n = arith.constant " + exponent +
               " : f32\n    %v = math.powf %x, %n : f32\n";
  text.value = "%v";
  MatchedPointwise matched(text);
  return matched.header();
}

TEST(PowersTest, SquaresAreProducts) {
  EXPECT_THAT(headerOf("2.0"), HasSubstr(" = v.l0 * v.l0;"));
  EXPECT_THAT(headerOf("2.0"), Not(HasSubstr("powf(")));
}

TEST(PowersTest, OthersAreTheLibrarys) {
  for (const char *exponent : {"-2.0", "2.5", "0.5", "0x7FC00000"})
    EXPECT_THAT(headerOf(exponent), HasSubstr("powf(")) << exponent;
}
