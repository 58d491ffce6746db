//===- AttentionErrorsTest.cpp - What is no attention ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedAttention.h"
#include "fastk/Families/ContractionText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

/// The text with the first `from` as `to`.
static std::string replaced(std::string text, const std::string &from,
                            const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos)
    text.replace(at, from.size(), to);
  return text;
}

static void expectNone(const std::string &text, const char *why) {
  MatchedAttention matched(text);
  EXPECT_FALSE(matched.core) << text;
  EXPECT_THAT(matched.why, HasSubstr(why));
}

TEST(AttentionErrorsTest, AProductAloneIsNone) {
  expectNone(families::ContractionText().str(),
             "of its last product no factor, or both, are reductions");
}

TEST(AttentionErrorsTest, WeightsAreExponentialsOfWhatIsLessItsMaximum) {
  std::string text = AttentionText().str();
  expectNone(replaced(text, "math.exp ", "math.exp2 "),
             "its weights are no exponentials");
  expectNone(replaced(text, "arith.subf %x, %most32", "arith.addf %x, %most32"),
             "its scores are not less their maximum");
  expectNone(replaced(text, "%next = arith.maximumf", "%next = arith.minimumf"),
             "its scores are not less their maximum");
  // Of another start no row is minus infinity.
  expectNone(replaced(text, "%most_start = arith.constant 0xFF800000",
                      "%most_start = arith.constant 0.0"),
             "its scores are not less their maximum");
}

/// Families add in f32.
TEST(AttentionErrorsTest, NothingIsOfF64) {
  AttentionText text;
  text.type = text.result = "f32";
  std::string wide = text.str();
  for (size_t at = 0; (at = wide.find("f32", at)) != std::string::npos;)
    wide.replace(at, 3, "f64");
  for (size_t at = 0; (at = wide.find("0xFF800000", at)) != std::string::npos;)
    wide.replace(at, 10, "0xFFF0000000000000");
  expectNone(wide, "its result is of f64, which no family computes");
}

TEST(AttentionErrorsTest, WeightsAreDividedByTheirSum) {
  std::string text = AttentionText().str();
  expectNone(replaced(text, "%sum_start = arith.constant 0.0",
                      "%sum_start = arith.constant 1.0"),
             "its weights are not divided by their sum");
  expectNone(replaced(text, "arith.divf %x, %sum32", "arith.mulf %x, %sum32"),
             "its weights are not divided by a sum");
  expectNone(replaced(text, "arith.divf %x, %sum32", "arith.divf %sum32, %x"),
             "its weights are not divided by a sum");
  AttentionText last;
  last.dividesLast = true;
  expectNone(replaced(last.str(), "%y = arith.divf %x, %sum32",
                      "%y = arith.addf %x, %sum32"),
             "its result is no quotient of two sums");
}

TEST(AttentionErrorsTest, RowsThatAreZeroAreThoseWithoutAKey) {
  AttentionText text;
  text.hasZeroRows = true;
  expectNone(replaced(text.str(), "arith.cmpf oeq", "arith.cmpf ole"),
             "its weights are zero on a condition that is not known");
  expectNone(replaced(text.str(), "%next = arith.andi", "%next = arith.ori"),
             "its weights are zero on a condition that is not known");
}

TEST(AttentionErrorsTest, ProductsAreAddedToNothing) {
  std::string text = AttentionText().str();
  expectNone(replaced(text, "linalg.fill ins(%zero : f32) outs(%sums_empty",
                      "linalg.fill ins(%scale : f32) outs(%sums_empty"),
             "a product is added to something");
  expectNone(replaced(text, "linalg.fill ins(%zero : f32) outs(%products_empty",
                      "linalg.fill ins(%scale : f32) outs(%products_empty"),
             "a product is added to something");
}
