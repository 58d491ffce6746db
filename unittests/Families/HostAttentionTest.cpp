//===- HostAttentionTest.cpp - Attention in C -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Headers and instances of random attention are compiled and run: functions of
// vectors against those of one element, and results against rows in f64.
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include "MatchedAttention.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using families::AttentionSample;
using testing::HasSubstr;

/// Random workloads that are run, by each family.
static constexpr uint64_t kSamples = 12;

/// Every function of a vector, at random places.
static const char *kVectors = R"(
  for (int round = 0; round < 3000; ++round) {
    const long b = draw() % BATCH, m = draw() % M, n = draw() % N, d = draw() % D, e = draw() % E;
    const long want = 1 + draw() % (LANES + 2);
#define CHECK_(along, size, vector, single, what) \
    { \
      const long count = min(want, size - along); \
      vf32 x = vector; \
      for (long i = 0; i < min(count, LANES); ++i) \
        if (!isNear(x[i], single, 1e-5)) return bad(what, b, m, n, along + i, x[i], single); \
    }
    CHECK_(d, D, elementsQ_D(OPERANDS, b, m, d, count), elementQ(OPERANDS, b, m, d + i), "Q along d")
    CHECK_(m, M, elementsQ_M(OPERANDS, b, m, d, count), elementQ(OPERANDS, b, m + i, d), "Q along m")
    CHECK_(d, D, elementsK_D(OPERANDS, b, n, d, count), elementK(OPERANDS, b, n, d + i), "K along d")
    CHECK_(n, N, elementsK_N(OPERANDS, b, n, d, count), elementK(OPERANDS, b, n + i, d), "K along n")
    CHECK_(e, E, elementsV_E(OPERANDS, b, n, e, count), elementV(OPERANDS, b, n, e + i), "V along e")
    CHECK_(n, N, elementsV_N(OPERANDS, b, n, e, count), elementV(OPERANDS, b, n + i, e), "V along n")
    vf32 sums;
    for (long i = 0; i < LANES; ++i) sums[i] = (float)(draw() % 65 - 32) / 8;
    CHECK_(n, N, scores(OPERANDS, b, m, n, sums, count), score(OPERANDS, b, m, n + i, sums[i]), "scores")
    if (CAUSAL && n > m + CAUSAL_OFFSET && score(OPERANDS, b, m, n, sums[0]) != -INFINITY) return bad("mask", b, m, n, 0, 0, 0);
    const long other = draw() % BATCH;
    if (sliceOf(b) < 0 || sliceOf(b) >= SLICES) return bad("slice", b, m, n, 0, sliceOf(b), SLICES);
    if (sliceOf(b) == sliceOf(other) && (elementK(OPERANDS, b, n, d) != elementK(OPERANDS, other, n, d) || elementV(OPERANDS, b, n, e) != elementV(OPERANDS, other, n, e)))
      return bad("shared keys", b, m, n, other, 0, 0);
    const long ofE = min(want, E - e);
    CHECK_COLUMNS_(e, E, ofE)
  }
)";

/// The whole, of an instance.
static const char *kWhole = R"(
  char *workspace = malloc(WORKSPACE + 64);
  memset(workspace, 0xff, WORKSPACE);
  memset(out, 0xff, elements * sizeof(OUT_TYPE));
  fastk_kernel(OPERANDS, out, workspace);
  double *const weights = malloc(N * sizeof(double));
  for (int round = 0; round < 200; ++round) {
    const long b = draw() % BATCH, m = round % 3 ? draw() % M : M - 1, e = round % 5 ? draw() % E : E - 1;
    double most = -INFINITY, sum = 0, value = 0, size = 0;
    for (long n = 0; n < N; ++n) {
      double product = 0;
      for (long d = 0; d < D; ++d)
        product += (double)elementQ(OPERANDS, b, m, d) * elementK(OPERANDS, b, n, d);
      weights[n] = score(OPERANDS, b, m, n, product);
      most = fmax(most, weights[n]);
    }
    for (long n = 0; n < N; ++n) {
      const double weight = exp(weights[n] - most);
      sum += weight;
      value += weight * elementV(OPERANDS, b, n, e);
      size += weight * fabs(elementV(OPERANDS, b, n, e));
    }
    if (HAS_ZERO_ROWS && most == -INFINITY)
      sum = 1, value = size = 0;
    const double y = read_(out[outOffset(b, m, e)]), off = size / sum * 1e-5 + 1e-6;
    const double low = read_(finish(OPERANDS, b, m, e, value / sum - off)), middle = read_(finish(OPERANDS, b, m, e, value / sum)), high = read_(finish(OPERANDS, b, m, e, value / sum + off));
    const double bound = fabs(high - middle) + fabs(middle - low) + (OUT_BITS == 32 ? 1e-5 : 2e-2) * (1 + fabs(middle));
    if (!(y == middle || (y != y && middle != middle) || fabs(y - middle) <= bound)) return bad("attention", b, m, e, 0, y, middle);
  }
)";

