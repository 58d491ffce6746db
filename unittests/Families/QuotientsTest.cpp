//===- QuotientsTest.cpp - Divisions that take no branch ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaOnHost.h"
#include "MatchedPointwise.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;
using testing::Not;

/// Elements x and y as %v, which lines make.
static PointwiseText textOf(const std::string &lines,
                            const std::string &result = "f32") {
  PointwiseText text;
  text.operands = {{"x", "rc"}, {"y", "rc"}};
  text.lines = lines;
  text.value = "%v";
  text.result = result;
  return text;
}

static std::string headerOf(const PointwiseText &text) {
  MatchedPointwise matched(text);
  return matched.header();
}

static std::string by(const std::string &constant) {
  return headerOf(textOf("    %d = arith.constant " + constant +
                         " : f32\n    %u = arith.addf %x, %y : f32\n"
                         "    %v = arith.divf %u, %d : f32\n"));
}

TEST(QuotientsTest, TakeNoBranch) {
  EXPECT_THAT(headerOf(textOf("    %v = arith.divf %x, %y : f32\n")),
              HasSubstr(" = fk_divide("));
  // Results that are rounded have the same.
  EXPECT_THAT(headerOf(textOf("    %v = arith.divf %x, %y : f32\n", "f16")),
              HasSubstr(" = fk_divide("));
  EXPECT_THAT(headerOf(textOf("    %u = arith.addf %x, %y : f32\n"
                              "    %v = math.rsqrt %u : f32\n")),
              HasSubstr(" = rsqrtf("));
}

TEST(QuotientsTest, ByAConstantAreProducts) {
  EXPECT_THAT(by("6.0"), HasSubstr(" * 0x1.555556p-3f;"));
  EXPECT_THAT(by("-8.0"), HasSubstr(" * (-0x1p-3f);"));
}

/// Where the inverse is zero, infinite or has lost digits.
TEST(QuotientsTest, ByAConstantWithoutAnInverseAreNot) {
  for (const char *constant :
       {"0.0", "0x7F800000", "0x7FC00000", "0x7F000000", "0x00000001"})
    EXPECT_THAT(by(constant), HasSubstr(" = fk_divide(")) << constant;
}

/// 2.9999998 is less than 3, and its floor is 2.
TEST(QuotientsTest, AreExactWhereAStepFollows) {
  EXPECT_THAT(headerOf(textOf("    %q = arith.divf %x, %y : f32\n"
                              "    %v = math.floor %q : f32\n")),
              Not(HasSubstr(" = fk_divide(")));
  // Wherever it is.
  EXPECT_THAT(headerOf(textOf("    %q = arith.divf %x, %y : f32\n"
                              "    %s = arith.addf %q, %x : f32\n"
                              "    %i = arith.fptosi %s : f32 to i32\n"
                              "    %v = arith.sitofp %i : i32 to f32\n")),
              Not(HasSubstr(" = fk_divide(")));
  EXPECT_THAT(headerOf(textOf("    %q = arith.divf %x, %y : f32\n"
                              "    %c = arith.cmpf oge, %q, %x : f32\n"
                              "    %v = arith.select %c, %x, %y : f32\n")),
              Not(HasSubstr(" = fk_divide(")));
}

TEST(QuotientsTest, OthersMayBeCompared) {
  EXPECT_THAT(headerOf(textOf("    %c = arith.cmpf oge, %y, %x : f32\n"
                              "    %s = arith.select %c, %x, %y : f32\n"
                              "    %v = arith.divf %s, %y : f32\n")),
              HasSubstr(" = fk_divide("));
}

/// A sign is exact, and of two that are equal either may be the larger.
TEST(QuotientsTest, MayBeComparedWhereNoStepFollows) {
  const std::string quotient = "    %q = arith.divf %x, %y : f32\n";
  EXPECT_THAT(
      headerOf(textOf(quotient + "    %zero = arith.constant 0.0 : f32\n"
                                 "    %c = arith.cmpf ogt, %q, %zero : f32\n"
                                 "    %s = arith.mulf %q, %x : f32\n"
                                 "    %v = arith.select %c, %q, %s : f32\n")),
      HasSubstr(" = fk_divide("));
  EXPECT_THAT(headerOf(textOf(quotient +
                              "    %most = arith.constant 6.0 : f32\n"
                              "    %c = arith.cmpf olt, %q, %most : f32\n"
                              "    %v = arith.select %c, %q, %most : f32\n")),
              HasSubstr(" = fk_divide("));
}

/// Two ops of a workload, the first of which divides: what the second makes of
/// q.
static std::string headerOfTwo(const std::string &lines) {
  const std::string type = "tensor<8x64xf32>";
  const std::string maps =
      "{indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> "
      "(r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = "
      "[\"parallel\", \"parallel\"]}";
  MatchedPointwise matched(
      "func.func @f(%a: " + type + ", %b: " + type + ") -> " + type +
      " {\n  %e = tensor.empty() : " + type + "\n  %0 = linalg.generic " +
      maps + " ins(%a, %b : " + type + ", " + type + ") outs(%e : " + type +
      ") {\n  ^bb0(%x: f32, %y: f32, %o: f32):\n"
      "    %d = arith.divf %x, %y : f32\n    linalg.yield %d : f32\n  } -> " +
      type + "\n  %1 = linalg.generic " + maps + " ins(%0, %a : " + type +
      ", " + type + ") outs(%e : " + type +
      ") {\n  ^bb0(%q: f32, %x: f32, %o: f32):\n" + lines +
      "    linalg.yield %v : f32\n  } -> " + type + "\n  return %1 : " + type +
      "\n}\n");
  return matched.header();
}

TEST(QuotientsTest, AreExactWhereAnotherOpComparesThem) {
  EXPECT_THAT(headerOfTwo("    %c = arith.cmpf oge, %q, %x : f32\n"
                          "    %one = arith.constant 1.0 : f32\n"
                          "    %v = arith.select %c, %one, %x : f32\n"),
              Not(HasSubstr(" = fk_divide(")));
  EXPECT_THAT(headerOfTwo("    %v = arith.addf %q, %x : f32\n"),
              HasSubstr(" = fk_divide("));
}

TEST(QuotientsTest, AreWhatTheyWere) {
  MatchedPointwise matched(textOf("    %d = arith.constant 6.0 : f32\n"
                                  "    %q = arith.divf %x, %d : f32\n"
                                  "    %v = arith.divf %q, %y : f32\n"));
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(runPointwise(matched.header(), *matched.form, 0, 0, R"(
  for (long i = 0; i < elements; ++i) {
    const double wanted = a0[i] / 6.0 / a1[i], off = out[i] - wanted;
    if (!(fabs(off) <= 3e-7 * fabs(wanted)) && !(out[i] - out[i] != 0 && a1[i] == 0))
      return bad(i, out[i], wanted);
  }
)"),
            "");
}
