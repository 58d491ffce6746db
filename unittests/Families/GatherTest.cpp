//===- GatherTest.cpp - Pointwise work that gathers -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaOnHost.h"
#include "MatchedPointwise.h"
#include "fastk/Families/Reduction.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Access = PointwiseCore::Access;

/// Rows of a table of 100, twice as large: an embedding.
static PointwiseText embedding() {
  PointwiseText text;
  text.extents['V'] = 100;
  PointwiseText::Operand &operand = text.operands[0];
  operand.made = operand.Gathered;
  operand.table = "Vc";
  operand.indexDims = "r";
  text.lines = "    %n = arith.addf %x, %x : f32\n";
  text.value = "%n";
  return text;
}

/// The same with a table and indices of other dimensions.
static PointwiseText gather(llvm::StringRef table, llvm::StringRef indices) {
  PointwiseText text = embedding();
  text.operands[0].table = table;
  text.operands[0].indexDims = indices;
  return text;
}

/// That a header computes what `wanted` says of r and c, of 64.
static void expectValues(MatchedPointwise &matched, int64_t low, int64_t high,
                         const std::string &wanted) {
  EXPECT_EQ(runPointwise(matched.header(), *matched.form, low, high, R"(
  for (long r = 0; r < elements / 64; ++r)
    for (long c = 0; c < 64; ++c) {
      const float wanted = )" + wanted + R"(, x = valueOf(out[64 * r + c]);
      if (!(x == wanted))
        return bad(64 * r + c, x, wanted);
    }
)"),
            "");
}

TEST(GatherTest, ARowIsLoadedAtOnce) {
  MatchedPointwise matched(embedding());
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.core->accesses,
              ElementsAre(Access::Broadcast, Access::Gathered));
  EXPECT_TRUE(matched.core->loads[0].isIndex);
  EXPECT_FALSE(matched.core->loads[1].isOnce);
  EXPECT_EQ(matched.core->vars.size(), 2u);
  std::string header = matched.header();
  for (const char *line :
       {"#define VECTOR 4\n", "#define GATHERED_BYTES 4\n",
        "#define BROADCAST_BYTES 8\n", "#define CONTIGUOUS_BYTES 0\n",
        "#define APART_BYTES 0\n", "#define VALUE_BYTES 16\n",
        "const i64 g0 = (u64)v[j].l0 < 100 ? v[j].l0 : 0;\n",
        "loadTogether<4, false>(in"})
    EXPECT_THAT(header, HasSubstr(line));
  EXPECT_THAT(header, HasSubstr("64L*g0"));
  expectValues(matched, 0, 99, "2 * a0[64 * a1[r] + c]");
}

TEST(GatherTest, HalvesByIndicesOf32Bits) {
  PointwiseText text = embedding();
  text.operands[0].type = text.result = "f16";
  text.operands[0].indexType = "i32";
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  std::string header = matched.header();
  EXPECT_THAT(header, HasSubstr("#define VECTOR 8\n"));
  EXPECT_THAT(header, HasSubstr("#define GATHERED_BYTES 2\n"));
  EXPECT_THAT(header, HasSubstr("#define BROADCAST_BYTES 4\n"));
  expectValues(matched, 0, 99, "2 * valueOf(a0[64 * a1[r] + c])");
}

TEST(GatherTest, WhatIsOutOfRangeIsNeverRead) {
  // The operand lies between NaN.
  MatchedPointwise matched(embedding());
  expectValues(matched, -300, 300,
               "2 * a0[64 * (a1[r] < 0 || a1[r] > 99 ? 0 : a1[r]) + c]");
}

TEST(GatherTest, NegativeIndicesCountFromTheEnd) {
  PointwiseText text = embedding();
  text.operands[0].wraps = true;
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  expectValues(matched, -100, 99,
               "2 * a0[64 * (a1[r] < 0 ? a1[r] + 100 : a1[r]) + c]");
}

TEST(GatherTest, ElementsOfARowAreLoadedOneByOne) {
  MatchedPointwise matched(gather("rV", "rc"));
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.core->accesses,
              ElementsAre(Access::Contiguous, Access::Gathered));
  // Rows of the table are of another length than those of the indices.
  EXPECT_EQ(matched.core->vars.size(), 2u);
  std::string header = matched.header();
  EXPECT_THAT(header, HasSubstr("#define VECTOR 2\n"));
  EXPECT_THAT(header, HasSubstr("x[0] = *(in"));
  expectValues(matched, 0, 99, "2 * a0[100 * r + a1[64 * r + c]]");
}

