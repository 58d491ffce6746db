//===- AttentionTest.cpp - What attention is, and its header --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedAttention.h"
#include "llvm/ADT/StringExtras.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;
using testing::Not;

static void expectLines(const std::string &header,
                        std::initializer_list<const char *> lines) {
  for (const char *line : lines)
    EXPECT_THAT(header, HasSubstr(std::string(line) + "\n"));
}

TEST(AttentionTest, GroupsComeFromWhatElementsAreComputedFrom) {
  AttentionText text;
  text.extents = {{'b', 2},  {'h', 3},  {'g', 1}, {'m', 40},
                  {'n', 72}, {'d', 24}, {'e', 48}};
  for (const char *out : {"bhgme", "bmhge", "mbhge"}) {
    text.out = out;
    MatchedAttention matched(text);
    ASSERT_TRUE(matched.core) << matched.why;
    EXPECT_EQ(matched.core->batchSize, 6);
    EXPECT_EQ(matched.core->mSize, 40);
    EXPECT_EQ(matched.core->nSize, 72);
    EXPECT_EQ(matched.core->dSize, 24);
    EXPECT_EQ(matched.core->eSize, 48);
    EXPECT_EQ(matched.core->scoreScale, 0.125);
    EXPECT_FALSE(matched.core->causalOffset);
    EXPECT_FALSE(matched.core->hasZeroRows);
    EXPECT_TRUE(matched.core->q.isPlain && matched.core->k.isPlain &&
                matched.core->v.isPlain);
  }
}

TEST(AttentionTest, BatchesAndHeadsAreTwoLevelsWhereTheyLieSo) {
  AttentionText text;
  text.extents['h'] = 3;
  // All batches and heads of one tensor follow each other.
  expectLines(MatchedAttention(text).header(),
              {"#define BATCH 6", "#define Q_INNER 6",
               "#define Q_INNER_STRIDE 2048", "#define Q_OUTER 1",
               "#define Q_ROW_STRIDE 32", "#define Q_ALIGNED 1",
               "#define OUT_ALIGNED 1"});
  // Rows of all heads lie side by side.
  text.q = "bmhgd";
  text.k = "bnhd";
  text.v = "bnhe";
  text.out = "bmhge";
  expectLines(MatchedAttention(text).header(),
              {"#define Q_ROW_STRIDE 96", "#define Q_INNER 3",
               "#define Q_INNER_STRIDE 32", "#define Q_OUTER 2",
               "#define Q_OUTER_STRIDE 6144", "#define K_OUTER_STRIDE 12288",
               "#define OUT_ROW_STRIDE 96", "#define OUT_INNER_STRIDE 32"});
}

TEST(AttentionTest, GroupsOfQueriesShareKeys) {
  AttentionText text;
  text.extents['g'] = 4;
  for (bool mergesHeads : {false, true}) {
    text.mergesHeads = mergesHeads;
    MatchedAttention matched(text);
    ASSERT_TRUE(matched.core) << matched.why;
    EXPECT_EQ(matched.core->batchSize, 16);
    EXPECT_EQ(matched.core->mSize, 64);
    expectLines(matched.header(),
                {"#define Q_INNER 16", "#define K_INNER 4", "#define V_INNER 4",
                 "#define OUT_INNER 16"});
  }
}

