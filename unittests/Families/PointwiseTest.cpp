//===- PointwiseTest.cpp - Workloads without reductions -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Pointwise.h"
#include "MatchedPointwise.h"
#include "fastk/Families/Samples.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;

using Access = PointwiseCore::Access;

static PointwiseText negated() {
  PointwiseText text;
  text.lines = "    %n = arith.negf %x : f32\n";
  text.value = "%n";
  return text;
}

TEST(PointwiseTest, WhatLiesAsTheResultDoesIsOneDimension) {
  MatchedPointwise matched(negated());
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->elements, 512);
  EXPECT_EQ(matched.core->vars.size(), 1u);
  ASSERT_EQ(matched.core->loads.size(), 1u);
  EXPECT_EQ(matched.core->accesses[0], Access::Contiguous);
  EXPECT_TRUE(matched.core->loads[0].isOnce);
  std::string header = matched.header();
  for (const char *line :
       {"#define ELEMENTS 512\n", "#define DIMENSIONS 1\n",
        "#define COLUMNS 512\n", "#define ROWS 1\n", "#define OUTER 1\n",
        "#define VECTOR 4\n", "#define ROW_VECTOR 1\n",
        "#define CONTIGUOUS_BYTES 4\n", "#define TRANSPOSED 0\n",
        "#define APART_BYTES 0\n", "#define BROADCAST_BYTES 0\n",
        "#define VALUE_BYTES 4\n", "#define OUT_IS_F32 1\n",
        "typedef i32 Index;\n"})
    EXPECT_THAT(header, HasSubstr(line));
}

TEST(PointwiseTest, HalvesAreEightAtATime) {
  PointwiseText text = negated();
  text.operands[0].type = text.result = "bf16";
  EXPECT_THAT(MatchedPointwise(text).header(), HasSubstr("#define VECTOR 8\n"));
  // The widest element says how many.
  text.result = "f32";
  EXPECT_THAT(MatchedPointwise(text).header(), HasSubstr("#define VECTOR 4\n"));
}

TEST(PointwiseTest, AnOperandOfColumnsKeepsRowsApart) {
  PointwiseText text = negated();
  text.operands.push_back({"y", "c"});
  text.lines = "    %n = arith.mulf %x, %y : f32\n";
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->vars.size(), 2u);
  ASSERT_EQ(matched.core->loads.size(), 2u);
  EXPECT_EQ(matched.core->accesses[1], Access::Broadcast);
  EXPECT_FALSE(matched.core->loads[1].isOnce);
  std::string header = matched.header();
  EXPECT_THAT(header, HasSubstr("#define BROADCAST_BYTES 4\n"));
  EXPECT_THAT(header, HasSubstr("#define VECTOR 4\n"));
}

TEST(PointwiseTest, ATransposedOperandHasRows) {
  PointwiseText text = negated();
  text.dims = "brc";
  text.extents = {{'b', 3}, {'r', 24}, {'c', 20}};
  text.operands[0].dims = "bcr";
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->accesses[0], Access::Transposed);
  std::string header = matched.header();
  for (const char *line :
       {"#define OUTER 3\n", "#define ROWS 24\n", "#define COLUMNS 20\n",
        "#define VECTOR 4\n", "#define ROW_VECTOR 4\n",
        "#define TRANSPOSED 1\n", "#define TRANSPOSED_BYTES 4\n",
        "#define CONTIGUOUS_BYTES 0\n"})
    EXPECT_THAT(header, HasSubstr(line));
}

TEST(PointwiseTest, DimensionsThatMoveTogetherAreOne) {
  // Pixels of channels that come last.
  PointwiseText text = negated();
  text.dims = "bchw";
  text.extents = {{'b', 2}, {'c', 3}, {'h', 5}, {'w', 8}};
  text.operands[0].dims = "bhwc";
  std::string header = MatchedPointwise(text).header();
  EXPECT_THAT(header, HasSubstr("#define DIMENSIONS 3\n"));
  EXPECT_THAT(header, HasSubstr("#define COLUMNS 40\n"));
  EXPECT_THAT(header, HasSubstr("#define ROWS 3\n"));
  EXPECT_THAT(header, HasSubstr("#define ROW_VECTOR 1\n"));
}

