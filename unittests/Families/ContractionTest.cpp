//===- ContractionTest.cpp - What a contraction is, and its header --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;
using testing::Not;

static std::string headerOf(const ContractionText &text) {
  MatchedText matched(text);
  EXPECT_TRUE(matched.core) << matched.why;
  if (!matched.core)
    return "";
  std::string why;
  std::optional<std::string> header = families::writeHeader(*matched.core, why);
  EXPECT_TRUE(header) << why;
  return header.value_or("");
}

TEST(ContractionTest, GroupsAndStridesComeFromMaps) {
  ContractionText text;
  text.m = 48;
  text.n = 80;
  text.k = 24;
  // a, b, strides of m and k in a, of n and k in b.
  struct Layout {
    const char *a, *b;
    int64_t aOuter, aK, bOuter, bK;
  };
  for (Layout layout :
       {Layout{"mk", "nk", 24, 1, 24, 1}, Layout{"mk", "kn", 24, 1, 1, 80},
        Layout{"km", "nk", 1, 48, 24, 1}, Layout{"km", "kn", 1, 48, 1, 80}}) {
    text.a = layout.a;
    text.b = layout.b;
    MatchedText matched(text);
    ASSERT_TRUE(matched.core) << matched.why;
    const families::Contraction &core = *matched.core;
    EXPECT_EQ(core.batchSize, 1);
    EXPECT_EQ(core.mSize, 48);
    EXPECT_EQ(core.nSize, 80);
    EXPECT_EQ(core.kSize, 24);
    ASSERT_TRUE(core.a.isPlain && core.b.isPlain);
    EXPECT_NE(core.a.input, core.b.input);
    EXPECT_EQ(core.a.outer, layout.aOuter) << text.a;
    EXPECT_EQ(core.a.k, layout.aK) << text.a;
    EXPECT_EQ(core.b.outer, layout.bOuter) << text.b;
    EXPECT_EQ(core.b.k, layout.bK) << text.b;
    EXPECT_EQ(core.resultM, 80);
    EXPECT_EQ(core.resultN, 1);
  }
}

/// As importers write a product in half precision that is summed, and gets its
/// bias, in f32: the operands are widened by ops of their own.
static std::string widened(const std::string &a, const std::string &b) {
  auto widen = [](const std::string &of, const std::string &name,
                  const std::string &type, const std::string &shape) {
    const std::string from = "tensor<" + shape + type + ">",
                      to = "tensor<" + shape + "f32>";
    return "  %e" + name + " = tensor.empty() : " + to + "\n  %w" + name +
           " = linalg.generic {indexing_maps = [#map, #map], iterator_types = "
           "[\"parallel\", \"parallel\"]} ins(%" +
           of + " : " + from + ") outs(%e" + name + " : " + to +
           ") {\n  ^bb0(%in: " + type + ", %out: f32):\n" +
           (type == "f32" ? "    linalg.yield %in : f32\n"
                          : "    %x = arith.extf %in : " + type +
                                " to f32\n    linalg.yield %x : f32\n") +
           "  } -> " + to + "\n";
  };
  return "#map = affine_map<(d0, d1) -> (d0, d1)>\n"
         "func.func @forward(%a: tensor<64x32x" +
         a + ">, %b: tensor<32x128x" + b +
         ">) -> tensor<64x128xf32> {\n"
         "  %zero = arith.constant 0.0 : f32\n" +
         widen("a", "A", a, "64x32x") + widen("b", "B", b, "32x128x") +
         "  %e = tensor.empty() : tensor<64x128xf32>\n"
         "  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x128xf32>) -> "
         "tensor<64x128xf32>\n"
         "  %p = linalg.matmul ins(%wA, %wB : tensor<64x32xf32>, "
         "tensor<32x128xf32>) outs(%f : tensor<64x128xf32>) -> "
         "tensor<64x128xf32>\n"
         "  return %p : tensor<64x128xf32>\n}\n";
}

TEST(ContractionTest, FactorsThatOpsHaveWidenedAreNarrow) {
  for (auto [a, b, bits, isPlain] :
       {std::tuple("f16", "f16", 2, true), std::tuple("bf16", "bf16", 2, true),
        std::tuple("f16", "bf16", 4, false), std::tuple("f16", "f32", 4, false),
        std::tuple("f32", "f32", 4, true)}) {
    MatchedText matched(widened(a, b));
    ASSERT_TRUE(matched.core) << matched.why;
    for (const families::ContractionSide *side :
         {&matched.core->a, &matched.core->b}) {
      EXPECT_EQ(catalog::bytesOf(side->elem), bits) << a << " " << b;
      bool isItself = side->elem == catalog::Elem::F32 &&
                      std::string(side == &matched.core->a ? a : b) == "f32";
      EXPECT_EQ(side->isPlain, isPlain || isItself) << a << " " << b;
    }
  }
}

