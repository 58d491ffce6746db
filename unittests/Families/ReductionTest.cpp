//===- ReductionTest.cpp - Workloads that reduce rows ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Reduction.h"
#include "Matched.h"
#include "fastk/Families/ReductionText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;
using testing::Not;

using MatchedReduction = Matched<ReductionText, matchReductions>;

static ReductionText softmax() {
  ReductionText text;
  text.statistics = {{"most", "", "%x", "arith.maximumf", "0xFF800000"},
                     {"sum",
                      "    %less = arith.subf %x, %most : f32\n"
                      "    %e = math.exp %less : f32\n",
                      "%e"}};
  text.tail = "    %less = arith.subf %x, %most : f32\n"
              "    %e = math.exp %less : f32\n"
              "    %y = arith.divf %e, %sum : f32\n";
  text.value = "%y";
  return text;
}

static ReductionText sum() {
  ReductionText text;
  text.statistics = {{"sum", "", "%x"}};
  text.value = "%sum";
  text.isPerRow = true;
  return text;
}

TEST(ReductionTest, SoftmaxHasTwoPasses) {
  MatchedReduction matched(softmax());
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->rowCount, 8);
  EXPECT_EQ(matched.core->columnCount, 64);
  EXPECT_EQ(matched.core->stages, 2u);
  EXPECT_FALSE(matched.core->isPerRow);
  ASSERT_EQ(matched.core->loads.size(), 1u);
  EXPECT_TRUE(matched.core->loads[0].hasRow);
  EXPECT_TRUE(matched.core->loads[0].hasColumn);
  std::string header = matched.header();
  for (const char *line :
       {"#define ROWS 8\n", "#define COLUMNS 64\n", "#define STAGES 2\n",
        "#define PER_ROW 0\n", "#define VALUE_BYTES 4\n",
        "#define STATISTICS_BYTES 8\n", "#define COLUMN_VECTOR 4\n",
        "#define ROW_VECTOR 1\n", "#define COLUMNS_ADJACENT 1\n",
        "#define ROWS_ADJACENT 0\n"})
    EXPECT_THAT(header, HasSubstr(line));
}

TEST(ReductionTest, ASumHasAnElementForEachRow) {
  MatchedReduction matched(sum());
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_TRUE(matched.core->isPerRow);
  EXPECT_EQ(matched.core->stages, 1u);
  EXPECT_THAT(matched.header(), HasSubstr("finishRow("));
  EXPECT_THAT(matched.header(), Not(HasSubstr("finishColumns(")));
}

TEST(ReductionTest, ColumnsMayLieApart) {
  ReductionText text = softmax();
  text.dims = text.operands[0].dims = "cr";
  text.extents['r'] = 24;
  MatchedReduction matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->rowCount, 24);
  std::string header = matched.header();
  EXPECT_THAT(header, HasSubstr("#define COLUMN_VECTOR 1\n"));
  EXPECT_THAT(header, HasSubstr("#define ROW_VECTOR 4\n"));
  EXPECT_THAT(header, HasSubstr("#define ROWS_ADJACENT 1\n"));
  EXPECT_THAT(header, HasSubstr("#define COLUMNS_ADJACENT 0\n"));
}

TEST(ReductionTest, TwoLoopsOfColumnsWithRowsBetween) {
  ReductionText text = softmax();
  text.dims = text.operands[0].dims = "crd";
  text.reduced = "cd";
  text.extents = {{'c', 4}, {'r', 6}, {'d', 10}};
  MatchedReduction matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->rowCount, 6);
  EXPECT_EQ(matched.core->columnCount, 40);
  EXPECT_EQ(matched.core->columns.size(), 2u);
  // Neighbours of an odd number of rows begin anywhere.
  EXPECT_THAT(matched.header(), HasSubstr("#define COLUMN_VECTOR 2\n"));
}

class ReductionProductsTest : public testing::TestWithParam<const char *> {};

/// Fused with the subtraction, a product that is rounded for the maximum would
/// give differences without bound.
TEST_P(ReductionProductsTest, AreRoundedInEachPass) {
  ReductionText text = softmax();
  std::string scale = GetParam();
  auto scaled = [&](std::string body) {
    for (size_t at = 0; (at = body.find("%x, %most", at)) != std::string::npos;
         at += 4)
      body.replace(at, 2, "%s");
    return scale + body;
  };
  text.statistics[0].lines = scale;
  text.statistics[0].value = "%s";
  text.statistics[1].lines = scaled(text.statistics[1].lines);
  text.tail = scaled(text.tail);
  MatchedReduction matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  std::string header = matched.header();
  // In two passes and in the result.
  EXPECT_GE(llvm::StringRef(header).count("= __fmul_rn("), 3u) << header;
  EXPECT_THAT(header, Not(testing::ContainsRegex("= [a-z]+[0-9.]+[^ ]* \\* ")));
}

