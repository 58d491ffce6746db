//===- HostContractionTest.cpp - Contractions in C ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Headers and instances of random contractions are compiled and run: functions
// of vectors against those of one element, and results against sums of products
// in f64.
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include "MatchedText.h"
#include "fastk/Families/Samples.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using families::CoreInstance;
using testing::HasSubstr;

/// Random workloads that are run.
static constexpr uint64_t kSamples = 14;

/// Every function of a vector, at random places.
static const char *kVectors = R"(
  for (int round = 0; round < 3000; ++round) {
    const long b = draw() % BATCH, m = draw() % M, n = draw() % N, k = draw() % K;
    const long want = 1 + draw() % (LANES + 2);
    const long ofK = min(want, K - k), ofM = min(want, M - m), ofN = min(want, N - n);
    vf32 x = elementsA_K(OPERANDS, b, m, k, ofK);
    for (long i = 0; i < min(ofK, LANES); ++i)
      if (!isNear(x[i], elementA(OPERANDS, b, m, k + i), 1e-5)) return bad("A along k", b, m, n, k + i, x[i], elementA(OPERANDS, b, m, k + i));
    x = elementsA_M(OPERANDS, b, m, k, ofM);
    for (long i = 0; i < min(ofM, LANES); ++i)
      if (!isNear(x[i], elementA(OPERANDS, b, m + i, k), 1e-5)) return bad("A along m", b, m + i, n, k, x[i], elementA(OPERANDS, b, m + i, k));
    x = elementsB_K(OPERANDS, b, n, k, ofK);
    for (long i = 0; i < min(ofK, LANES); ++i)
      if (!isNear(x[i], elementB(OPERANDS, b, n, k + i), 1e-5)) return bad("B along k", b, m, n, k + i, x[i], elementB(OPERANDS, b, n, k + i));
    x = elementsB_N(OPERANDS, b, n, k, ofN);
    for (long i = 0; i < min(ofN, LANES); ++i)
      if (!isNear(x[i], elementB(OPERANDS, b, n + i, k), 1e-5)) return bad("B along n", b, m, n + i, k, x[i], elementB(OPERANDS, b, n + i, k));
    CHECK_COLUMNS_(n, N, ofN)
  }
)";

/// The whole, of an instance.
static const char *kWhole = R"(
  char *workspace = malloc(WORKSPACE + 64);
  memset(workspace, 0xff, WORKSPACE);
  memset(out, 0xff, elements * sizeof(OUT_TYPE));
  fastk_kernel(OPERANDS, out, workspace);
  for (int round = 0; round < 400; ++round) {
    const long b = draw() % BATCH, m = round % 3 ? draw() % M : M - 1, n = round % 5 ? draw() % N : N - 1;
    double sum = 0, size = 0;
    for (long k = 0; k < K; ++k) {
      const double each = (double)elementA(OPERANDS, b, m, k) * elementB(OPERANDS, b, n, k);
      sum += each;
      size += fabs(each);
    }
    // What a sum is off by, and what becomes of that.
    const double off = size * 1e-6 + 1e-6, y = read_(out[outOffset(b, m, n)]);
    const double low = read_(finish(OPERANDS, b, m, n, sum - off)), middle = read_(finish(OPERANDS, b, m, n, sum)), high = read_(finish(OPERANDS, b, m, n, sum + off));
    const double bound = fabs(high - middle) + fabs(middle - low) + (OUT_BITS == 32 ? 1e-5 : 2e-2) * (1 + fabs(middle));
    if (!(y == middle || (y != y && middle != middle) || fabs(y - middle) <= bound)) return bad("product", b, m, n, 0, y, middle);
  }
)";

static bool check(llvm::StringRef family, const ContractionText &text,
                  const std::string &about, uint64_t number) {
  MatchedText matched(text);
  EXPECT_TRUE(matched.core) << matched.why;
  return checkOnHost(family, "contraction", *matched.form,
                     std::string(kVectors) + kWhole, about, number);
}

TEST(HostContractionTest, InstancesOfRandomProductsAreRight) {
  for (uint64_t number = 0; number < kSamples; ++number) {
    families::ContractionSample sample = families::sampleContraction(3, number);
    EXPECT_TRUE(check("contraction-panels", sample.text, sample.about, number))
        << sample.about;
  }
}

TEST(HostContractionTest, DotProductsAreRight) {
  ContractionText text;
  text.b = "nk";
  for (uint64_t number = 0; number < 4; ++number) {
    text.m = 1 + number;
    text.n = 67 + 100 * number;
    text.k = number == 2 ? 5 : 301;
    text.type = number == 1 ? "bf16" : "f32";
    EXPECT_TRUE(check("contraction-dots", text, "", number));
  }
  text.b = "kn";
  EXPECT_FALSE(check("contraction-dots", text, "", 0));
}

TEST(HostContractionTest, TheHeaderSaysHowOperandsLie) {
  ContractionText text;
  text.a = "km";
  text.b = "kn";
  MatchedText matched(text);
  CoreInstance core = describeInC("contraction", *matched.form, 32, 2);
  for (const char *line :
       {"#define THREADS 2\n", "#define LANES 8\n", "#define A_ALONG_M 1\n",
        "#define A_ALONG_K 0\n", "#define B_ALONG_N 1\n",
        "#define B_ALONG_K 0\n", "#define B_K_STRIDE 128\n",
        "#define A_BUFFER in0\n", "#define OUT_PLAIN 1\n",
        "#define FINISH_IS_SUM 0\n"})
    EXPECT_THAT(families::headerOf(core), HasSubstr(line));
}

TEST(HostContractionTest, ASumAloneIsSaidToBeTheResult) {
  ContractionText text;
  text.type = text.result = "f32";
  text.operands.clear();
  text.tail.clear();
  text.value = "%x";
  MatchedText matched(text);
  EXPECT_THAT(describeInC("contraction", *matched.form, 16, 1).header,
              HasSubstr("#define FINISH_IS_SUM 1\n"));
}

TEST(HostContractionTest, OtherCoresHaveNoHeaderInC) {
  MatchedText matched{ContractionText()};
  std::string why;
  EXPECT_FALSE(families::findCore("scan", matched.form->getPattern().front(),
                                  "host", why));
  EXPECT_EQ(why, "there are no scan families for the host");
}