TEST(GatherTest, TheLastDimension) {
  MatchedPointwise matched(gather("rV", "c"));
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.core->accesses,
              ElementsAre(Access::Broadcast, Access::Gathered));
  // Neighbours have different indices.
  EXPECT_THAT(matched.header(), HasSubstr("x[0] = *(in"));
  expectValues(matched, 0, 99, "2 * a0[100 * r + a1[c]]");
}

TEST(GatherTest, AllOfATable) {
  MatchedPointwise matched(gather("V", "rc"));
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->vars.size(), 1u);
  expectValues(matched, 0, 99, "2 * a0[a1[64 * r + c]]");
}

TEST(GatherTest, TwoIndices) {
  PointwiseText text = gather("VWc", "r");
  text.extents['W'] = 30;
  text.operands[0].wraps = true;
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->gathered.size(), 2u);
  EXPECT_THAT(matched.header(), HasSubstr("loadTogether<4, false>(in"));
  expectValues(matched, -30, 29,
               "2 * a0[64 * (30 * (a1[r] < 0 ? a1[r] + 100 : a1[r]) + "
               "(a2[r] < 0 ? a2[r] + 30 : a2[r])) + c]");
}

TEST(GatherTest, ATransposedTable) {
  MatchedPointwise matched(gather("cV", "r"));
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.header(), HasSubstr("loadTogether<1, false>(in"));
  expectValues(matched, 0, 99, "2 * a0[100 * c + a1[r]]");
}

TEST(GatherTest, OneElementForARow) {
  PointwiseText text = embedding();
  text.operands[0] = {"x", "rc"};
  PointwiseText::Operand row = embedding().operands[0];
  row.name = "y";
  row.dims = row.indexDims = "r";
  row.table = "V";
  text.operands.push_back(row);
  text.lines = "    %n = arith.addf %x, %y : f32\n";
  MatchedPointwise added(text);
  ASSERT_TRUE(added.core) << added.why;
  EXPECT_THAT(
      added.core->accesses,
      ElementsAre(Access::Contiguous, Access::Broadcast, Access::Broadcast));
  EXPECT_THAT(added.header(), HasSubstr("#define GATHERED_BYTES 0\n"));
  expectValues(added, 0, 99, "a0[64 * r + c] + a1[a2[r]]");
}

TEST(GatherTest, IndicesAreNotTransposed) {
  // Tiles would come too late for what is gathered by them.
  PointwiseText text = gather("rV", "cr");
  text.operands.push_back({"y", "cr"});
  text.lines = "    %n = arith.addf %x, %y : f32\n";
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.core->accesses,
              testing::UnorderedElementsAre(Access::Apart, Access::Gathered,
                                            Access::Transposed));
  EXPECT_THAT(matched.header(), HasSubstr("#define TRANSPOSED 1\n"));
  expectValues(matched, 0, 99, "a0[100 * r + a1[8 * c + r]] + a2[8 * c + r]");
}

TEST(GatherTest, ATableOfOneRowHasNoIndex) {
  PointwiseText text = embedding();
  text.extents['V'] = 1;
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->gathered.size(), 0u);
  EXPECT_EQ(matched.core->loads.size(), 1u);
  EXPECT_THAT(matched.header(), Not(HasSubstr("GATHERED")));
  expectValues(matched, 0, 99, "2 * a0[c]");
}

TEST(GatherTest, WithoutAGatherNothingIsSaidOfOne) {
  EXPECT_THAT(MatchedPointwise(PointwiseText()).header(),
              Not(HasSubstr("GATHERED")));
}

TEST(GatherTest, APaddedTable) {
  MatchedPointwise matched(R"(
    func.func @f(%table: tensor<98x64xf32>, %ids: tensor<8xi64>) -> tensor<8x64xf32> {
      %filler = arith.constant 1.5 : f32
      %padded = tensor.pad %table low[1, 0] high[1, 0] {
      ^bb0(%i: index, %j: index):
        tensor.yield %filler : f32
      } : tensor<98x64xf32> to tensor<100x64xf32>
      %e = tensor.empty() : tensor<8x64xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>],
          iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<8xi64>) outs(%e : tensor<8x64xf32>) {
      ^bb0(%i: i64, %o: f32):
        %p = arith.index_cast %i : i64 to index
        %j = linalg.index 1 : index
        %x = tensor.extract %padded[%p, %j] : tensor<100x64xf32>
        linalg.yield %x : f32
      } -> tensor<8x64xf32>
      return %r : tensor<8x64xf32>
    })");
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.header(),
              HasSubstr("if (g0 >= 1 && g0 < 99) loadTogether<4, false>(in"));
  // Half of the indices are among the ends.
  expectValues(matched, 97, 99,
               "a1[r] == 99 ? 1.5f : a0[64 * (a1[r] - 1) + c]");
  expectValues(matched, 0, 1, "a1[r] == 0 ? 1.5f : a0[c]");
}