TEST(ContractionTest, ColumnsAreWhatLiesTogetherInTheResult) {
  ContractionText text;
  text.out = "nm";
  MatchedText matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  // The workload's m, which is the result's last dimension, is the core's n.
  EXPECT_EQ(matched.core->nSize, text.m);
  EXPECT_EQ(matched.core->mSize, text.n);
  EXPECT_EQ(matched.core->resultN, 1);
}

TEST(ContractionTest, ABatchIsSharedOrAPartOfTheRows) {
  ContractionText text;
  text.batch = 3;
  text.a = "bmk";
  text.b = "bnk";
  text.out = "bmn";
  MatchedText both(text);
  ASSERT_TRUE(both.core) << both.why;
  EXPECT_EQ(both.core->batchSize, 3);
  EXPECT_EQ(both.core->mSize, text.m);
  EXPECT_EQ(both.core->a.batch, text.m * text.k);
  // One right matrix for all: rows of all matrices are rows of one.
  text.b = "nk";
  MatchedText shared(text);
  ASSERT_TRUE(shared.core) << shared.why;
  EXPECT_EQ(shared.core->batchSize, 1);
  EXPECT_EQ(shared.core->mSize, 3 * text.m);
  EXPECT_EQ(shared.core->a.outer, text.k);
}

TEST(ContractionTest, OneRowOrOneTermHasADistanceThatMapsCanHave) {
  ContractionText text;
  text.m = 1;
  EXPECT_THAT(headerOf(text), HasSubstr("#define A_ALIGNED 1\n"));
  text.a = "km";
  EXPECT_THAT(headerOf(text), HasSubstr("#define A_ROW_STRIDE 32\n"));
  text.m = 64;
  text.k = 1;
  std::string header = headerOf(text);
  EXPECT_THAT(header, HasSubstr("#define A_K_MAJOR 0\n"));
  EXPECT_THAT(header, HasSubstr("#define A_ALIGNED 1\n"));
}

TEST(ContractionTest, WhatIsComputedIsNotPlain) {
  ContractionText text;
  text.prologueA.lines = "%a1 = arith.addf %a0, %a0 : f16";
  MatchedText matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_NE(matched.core->a.isPlain, matched.core->b.isPlain);
}

TEST(ContractionTest, TheHeaderHasSizesAndWhatSurroundsTheSums) {
  ContractionText text;
  text.tail = "%w0 = arith.addf %x, %bias32 : f32\n%v = math.tanh %w0 : f32";
  std::string header = headerOf(text);
  for (const char *line :
       {"#define M 64\n", "#define N 128\n", "#define K 32\n",
        "#define BATCH 1\n", "#define A_IS_F16 1\n", "#define A_K_MAJOR 1\n",
        "#define B_K_MAJOR 1\n", "#define A_ROW_STRIDE 32\n",
        "#define OUT_ROW_STRIDE 128\n", "#define OUT_ALIGNED 1\n",
        "FASTK_DEVICE u32 finish2("})
    EXPECT_THAT(header, HasSubstr(line));
  EXPECT_THAT(header, HasSubstr(" + acc;"));
  EXPECT_THAT(header, HasSubstr("tanhf("));
}

TEST(ContractionTest, RowsThatBeginAnywhereAreNotAligned) {
  ContractionText text;
  text.n = 129;
  text.k = 33;
  std::string header = headerOf(text);
  EXPECT_THAT(header, HasSubstr("#define A_ALIGNED 0\n"));
  EXPECT_THAT(header, HasSubstr("#define B_ALIGNED 0\n"));
  EXPECT_THAT(header, HasSubstr("#define OUT_ALIGNED 0\n"));
}

TEST(ContractionTest, FastFunctionsAreForResultsOf16Bits) {
  ContractionText text;
  text.tail = "%v = math.tanh %x : f32";
  EXPECT_THAT(headerOf(text), HasSubstr("#define tanhf fastTanh"));
  text.result = "f32";
  std::string header = headerOf(text);
  EXPECT_THAT(header, Not(HasSubstr("fastTanh")));
  EXPECT_THAT(header, Not(HasSubstr("finish2")));
}

TEST(ContractionTest, BF16IsKnown) {
  ContractionText text;
  text.type = text.result = "bf16";
  std::string header = headerOf(text);
  EXPECT_THAT(header, HasSubstr("#define A_IS_BF16 1\n"));
  EXPECT_THAT(header, HasSubstr("packBF16("));
}

