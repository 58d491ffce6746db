//===- BatchedContractionTest.cpp - Loops of one factor as batches --------===//
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

using MatchedBatches =
    Matched<ContractionText, families::matchBatchedContraction>;

static std::string headerOf(const families::Contraction &core) {
  std::string why;
  std::optional<std::string> header = families::writeHeader(core, why);
  EXPECT_TRUE(header) << why;
  return header.value_or("");
}

/// Weights by pictures whose channels lie apart: a convolution of one pixel.
static ContractionText pictures() {
  ContractionText text;
  text.batch = 5;
  text.a = "mk";
  text.b = "bkn";
  text.out = "bmn";
  return text;
}

TEST(BatchedContractionTest, PicturesAreBatchesWhereTheirPixelsAreNoOneRow) {
  const ContractionText text = pictures();
  MatchedBatches matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  const families::Contraction &core = *matched.core;
  EXPECT_EQ(core.batchSize, 5);
  EXPECT_EQ(core.mSize, text.m);
  EXPECT_EQ(core.nSize, text.n);
  ASSERT_TRUE(core.a.isPlain && core.b.isPlain);
  EXPECT_EQ(core.a.batch, 0);
  EXPECT_EQ(core.b.batch, text.k * text.n);
  EXPECT_EQ(core.b.outer, 1);
  EXPECT_EQ(core.b.k, text.n);
  EXPECT_EQ(core.resultBatch, text.m * text.n);
  const std::string header = headerOf(core);
  EXPECT_THAT(header, HasSubstr("#define A_BATCHED 0\n"));
  EXPECT_THAT(header, HasSubstr("#define B_BATCHED 1\n"));
  EXPECT_THAT(header, HasSubstr("#define B_ALIGNED 1\n"));

  // On the host they are columns.
  MatchedText whole(text);
  ASSERT_TRUE(whole.core) << whole.why;
  EXPECT_EQ(whole.core->batchSize, 1);
  EXPECT_EQ(whole.core->nSize, 5 * text.n);
}

TEST(BatchedContractionTest, RowsThatFollowEachOtherAreOneProduct) {
  ContractionText text = pictures();
  text.a = "bmk";
  text.b = "nk";
  MatchedBatches matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->batchSize, 1);
  EXPECT_EQ(matched.core->mSize, 5 * text.m);
}

TEST(BatchedContractionTest, BatchesShareWhatIsComputed) {
  ContractionText text = pictures();
  text.prologueA.lines = "%a1 = arith.addf %a0, %a0 : f16";
  MatchedBatches matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->batchSize, 5);
  EXPECT_FALSE(matched.core->a.isPlain);
  EXPECT_THAT(headerOf(*matched.core), HasSubstr("#define A_BATCHED 0\n"));
}

TEST(BatchedContractionTest, WhatIsComputedMayLieAnywhere) {
  ContractionText text = pictures();
  text.prologueB.lines = "%a1 = arith.addf %a0, %a0 : f16";
  MatchedBatches matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_FALSE(matched.core->b.isPlain);
}

TEST(BatchedContractionTest, HeadersKeepWhatARowNeeds) {
  ContractionText text;
  text.tail = "%w0 = arith.addf %x, %bias32 : f32\n%v = math.tanh %w0 : f32";
  MatchedBatches matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  const std::string header = headerOf(*matched.core);
  EXPECT_THAT(header, HasSubstr("#define FINISH_LOADS 0\n"));
  EXPECT_THAT(header, HasSubstr("FASTK_DEVICE Kept keep(OPERAND_PARAMETERS, "
                                "i32 b, i32 m) {\n"));
}