TEST(AttentionTest, AMaskOfIndicesIsCausal) {
  AttentionText text;
  struct Case {
    const char *lines;
    int64_t offset;
  };
  for (Case each : {Case{"    %i = arith.cmpi sle, %key, %row : index\n"
                         "    %s = arith.select %i, %c, %hidden : f32\n",
                         0},
                    Case{"    %i = arith.cmpi sgt, %key, %row : index\n"
                         "    %s = arith.select %i, %hidden, %c : f32\n",
                         0},
                    Case{"    %i = arith.cmpi slt, %key, %row : index\n"
                         "    %s = arith.select %i, %c, %hidden : f32\n",
                         -1},
                    Case{"    %far = arith.constant 64 : index\n"
                         "    %l = arith.addi %far, %row : index\n"
                         "    %i = arith.cmpi sge, %l, %key : index\n"
                         "    %s = arith.select %i, %c, %hidden : f32\n",
                         64}}) {
    text.scoreLines =
        std::string("    %c = arith.mulf %x, %scale : f32\n") + each.lines;
    MatchedAttention matched(text);
    ASSERT_TRUE(matched.core) << matched.why;
    EXPECT_EQ(matched.core->causalOffset, each.offset);
    // What the mask leaves is the sum times the scale.
    EXPECT_EQ(matched.core->scoreScale, 0.125);
    expectLines(matched.header(),
                {"#define CAUSAL 1", "#define SCORE_IS_SCALED 1",
                 "#define SCORE_SCALE 0x1p-3f"});
  }
}

TEST(AttentionTest, OtherMasksAreScores) {
  AttentionText text;
  for (const char *lines : {// The key on the diagonal alone, a number that is
                            // no infinity, a window.
                            "    %i = arith.cmpi eq, %key, %row : index\n"
                            "    %s = arith.select %i, %c, %hidden : f32\n",
                            "    %low = arith.constant -1.0e4 : f32\n"
                            "    %i = arith.cmpi sle, %key, %row : index\n"
                            "    %s = arith.select %i, %c, %low : f32\n",
                            "    %i = arith.cmpi sge, %key, %row : index\n"
                            "    %s = arith.select %i, %c, %hidden : f32\n"}) {
    text.scoreLines =
        std::string("    %c = arith.mulf %x, %scale : f32\n") + lines;
    MatchedAttention matched(text);
    ASSERT_TRUE(matched.core) << matched.why;
    EXPECT_FALSE(matched.core->causalOffset);
    EXPECT_FALSE(matched.core->scoreScale);
    expectLines(matched.header(),
                {"#define CAUSAL 0", "#define SCORE_IS_SCALED 0"});
  }
}

TEST(AttentionTest, ScoresLoadPairsOfKeys) {
  AttentionText text;
  text.scoreOperands = {{"bias", "hgmn", "f16"}, {"mask", "bn", "i1"}};
  text.scoreLines = "    %c = arith.addf %x, %bias32 : f32\n"
                    "    %s = arith.select %mask1, %c, %hidden : f32\n";
  std::string header = MatchedAttention(text).header();
  expectLines(header, {"#define SCORE_PAIRS 1", "#define SCORE_IS_SCALED 0"});
  EXPECT_THAT(header, HasSubstr("  Pair<f16> load"));
  EXPECT_THAT(header, HasSubstr("float2 score2("));
  // A pair would not be aligned.
  text.extents['n'] = 129;
  header = MatchedAttention(text).header();
  expectLines(header, {"#define SCORE_PAIRS 0"});
  EXPECT_THAT(header, Not(HasSubstr("score2(")));
}

TEST(AttentionTest, FactorsMayBeScaledBeforeTheyAreMultiplied) {
  std::string text = AttentionText().str();
  size_t at = text.find("    %p = arith.mulf %l, %r : f32\n");
  ASSERT_NE(at, std::string::npos);
  text.insert(at, "    %half = arith.constant 0.5 : f32\n"
                  "    %l1 = arith.mulf %l, %half : f32\n");
  at = text.find("%p = arith.mulf %l,");
  text.replace(at, 19, "%p = arith.mulf %l1,");
  MatchedAttention matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_TRUE(matched.core->q.isPlain);
  EXPECT_EQ(matched.core->factorScale, 0.5);
  EXPECT_EQ(matched.core->scoreScale, 0.0625);
}

