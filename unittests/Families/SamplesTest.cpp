//===- SamplesTest.cpp - Workloads that families are tried on -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Samples.h"
#include "MatchedText.h"
#include "fastk/Families/Family.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;

/// As many as an admission judges at least.
static constexpr uint64_t kCount = 60;

TEST(SamplesTest, SeedAndNumberNameASampleOnEveryMachine) {
  EXPECT_EQ(sampleContraction(0, 0).about,
            "m 2048, n 64, k 63; A km f16, relu; B nk f16; result mn f16, "
            "silu, residual");
  EXPECT_EQ(sampleContraction(0, 59).about,
            "m 256, n 720, k 384; A mk f16, cast from f32; B kn f16, relu; "
            "result mn f16, bias, silu");
  EXPECT_EQ(sampleContraction(2, 7).about,
            "m 17, n 64, k 32768; A mk f16; B kn f16; result mn bf16, bias");
  EXPECT_EQ(sampleContraction(7, 3).text.str(),
            makeSample("contraction", 7, 3)->text);
}

TEST(SamplesTest, AnUnknownCoreHasNone) {
  EXPECT_FALSE(makeSample("sorting", 1, 0));
}

TEST(SamplesTest, SamplesAreSmall) {
  for (uint64_t number = 0; number < 1000; ++number) {
    ContractionText text = sampleContraction(3, number).text;
    EXPECT_LE(text.elements(text.out) * text.k, kMaxSampleTerms);
    for (llvm::StringRef dims : {text.a, text.b, text.out})
      EXPECT_LE(text.elements(dims), kMaxSampleElements);
  }
}

TEST(SamplesTest, EveryKindIsAmongThoseOfAnAdmission) {
  for (uint64_t seed : {0, 1, 2}) {
    std::string all;
    bool hasLongSum = false, hasRow = false, hasOddTerms = false;
    for (uint64_t number = 0; number < kCount; ++number) {
      ContractionSample sample = sampleContraction(seed, number);
      const ContractionText &text = sample.text;
      all += sample.about + "\n";
      hasLongSum |= text.k >= 4096 && text.m <= 128;
      hasRow |= text.m == 1;
      hasOddTerms |= text.k % 8 != 0;
    }
    EXPECT_TRUE(hasLongSum && hasRow && hasOddTerms) << seed;
    for (const char *kind :
         {"A mk ",       "A km ",          "B nk ",
          "B kn ",       "A bmk ",         "A bkm ",
          "B bnk ",      "result mn ",     "result nm ",
          "result bmn ", "k f16",          "k bf16",
          "mn f16",      "n bf16",         "n f32",
          "relu; B",     "scaled by m; B", "cast from f32; B",
          ", bias",      ", gelu",         ", tanh",
          ", silu",      ", residual"})
      EXPECT_THAT(all, HasSubstr(kind)) << seed;
    // A factor that all batches share.
    EXPECT_THAT(all, testing::ContainsRegex("A (mk|km) .*B (bnk|bkn|nbk)"));
    EXPECT_THAT(all, testing::ContainsRegex("A (bmk|bkm|mbk) .*B (nk|kn)"));
  }
}

TEST(SamplesTest, TheShippedFamilyTakesASampleOrNamesARequirement) {
  std::vector<Family> shipped =
      llvm::cantFail(readFamilies(FASTK_FAMILIES_DIR));
  ASSERT_FALSE(shipped.empty());
  for (uint64_t number = 0; number < kCount; ++number) {
    ContractionSample sample = sampleContraction(0, number);
    MatchedText matched(sample.text);
    ASSERT_TRUE(matched.core) << sample.about << ": " << matched.why;
    std::string why;
    std::optional<CoreInstance> core = describeCore(*matched.core, why);
    ASSERT_TRUE(core) << sample.about << ": " << why;
    core->multiprocessors = 132;
    core->sharedBytes = 227 << 10;
    for (const Family &family : shipped) {
      if (family.core != "contraction" || !family.isFor("cuda:sm_90a") ||
          !instantiate(family, *core, 1, why).empty())
        continue;
      EXPECT_TRUE(llvm::any_of(family.requirements,
                               [&](const auto &rule) {
                                 return why == rule.because + " (" +
                                                   rule.expression + ")";
                               }))
          << sample.about << ": " << why;
    }
  }
}