TEST(PointwiseTest, RowsOfTheSameOrderAreNoTranspose) {
  PointwiseText text = negated();
  text.dims = "abc";
  text.extents = {{'a', 6}, {'b', 10}, {'c', 8}};
  text.operands[0].dims = "bac";
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->accesses[0], Access::Contiguous);
  EXPECT_THAT(matched.header(), HasSubstr("#define VECTOR 4\n"));
}

TEST(PointwiseTest, ASliceMayBeginAnywhere) {
  PointwiseText text = negated();
  text.operands[0].made = PointwiseText::Operand::Sliced;
  text.operands[0].along = 'c';
  text.operands[0].before = 1;
  std::string header = MatchedPointwise(text).header();
  // Results are stored together, elements are loaded one by one.
  EXPECT_THAT(header, HasSubstr("#define VECTOR 4\n"));
  EXPECT_THAT(header, HasSubstr("loadTogether<1, false>(in0"));
  text.operands[0].before = 4;
  EXPECT_THAT(MatchedPointwise(text).header(),
              HasSubstr("loadTogether<4, ONCE>(in0"));
}

TEST(PointwiseTest, APadIsLoadedWhereItIsThere) {
  PointwiseText text = negated();
  text.operands[0].made = PointwiseText::Operand::Padded;
  text.operands[0].along = 'c';
  text.operands[0].before = 4;
  text.operands[0].behind = 8;
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  ASSERT_EQ(matched.core->loads.size(), 1u);
  EXPECT_EQ(matched.core->loads[0].guards.size(), 1u);
  std::string header = matched.header();
  EXPECT_THAT(header, HasSubstr(">= 4 && v"));
  EXPECT_THAT(header, HasSubstr("< 56) loadTogether<4, ONCE>(in0"));
  EXPECT_THAT(header, HasSubstr(": 0x1.8p+0f;"));
}

TEST(PointwiseTest, AConcatenationHasAGuardForEachPart) {
  PointwiseText text = negated();
  text.operands[0].made = PointwiseText::Operand::Joined;
  text.operands[0].along = 'r';
  text.operands[0].before = 3;
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  ASSERT_EQ(matched.core->loads.size(), 2u);
  // Columns are not cut.
  std::string header = matched.header();
  EXPECT_THAT(header, HasSubstr("< 3) loadTogether<4, ONCE>(in0"));
  EXPECT_THAT(header, HasSubstr(">= 3) loadTogether<4, ONCE>(in1"));
}

TEST(PointwiseTest, APartThatEndsWithinAVectorIsLoadedInPieces) {
  PointwiseText text = negated();
  text.operands[0].made = PointwiseText::Operand::Joined;
  text.operands[0].along = 'c';
  text.operands[0].before = 30;
  std::string header = MatchedPointwise(text).header();
  EXPECT_THAT(header, HasSubstr("#define VECTOR 4\n"));
  EXPECT_THAT(header, HasSubstr("< 30) loadTogether<2, false>(in0"));
  EXPECT_THAT(header, HasSubstr(">= 30) loadTogether<2, false>(in1"));
}

TEST(PointwiseTest, TheSameElementUnderAnotherGuardIsAnotherLoad) {
  MatchedPointwise matched(R"(
    func.func @f(%a: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %low = tensor.extract_slice %a[0, 0] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
      %high = tensor.extract_slice %a[0, 32] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
      %turned = tensor.concat dim(1) %high, %low
          : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x64xf32>
      %e = tensor.empty() : tensor<8x64xf32>
      %r = linalg.add ins(%a, %turned : tensor<8x64xf32>, tensor<8x64xf32>)
          outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      return %r : tensor<8x64xf32>
    })");
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->loads.size(), 3u);
  for (const PlacedLoad &load : matched.core->loads)
    EXPECT_FALSE(load.isOnce);
}

TEST(PointwiseTest, ReverseIsTurnedInRegisters) {
  PointwiseText text = negated();
  text.operands[0].made = PointwiseText::Operand::Reversed;
  text.operands[0].along = 'c';
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->accesses[0], Access::Contiguous);
  EXPECT_THAT(matched.header(), HasSubstr(".l0 = x[3 - k];"));
}