INSTANTIATE_TEST_SUITE_P(
    All, ReductionProductsTest,
    testing::Values("    %s = arith.mulf %x, %x : f32\n",
                    "    %n = arith.constant 2.0 : f32\n"
                    "    %s = math.powf %x, %n : f32\n",
                    "    %n = arith.constant -2.0 : f32\n"
                    "    %s = math.powf %x, %n : f32\n",
                    "    %n = arith.constant 3 : i64\n"
                    "    %s = math.fpowi %x, %n : f32, i64\n"));

TEST(ReductionTest, WhatIsOfEachColumnIsNoValue) {
  ReductionText text = softmax();
  text.operands.push_back({"gamma", "c", "f32"});
  text.tail += "    %z = arith.mulf %y, %gamma : f32\n";
  text.value = "%z";
  MatchedReduction matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  ASSERT_EQ(matched.core->loads.size(), 2u);
  EXPECT_THAT(matched.header(), HasSubstr("#define VALUE_BYTES 4\n"));
}

TEST(ReductionTest, WhatManyElementsShareIsNoValue) {
  // A weight of each channel, which lies in a group and in a row of its own.
  ReductionText text = softmax();
  text.dims = text.operands[0].dims = "rcd";
  text.reduced = "cd";
  text.extents = {{'r', 4}, {'c', 6}, {'d', 16}};
  text.operands.push_back({"gamma", "rc", "f32"});
  text.tail += "    %z = arith.mulf %y, %gamma : f32\n";
  text.value = "%z";
  MatchedReduction matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.header(), HasSubstr("#define VALUE_BYTES 4\n"));
  EXPECT_THAT(matched.header(), HasSubstr("#define COLUMN_VECTOR 4\n"));
}

TEST(ReductionTest, OneRowKeepsItsValues) {
  ReductionText text = softmax();
  text.extents = {{'r', 1}, {'c', 64}};
  MatchedReduction matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.header(), HasSubstr("#define VALUE_BYTES 4\n"));
}

TEST(ReductionTest, HalvesAreLoadedEightAtATime) {
  ReductionText text = softmax();
  text.operands[0].type = text.result = "f16";
  MatchedReduction matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.header(), HasSubstr("#define COLUMN_VECTOR 8\n"));
}

TEST(ReductionTest, EverySampleIsOne) {
  for (uint64_t number = 0; number < 120; ++number) {
    ReductionSample sample = sampleReduction(1, number);
    MatchedReduction matched(sample.text);
    ASSERT_TRUE(matched.core) << sample.about << ": " << matched.why << "\n"
                              << sample.text.str();
    EXPECT_EQ(matched.core->rowCount * matched.core->columnCount,
              sample.text.elements(sample.text.dims))
        << sample.about;
    EXPECT_EQ(matched.core->isPerRow, sample.text.isPerRow) << sample.about;
    EXPECT_THAT(matched.header(), HasSubstr("#define ROWS ")) << sample.about;
  }
}

TEST(ReductionErrorsTest, WhatReducesNothing) {
  MatchedReduction matched(R"(
    func.func @f(%a: tensor<64xf16>) -> tensor<64xf16> {
      %e = tensor.empty() : tensor<64xf16>
      %r = linalg.negf ins(%a : tensor<64xf16>) outs(%e : tensor<64xf16>) -> tensor<64xf16>
      return %r : tensor<64xf16>
    })");
  EXPECT_FALSE(matched.core);
  EXPECT_EQ(matched.why, "it reduces nothing");
}

TEST(ReductionErrorsTest, AProductOfMatricesReadsEachOperandManyTimes) {
  MatchedReduction matched(R"(
    func.func @f(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>) -> tensor<8x32xf32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<8x32xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
      %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x32xf32>)
             outs(%i : tensor<8x32xf32>) -> tensor<8x32xf32>
      return %r : tensor<8x32xf32>
    })");
  EXPECT_FALSE(matched.core);
  EXPECT_EQ(matched.why, "no operand has an element for each row and column");
}

TEST(ReductionErrorsTest, SumsOverDifferentLoops) {
  MatchedReduction matched(R"(
    func.func @f(%a: tensor<16x16xf32>) -> tensor<16xf32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<16xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%a : tensor<16x16xf32>) outs(%i : tensor<16xf32>) {
      ^bb0(%x: f32, %o: f32):
        %s = arith.addf %o, %x : f32
        linalg.yield %s : f32
      } -> tensor<16xf32>
      %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
          affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
          ins(%a, %r : tensor<16x16xf32>, tensor<16xf32>) outs(%i : tensor<16xf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %d = arith.subf %x, %y : f32
        %s = arith.addf %o, %d : f32
        linalg.yield %s : f32
      } -> tensor<16xf32>
      return %c : tensor<16xf32>
    })");
  EXPECT_FALSE(matched.core);
}
