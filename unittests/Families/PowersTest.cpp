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

using testing::ContainsRegex;

/// The header of x to a constant power.
static std::string headerOf(const std::string &power,
                            const std::string &exponent) {
  PointwiseText text;
  bool ofIntegers = power == "math.fpowi";
  text.lines = "    %n = arith.constant " + exponent +
               (ofIntegers ? " : i64" : " : f32") + "\n    %v = " + power +
               " %x, %n : f32" + (ofIntegers ? ", i64" : "") + "\n";
  text.value = "%v";
  MatchedPointwise matched(text);
  return matched.header();
}

class PowersTest : public testing::TestWithParam<const char *> {};

TEST_P(PowersTest, SmallWholeOnesAreProducts) {
  const bool ofIntegers = GetParam() == std::string("math.fpowi");
  auto exponent = [&](const std::string &whole) {
    return ofIntegers ? whole : whole + ".0";
  };
  std::string square = headerOf(GetParam(), exponent("2"));
  EXPECT_THAT(square, HasSubstr(" = v.l0 * v.l0;"));
  std::string fourth = headerOf(GetParam(), exponent("4"));
  EXPECT_THAT(fourth, Not(HasSubstr("pow")));
  // By squaring: one product more.
  EXPECT_EQ(llvm::StringRef(fourth).count(" * "),
            llvm::StringRef(square).count(" * ") + 1);
  EXPECT_THAT(headerOf(GetParam(), exponent("-2")),
              ContainsRegex("(t[0-9]+) = v.l0 \\* v.l0;[^;]* = 1.0f / t"));
}

INSTANTIATE_TEST_SUITE_P(All, PowersTest,
                         testing::Values("math.powf", "math.fpowi"));

TEST(PowersOfTheLibraryTest, AreOfOtherExponents) {
  for (const char *exponent : {"-3.0", "5.0", "2.5", "0.5", "0x7FC00000"})
    EXPECT_THAT(headerOf("math.powf", exponent), HasSubstr("powf("))
        << exponent;
}
