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

/// Columns of the result have no one stride, either.
TEST(BatchedContractionTest, ResultsAreAddressedWhereAFactorIsComputed) {
  ContractionText text = pictures();
  text.prologueB.lines = "%a1 = arith.addf %a0, %a0 : f16";
  MatchedBatches matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_FALSE(matched.core->b.isPlain);
  EXPECT_EQ(matched.core->batchSize, 5);
  EXPECT_EQ(matched.core->resultM, text.n);
}

/// The sizes of batches, as families are asked in turn.
static std::vector<std::string> batchesOf(const ContractionText &text) {
  MatchedBatches matched(text);
  std::string why;
  std::vector<std::string> found;
  for (const families::CoreInstance &core : families::findCores(
           matched.form->getPattern().front(), "cuda:sm_90a", why))
    if (core.core == "contraction") {
      llvm::StringRef header = core.header;
      found.push_back(
          header.split("#define BATCH ").second.split('\n').first.str());
    }
  return found;
}

TEST(BatchedContractionTest, FamiliesAreAskedForTheWholeToo) {
  ContractionText text = pictures();
  EXPECT_THAT(batchesOf(text), testing::ElementsAre("5", "1"));
  // Of four pixels most of a tile would be empty.
  text.n = 4;
  EXPECT_THAT(batchesOf(text), testing::ElementsAre("1", "5"));
  // Rows that follow each other are seen in one way.
  text.a = "bmk";
  text.b = "nk";
  EXPECT_THAT(batchesOf(text), testing::ElementsAre("1"));
}

TEST(BatchedContractionTest, WhatIsWrittenOutIsCountedIn32Bits) {
  ContractionText text = pictures();
  text.batch = 1 << 16;
  text.n = 513;
  text.k = 128;
  MatchedBatches matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  std::string why;
  EXPECT_FALSE(families::describeCore(*matched.core, why));
  EXPECT_EQ(why,
            "a factor that would be written out has more than 2^31 elements");
  text.n = 512;
  EXPECT_TRUE(families::describeCore(*MatchedBatches(text).core, why)) << why;
}

TEST(BatchedContractionTest, HeadersKeepWhatARowOrAColumnNeeds) {
  // A bias of each column; where columns come first, of each row.
  ContractionText text;
  text.tail = "%w0 = math.sqrt %bias32 : f32\n%v = arith.divf %x, %w0 : f32";
  MatchedBatches ofColumn(text);
  ASSERT_TRUE(ofColumn.core) << ofColumn.why;
  std::string header = headerOf(*ofColumn.core);
  EXPECT_THAT(header, HasSubstr("#define FINISH_LOADS 0\n"));
  EXPECT_THAT(header, HasSubstr("#define KEPT_OF_COLUMNS 1\n"));
  EXPECT_THAT(header, HasSubstr("#define KEPT 1\n"));
  EXPECT_THAT(header, HasSubstr("Kept keep(OPERAND_PARAMETERS, i32 b, i32 m, "
                                "i32 n)"));
  text.out = "nm";
  MatchedBatches ofRow(text);
  ASSERT_TRUE(ofRow.core) << ofRow.why;
  header = headerOf(*ofRow.core);
  EXPECT_THAT(header, HasSubstr("#define KEPT_OF_COLUMNS 0\n"));
  EXPECT_THAT(header, HasSubstr("#define KEPT 1\n"));
  EXPECT_THAT(header, HasSubstr(" = kept.v[0];\n"));
  // What depends on neither is no reason to keep what rows need.
  text.out = "mn";
  text.tail = "%one = arith.constant 2.0 : f32\n%e = math.exp %one : f32\n"
              "%s = arith.mulf %x, %e : f32\n%w0 = math.sqrt %bias32 : f32\n"
              "%v = arith.divf %s, %w0 : f32";
  MatchedBatches withScalar(text);
  ASSERT_TRUE(withScalar.core) << withScalar.why;
  EXPECT_THAT(headerOf(*withScalar.core),
              HasSubstr("#define KEPT_OF_COLUMNS 1\n"));
}