/// Positions of tokens as angles: halves of rows that change places.
TEST(AttentionTest, QueriesMayBeOfTurnedHalves) {
  AttentionText shape;
  std::string text = shape.str();
  const size_t operand = text.find("%q: ") + 4;
  const std::string type =
      text.substr(operand, text.find(',', operand) - operand);
  const std::string last = std::to_string(shape.extents['d']) + "x";
  const std::string half = std::to_string(shape.extents['d'] / 2) + "x";
  std::string halves = type;
  halves.replace(halves.rfind(last), last.size(), half);
  auto slice = [&](const char *name, int64_t begin) {
    std::string offsets, sizes, strides;
    for (char dim : shape.q) {
      const bool isLast = dim == 'd';
      offsets +=
          (offsets.empty() ? "" : ", ") + std::to_string(isLast ? begin : 0);
      sizes += (sizes.empty() ? "" : ", ") +
               std::to_string(shape.extents[dim] / (isLast ? 2 : 1));
      strides += strides.empty() ? "1" : ", 1";
    }
    return std::string("  %") + name + " = tensor.extract_slice %q[" + offsets +
           "] [" + sizes + "] [" + strides + "] : " + type + " to " + halves +
           "\n";
  };
  size_t at = text.find(" {\n") + 3;
  std::string body = text.substr(at);
  for (size_t use = 0; (use = body.find("%q", use)) != std::string::npos;)
    if (llvm::isAlnum(body[use + 2]) || body[use + 2] == '_')
      use += 2;
    else
      body.replace(use, 2, "%turned");
  body = slice("low", 0) + slice("high", shape.extents['d'] / 2) +
         "  %turned = tensor.concat dim(" + std::to_string(shape.q.size() - 1) +
         ") %high, %low : (" + halves + ", " + halves + ") -> " + type + "\n" +
         body;
  MatchedAttention matched(text.substr(0, at) + body);
  ASSERT_TRUE(matched.core) << matched.why << "\n" << text << body;
  EXPECT_FALSE(matched.core->q.isPlain);
  EXPECT_TRUE(matched.core->k.isPlain);
  // Each half is read where it is, and nowhere else.
  const std::string header = matched.header();
  for (const char *half : {"[(d0 < ", "[(d0 >= "})
    EXPECT_THAT(header, HasSubstr(half));
  EXPECT_THAT(header, HasSubstr(" ? t"));
}

TEST(AttentionTest, WeightsAreDividedFirstOrLast) {
  AttentionText text;
  for (bool rounds : {false, true})
    for (bool last : {false, true}) {
      text.dividesLast = last;
      text.roundsWeights = rounds;
      text.tailOperands = {{"gain", "e", "f16"}};
      text.tail = "    %y1 = arith.mulf %y, %gain32 : f32\n";
      text.value = "%y1";
      MatchedAttention matched(text);
      ASSERT_TRUE(matched.core) << matched.why;
      EXPECT_EQ(static_cast<bool>(matched.core->divisor), last);
      EXPECT_THAT(matched.header(), HasSubstr("FASTK_DEVICE u32 finish2("));
    }
}

TEST(AttentionTest, RowsWithoutAKeyMayBeZero) {
  AttentionText text;
  text.hasZeroRows = true;
  text.scoreOperands = {{"mask", "mn", "i1"}};
  text.scoreLines = "    %s = arith.select %mask1, %x, %hidden : f32\n";
  MatchedAttention matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_TRUE(matched.core->hasZeroRows);
  expectLines(matched.header(), {"#define HAS_ZERO_ROWS 1"});
}

TEST(AttentionTest, WhatNoMapDescribesIsNotAligned) {
  AttentionText text;
  text.extents['d'] = 33;
  text.v = "bhen";
  std::string header = MatchedAttention(text).header();
  expectLines(header, {"#define Q_PLAIN 1", "#define Q_ALIGNED 0",
                       "#define K_ALIGNED 0", "#define V_PLAIN 1",
                       "#define V_ALIGNED 0", "#define OUT_ALIGNED 1"});
}

TEST(AttentionTest, TypesAreKnown) {
  AttentionText text;
  text.type = "bf16";
  text.result = "f32";
  std::string header = MatchedAttention(text).header();
  expectLines(header, {"#define Q_IS_BF16 1", "#define V_IS_BF16 1",
                       "#define OUT_BITS 32"});
  EXPECT_THAT(header, Not(HasSubstr("finish2(")));
}