TEST(PointwiseTest, EveryOtherElementIsApart) {
  MatchedPointwise matched(R"(
    func.func @f(%a: tensor<8x64xf32>) -> tensor<8x32xf32> {
      %s = tensor.extract_slice %a[0, 0] [8, 32] [1, 2] : tensor<8x64xf32> to tensor<8x32xf32>
      %e = tensor.empty() : tensor<8x32xf32>
      %r = linalg.negf ins(%s : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
      return %r : tensor<8x32xf32>
    })");
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->accesses[0], Access::Apart);
  EXPECT_THAT(matched.header(), HasSubstr("#define APART_BYTES 4\n"));
}

TEST(PointwiseTest, AnIndexThatIsAValueKeepsItsDimension) {
  PointwiseText text = negated();
  text.dims = text.operands[0].dims = "abrc";
  text.extents = {{'a', 2}, {'b', 3}, {'r', 8}, {'c', 16}};
  text.lines = "    %i = linalg.index 2 : index\n"
               "    %j = linalg.index 3 : index\n"
               "    %p = arith.cmpi sge, %i, %j : index\n"
               "    %z = arith.constant 0.0 : f32\n"
               "    %n = arith.select %p, %x, %z : f32\n";
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->vars.size(), 3u);
}

TEST(PointwiseTest, AResultMayBeTruthValues) {
  MatchedPointwise matched(R"(
    func.func @f(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xi1> {
      %e = tensor.empty() : tensor<64xi1>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
          affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xi1>) {
      ^bb0(%x: f32, %y: f32, %o: i1):
        %p = arith.cmpf olt, %x, %y : f32
        linalg.yield %p : i1
      } -> tensor<64xi1>
      return %r : tensor<64xi1>
    })");
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.header(), HasSubstr("#define OUT_BITS 8\n"));
}

TEST(PointwiseTest, EverySampleIsOne) {
  for (uint64_t number = 0; number < 120; ++number) {
    PointwiseSample sample = samplePointwise(1, number);
    MatchedPointwise matched(sample.text);
    ASSERT_TRUE(matched.core) << sample.about << ": " << matched.why << "\n"
                              << sample.text.str();
    EXPECT_EQ(matched.core->elements, sample.text.elements(sample.text.dims));
    EXPECT_THAT(matched.header(), HasSubstr("#define ELEMENTS "))
        << sample.about;
  }
}

TEST(PointwiseTest, EveryKindIsAmongThoseOfAnAdmission) {
  for (uint64_t seed : {0, 1, 2}) {
    std::string all;
    unsigned transposed = 0;
    for (uint64_t number = 0; number < 60; ++number) {
      PointwiseSample sample = samplePointwise(seed, number);
      all += sample.about + "\n";
      for (const PointwiseText::Operand &each : sample.text.operands)
        EXPECT_LE(sample.text.elements(each), kMaxSampleElements);
      MatchedPointwise matched(sample.text);
      ASSERT_TRUE(matched.core) << matched.why;
      transposed += matched.core->crossVar.has_value();
    }
    EXPECT_GE(transposed, 10u);
    for (const char *kind :
         {"x c f32", "x rc f32", "x cr ", "x brc ", " f16", " bf16", " i32",
          " i1", ", slice of c", ", pad of ", ", concatenation of c",
          ", reverse of ", ", lower triangle", ", gelu", ", silu", ", tanh",
          "result f32", "result f16", "result bf16"})
      EXPECT_THAT(all, HasSubstr(kind)) << seed;
  }
}

TEST(PointwiseErrorsTest, WhatReduces) {
  MatchedPointwise matched(R"(
    func.func @f(%a: tensor<8x16xf32>) -> tensor<8xf32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<8xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      %r = linalg.reduce ins(%a : tensor<8x16xf32>) outs(%i : tensor<8xf32>) dimensions = [1]
        (%x: f32, %y: f32) {
          %s = arith.addf %x, %y : f32
          linalg.yield %s : f32
        }
      return %r : tensor<8xf32>
    })");
  EXPECT_FALSE(matched.core);
  EXPECT_EQ(matched.why, "it reduces something");
}

TEST(PointwiseErrorsTest, WhatHasSeveralResults) {
  MatchedPointwise matched(R"(
    func.func @f(%a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
      %e = tensor.empty() : tensor<64xf32>
      %r = linalg.negf ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
      %s = linalg.exp ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
      return %r, %s : tensor<64xf32>, tensor<64xf32>
    })");
  EXPECT_FALSE(matched.core);
  EXPECT_EQ(matched.why, "it has several results");
}