TEST(ContractionTest, ADimensionOfTheResultMayBeSeveralLoops) {
  MatchedText matched(std::string(R"(
func.func @f(%a: tensor<3x8x24xf32>, %b: tensor<3x24x16xf32>) -> tensor<24x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x8x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<3x8x16xf32>) -> tensor<3x8x16xf32>
  %s = linalg.batch_matmul ins(%a, %b : tensor<3x8x24xf32>, tensor<3x24x16xf32>) outs(%z : tensor<3x8x16xf32>) -> tensor<3x8x16xf32>
  %c = tensor.collapse_shape %s [[0, 1], [2]] : tensor<3x8x16xf32> into tensor<24x16xf32>
  %d = tensor.empty() : tensor<24x16xf32>
  %r = linalg.exp ins(%c : tensor<24x16xf32>) outs(%d : tensor<24x16xf32>) -> tensor<24x16xf32>
  return %r : tensor<24x16xf32>
})"));
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->batchSize, 3);
  EXPECT_EQ(matched.core->mSize, 8);
  EXPECT_EQ(matched.core->resultBatch, 128);
  EXPECT_EQ(matched.core->resultM, 16);
}

/// Sequences that lie batch by batch and are multiplied step by step.
TEST(ContractionTest, RowsOfAFactorMayLieInAnotherOrder) {
  MatchedText matched(std::string(R"(
func.func @f(%a: tensor<3x8x24xf32>, %b: tensor<24x16xf32>) -> tensor<24x16xf32> {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<8x3x24xf32>
  %turned = linalg.transpose ins(%a : tensor<3x8x24xf32>) outs(%t : tensor<8x3x24xf32>) permutation = [1, 0, 2]
  %rows = tensor.collapse_shape %turned [[0, 1], [2]] : tensor<8x3x24xf32> into tensor<24x24xf32>
  %e = tensor.empty() : tensor<24x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<24x16xf32>) -> tensor<24x16xf32>
  %r = linalg.matmul ins(%rows, %b : tensor<24x24xf32>, tensor<24x16xf32>) outs(%z : tensor<24x16xf32>) -> tensor<24x16xf32>
  return %r : tensor<24x16xf32>
})"));
  ASSERT_TRUE(matched.core) << matched.why;
  const families::Contraction &core = *matched.core;
  EXPECT_EQ(core.batchSize, 1);
  EXPECT_EQ(core.mSize, 24);
  EXPECT_EQ(core.m.size(), 2u);
  EXPECT_EQ(core.nSize, 16);
  EXPECT_EQ(core.resultM, 16);
  // No one stride leads from row to row.
  EXPECT_FALSE(core.a.isPlain);
  EXPECT_TRUE(core.b.isPlain);
  std::string why;
  std::optional<std::string> header = families::writeHeader(core, why);
  ASSERT_TRUE(header) << why;
  // Row r is step r / 3 of sequence r % 3.
  EXPECT_THAT(*header, HasSubstr("#define M 24\n"));
}

/// Windows of a picture, whose results are put into heads.
TEST(ContractionTest, PartsOfTheResultAreCutFurther) {
  MatchedText matched(std::string(R"(
func.func @f(%a: tensor<5x2x7x2x7x24xf32>, %b: tensor<24x32xf32>) -> tensor<20x4x49x8xf32> {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<5x2x2x7x7x24xf32>
  %windows = linalg.transpose ins(%a : tensor<5x2x7x2x7x24xf32>) outs(%t : tensor<5x2x2x7x7x24xf32>) permutation = [0, 1, 3, 2, 4, 5]
  %rows = tensor.collapse_shape %windows [[0, 1, 2, 3, 4], [5]] : tensor<5x2x2x7x7x24xf32> into tensor<980x24xf32>
  %e = tensor.empty() : tensor<980x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<980x32xf32>) -> tensor<980x32xf32>
  %p = linalg.matmul ins(%rows, %b : tensor<980x24xf32>, tensor<24x32xf32>) outs(%z : tensor<980x32xf32>) -> tensor<980x32xf32>
  %x = tensor.expand_shape %p [[0, 1], [2, 3]] output_shape [20, 49, 4, 8] : tensor<980x32xf32> into tensor<20x49x4x8xf32>
  %o = tensor.empty() : tensor<20x4x49x8xf32>
  %r = linalg.transpose ins(%x : tensor<20x49x4x8xf32>) outs(%o : tensor<20x4x49x8xf32>) permutation = [0, 2, 1, 3]
  return %r : tensor<20x4x49x8xf32>
})"));
  ASSERT_TRUE(matched.core) << matched.why;
  // 5 pictures of 2 by 2 windows, of 7 by 7 pixels.
  EXPECT_EQ(matched.core->m.size(), 5u);
  EXPECT_EQ(matched.core->mSize, 980);
  EXPECT_EQ(matched.core->nSize, 32);
}