TEST(GatherTest, ASliceMayLieBetweenVectors) {
  // Rows of 66 elements, of which those from the third on are read.
  MatchedPointwise matched(R"(
    func.func @f(%table: tensor<100x66xf32>, %ids: tensor<8xi64>) -> tensor<8x64xf32> {
      %slice = tensor.extract_slice %table[0, 2] [100, 64] [1, 1] : tensor<100x66xf32> to tensor<100x64xf32>
      %e = tensor.empty() : tensor<8x64xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>],
          iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<8xi64>) outs(%e : tensor<8x64xf32>) {
      ^bb0(%i: i64, %o: f32):
        %p = arith.index_cast %i : i64 to index
        %j = linalg.index 1 : index
        %x = tensor.extract %slice[%p, %j] : tensor<100x64xf32>
        linalg.yield %x : f32
      } -> tensor<8x64xf32>
      return %r : tensor<8x64xf32>
    })");
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.header(), HasSubstr("#define VECTOR 4\n"));
  EXPECT_THAT(matched.header(), HasSubstr("loadTogether<2, false>(in"));
  expectValues(matched, 0, 99, "a0[66 * a1[r] + c + 2]");
}

/// Rows by indices that are gathered by others, from a table of 100 rows.
static std::string chain() {
  return R"(
    func.func @f(%table: tensor<100x64xf32>, %ids: tensor<100xi32>, %which: tensor<8xi64>) -> tensor<8x64xf32> {
      %e = tensor.empty() : tensor<8xi32>
      %i = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>],
          iterator_types = ["parallel"]} ins(%which : tensor<8xi64>) outs(%e : tensor<8xi32>) {
      ^bb0(%w: i64, %o: i32):
        %p = arith.index_cast %w : i64 to index
        %x = tensor.extract %ids[%p] : tensor<100xi32>
        linalg.yield %x : i32
      } -> tensor<8xi32>
      %f = tensor.empty() : tensor<8x64xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>],
          iterator_types = ["parallel", "parallel"]} ins(%i : tensor<8xi32>) outs(%f : tensor<8x64xf32>) {
      ^bb0(%w: i32, %o: f32):
        %p = arith.index_cast %w : i32 to index
        %j = linalg.index 1 : index
        %x = tensor.extract %table[%p, %j] : tensor<100x64xf32>
        linalg.yield %x : f32
      } -> tensor<8x64xf32>
      return %r : tensor<8x64xf32>
    })";
}

TEST(GatherTest, IndicesMayBeGathered) {
  MatchedPointwise matched(chain());
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->gathered.size(), 2u);
  EXPECT_THAT(
      matched.core->accesses,
      ElementsAre(Access::Broadcast, Access::Broadcast, Access::Gathered));
  EXPECT_THAT(matched.header(), HasSubstr("loadTogether<4, false>(in"));
  expectValues(matched, 0, 99, "a0[64 * a1[a2[r]] + c]");
}

TEST(GatherTest, NeighboursOfGatheredIndicesAreLoadedOneByOne) {
  MatchedPointwise matched(R"(
    func.func @f(%table: tensor<100xf32>, %ids: tensor<100xi32>, %which: tensor<8x64xi64>) -> tensor<8x64xf32> {
      %e = tensor.empty() : tensor<8x64xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>],
          iterator_types = ["parallel", "parallel"]} ins(%which : tensor<8x64xi64>) outs(%e : tensor<8x64xf32>) {
      ^bb0(%w: i64, %o: f32):
        %p = arith.index_cast %w : i64 to index
        %i = tensor.extract %ids[%p] : tensor<100xi32>
        %q = arith.index_cast %i : i32 to index
        %x = tensor.extract %table[%q] : tensor<100xf32>
        linalg.yield %x : f32
      } -> tensor<8x64xf32>
      return %r : tensor<8x64xf32>
    })");
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(
      matched.core->accesses,
      ElementsAre(Access::Contiguous, Access::Gathered, Access::Gathered));
  expectValues(matched, 0, 99, "a0[a1[a2[64 * r + c]]]");
}

TEST(GatherTest, SumsOfTwoEmbeddings) {
  PointwiseText text = embedding();
  PointwiseText::Operand second = text.operands[0];
  second.name = "y";
  second.indexType = "i32";
  text.operands.push_back(second);
  text.lines = "    %s = arith.addf %x, %y : f32\n"
               "    %z = arith.constant 0.0 : f32\n"
               "    %n = arith.maximumf %s, %z : f32\n";
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.header(), HasSubstr("#define GATHERED_BYTES 8\n"));
  EXPECT_EQ(matched.core->gathered.size(), 2u);
}