static bool check(llvm::StringRef family, const AttentionText &text,
                  const std::string &about, uint64_t number) {
  MatchedAttention matched(text);
  EXPECT_TRUE(matched.core) << matched.why;
  return checkOnHost(family, "attention", *matched.form,
                     std::string(kVectors) + kWhole, about, number);
}

TEST(HostAttentionTest, InstancesOfRandomAttentionAreRight) {
  uint64_t taken = 0;
  for (uint64_t number = 0; taken < kSamples; ++number) {
    ASSERT_LT(number, 10 * kSamples);
    AttentionSample sample = families::sampleHostAttention(3, number);
    if (sample.text.elements("bhgmn") > 400'000)
      continue;
    ++taken;
    for (const char *family : {"attention-rows", "attention-queries"})
      EXPECT_TRUE(check(family, sample.text, sample.about, number))
          << sample.about;
  }
}

/// Weights are divided before values are summed: all values are as large as
/// they may be.
static const char *kLarge = R"(
  for (long i = 0; i < BATCH * M * D; ++i) a0[i] = 0;
  for (long i = 0; i < SLICES * N * E; ++i) a2[i] = 1e38f;
  char *workspace = malloc(WORKSPACE + 64);
  fastk_kernel(OPERANDS, out, workspace);
  for (long i = 0; i < elements; ++i)
    if (!(fabs(out[i] / 1e38 - 1) < 1e-5)) return bad("sum of large values", i, 0, 0, 0, out[i], 1e38);
)";

TEST(HostAttentionTest, SumsOfLargeValuesAreFinite) {
  AttentionText text;
  text.type = text.result = "f32";
  text.extents['n'] = 300;
  for (const char *family : {"attention-rows", "attention-queries"})
    for (uint64_t number : {0, 1, 2, 3, 4, 5}) {
      MatchedAttention matched(text);
      EXPECT_TRUE(
          checkOnHost(family, "attention", *matched.form, kLarge, "", number));
    }
}

/// A mask that hides all keys of rows before a number.
static AttentionText hidingRows(int64_t count, bool hasZeroRows) {
  AttentionText text;
  text.type = text.result = "f32";
  text.extents['m'] = 21;
  text.extents['n'] = 300;
  text.scoreLines = "    %s0 = arith.mulf %x, %scale : f32\n"
                    "    %first = arith.constant " +
                    std::to_string(count) +
                    " : index\n"
                    "    %isSeen = arith.cmpi sge, %row, %first : index\n"
                    "    %s = arith.select %isSeen, %s0, %hidden : f32\n";
  text.hasZeroRows = hasZeroRows;
  return text;
}

TEST(HostAttentionTest, RowsWithoutAKeyAreZeroOrNaN) {
  for (const char *family : {"attention-rows", "attention-queries"})
    for (bool hasZeroRows : {false, true})
      for (uint64_t number : {0, 1, 2})
        EXPECT_TRUE(check(family, hidingRows(5, hasZeroRows), "", number));
}

TEST(HostAttentionTest, TheHeaderSaysHowOperandsLieAndWhatTheyShare) {
  AttentionText text;
  text.type = text.result = "f32";
  text.extents['g'] = 3;
  text.k = "bhdn";
  MatchedAttention matched(text);
  families::CoreInstance core = describeInC("attention", *matched.form, 32, 2);
  for (const char *line :
       {"#define BATCH 12\n", "#define SLICES 4\n", "#define CAUSAL 0\n",
        "#define Q_ALONG_D 1\n", "#define Q_ALONG_M 0\n",
        "#define K_ALONG_N 1\n", "#define K_ALONG_D 0\n",
        "#define V_ALONG_E 1\n", "#define V_ALONG_N 0\n",
        "#define HAS_ZERO_ROWS 0\n"})
    EXPECT_THAT(families::headerOf(core), HasSubstr(line));
}

/// Keys up to the row and an offset.
static AttentionText causalBy(int64_t offset) {
  AttentionText text;
  text.scoreLines = "    %s0 = arith.mulf %x, %scale : f32\n"
                    "    %offset = arith.constant " +
                    std::to_string(offset) +
                    " : index\n"
                    "    %last = arith.addi %row, %offset : index\n"
                    "    %isSeen = arith.cmpi sle, %key, %last : index\n"
                    "    %s = arith.select %isSeen, %s0, %hidden : f32\n";
  return text;
}

TEST(HostAttentionTest, AMaskOfIndicesIsCausal) {
  AttentionText text = causalBy(0);
  MatchedAttention matched(text);
  EXPECT_THAT(describeInC("attention", *matched.form, 32, 1).header,
              HasSubstr("#define CAUSAL 1\n#define CAUSAL_OFFSET 0\n"));
  for (const char *family : {"attention-rows", "attention-queries"})
    for (uint64_t number : {0, 1, 2, 3})
      EXPECT_TRUE(check(family, text, "causal", number));
  // Rows without a key, and those that see nearly all.
  for (int64_t offset : {-70, -5, 60, 127, 500})
    for (const char *family : {"attention-rows", "attention-queries"})
      for (uint64_t number : {0, 1})
        EXPECT_TRUE(check(family, causalBy(offset), "causal", number));
}