TEST(GatherTest, AQuarterOfTheSamplesGathers) {
  for (uint64_t seed : {0, 1, 2}) {
    std::string all;
    unsigned count = 0;
    for (uint64_t number = 0; number < 60; ++number) {
      PointwiseSample sample = samplePointwise(seed, number);
      bool gathers = false;
      for (const PointwiseText::Operand &each : sample.text.operands)
        gathers |= each.made == PointwiseText::Operand::Gathered;
      EXPECT_EQ(gathers, llvm::StringRef(sample.about).contains(" gathered "));
      if (!gathers)
        continue;
      all += sample.about + "\n";
      ++count;
      MatchedPointwise matched(sample.text);
      ASSERT_TRUE(matched.core) << sample.about << ": " << matched.why;
    }
    EXPECT_GE(count, 10u);
    EXPECT_LE(count, 20u);
    for (const char *kind : {"x gathered from ", "z gathered from ", "from V",
                             "from VW", " i32", " i64", "where negative"})
      EXPECT_THAT(all, HasSubstr(kind)) << seed;
  }
}

TEST(GatherTest, TheOtherSamplesAreAsWithoutGathers) {
  EXPECT_EQ(samplePointwise(0, 0).about,
            "b 17, r 256, c 5; x brc f32, reverse of c, scaled, lower "
            "triangle; result f32");
  EXPECT_EQ(samplePointwise(0, 2).about,
            "b 2, r 3, c 128; x brc f16, concatenation of c, root; result f16");
  EXPECT_EQ(samplePointwise(0, 4).about,
            "r 255, c 65; x rc bf16, slice of r, root; result bf16");
}

/// A sum over the columns of what \p text computes.
static std::string reduced(const PointwiseText &text) {
  std::string sum = text.str();
  size_t end = sum.rfind("  return ");
  sum.resize(end);
  size_t arrow = sum.find("-> tensor<8x64xf32> {");
  sum.replace(arrow, 19, "-> tensor<8xf32>");
  return sum + R"(  %zero = arith.constant 0.0 : f32
  %start = tensor.empty() : tensor<8xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%start : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.reduce ins(%made : tensor<8x64xf32>) outs(%filled : tensor<8xf32>) dimensions = [1]
    (%u: f32, %v: f32) {
      %w = arith.addf %u, %v : f32
      linalg.yield %w : f32
    }
  return %sum : tensor<8xf32>
}
)";
}

TEST(GatherErrorsTest, WhatIsReduced) {
  using MatchedReduction = Matched<PointwiseText, matchReductions>;
  PointwiseText text = embedding();
  text.operands[0] = {"x", "rc"};
  EXPECT_TRUE(MatchedReduction(reduced(text)).core);
  MatchedReduction matched(reduced(embedding()));
  EXPECT_FALSE(matched.core);
  EXPECT_EQ(matched.why,
            "an element is gathered from a place that is computed");
}

TEST(GatherErrorsTest, ATableWithoutElements) {
  PointwiseText text = embedding();
  text.extents['V'] = 0;
  MatchedPointwise matched(text);
  EXPECT_FALSE(matched.core);
  EXPECT_EQ(matched.why,
            "an element is gathered from a place that is computed");
}

TEST(GatherErrorsTest, AnIndexThatIsReduced) {
  MatchedPointwise matched(R"(
    func.func @f(%table: tensor<100xf32>, %ids: tensor<8x4xi64>) -> tensor<8xf32> {
      %z = arith.constant 0 : i64
      %e = tensor.empty() : tensor<8xi64>
      %s = linalg.fill ins(%z : i64) outs(%e : tensor<8xi64>) -> tensor<8xi64>
      %i = linalg.reduce ins(%ids : tensor<8x4xi64>) outs(%s : tensor<8xi64>) dimensions = [1]
        (%u: i64, %v: i64) {
          %w = arith.maxsi %u, %v : i64
          linalg.yield %w : i64
        }
      %f = tensor.empty() : tensor<8xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>],
          iterator_types = ["parallel"]} ins(%i : tensor<8xi64>) outs(%f : tensor<8xf32>) {
      ^bb0(%w: i64, %o: f32):
        %p = arith.index_cast %w : i64 to index
        %x = tensor.extract %table[%p] : tensor<100xf32>
        linalg.yield %x : f32
      } -> tensor<8xf32>
      return %r : tensor<8xf32>
    })");
  EXPECT_FALSE(matched.core);
  EXPECT_EQ(matched.why, "it reduces something");
}
