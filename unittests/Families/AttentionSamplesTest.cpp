//===- AttentionSamplesTest.cpp - Random attention ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedAttention.h"
#include "fastk/Families/Family.h"
#include "fastk/Families/Samples.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;

/// As many as an admission judges at least.
static constexpr uint64_t kCount = 60;

TEST(AttentionSamplesTest, SamplesAreSmall) {
  for (uint64_t number = 0; number < 1000; ++number) {
    AttentionText text = sampleAttention(3, number).text;
    EXPECT_LE(text.elements("bhgmn") *
                  (text.extents.at('d') + text.extents.at('e')),
              kMaxSampleTerms);
    for (llvm::StringRef dims : {"bhgmn", "bhgmd", "bhnd", "bhne", "bhgme"})
      EXPECT_LE(text.elements(dims), kMaxSampleElements);
  }
}

TEST(AttentionSamplesTest, EveryKindIsAmongThoseOfAnAdmission) {
  for (uint64_t seed : {0, 1, 2}) {
    std::string all;
    bool hasGroups = false, hasLongKeys = false, hasOddColumns = false;
    for (uint64_t number = 0; number < kCount; ++number) {
      AttentionSample sample = sampleAttention(seed, number);
      all += sample.about + "\n";
      hasGroups |= sample.text.extents.at('g') > 1;
      hasLongKeys |= sample.text.extents.at('n') > 256;
      hasOddColumns |= sample.text.extents.at('d') % 8 != 0;
    }
    EXPECT_TRUE(hasGroups && hasLongKeys && hasOddColumns) << seed;
    for (const char *kind :
         {"; f16, result f16", "; bf16, result bf16", "result f32", "q bhgmd",
          "q bmhgd", "k bhdn", "out bmhge", ", heads in one dimension",
          ", capped", ", bias ", ", causal by ", ", mask ", ", zero rows",
          ", divided last", ", weights rounded", ", gain", ", residual"})
      EXPECT_THAT(all, HasSubstr(kind)) << seed;
  }
}

TEST(AttentionSamplesTest, TheShippedFamilyTakesASampleOrNamesARequirement) {
  Family family =
      llvm::cantFail(readFamily(FASTK_FAMILIES_DIR "/sm_90a/attention-wgmma"));
  unsigned taken = 0;
  for (uint64_t number = 0; number < kCount; ++number) {
    AttentionSample sample = sampleAttention(1, number);
    MatchedAttention matched(sample.text);
    ASSERT_TRUE(matched.core) << matched.why << "\n" << sample.about;
    EXPECT_EQ(matched.core->causalOffset.has_value(),
              sample.text.extents.at('m') > 1 &&
                  llvm::StringRef(sample.about).contains(", causal"))
        << sample.about;
    std::vector<CoreInstance> cores = findCores(
        matched.form->getPattern().front(), "cuda:sm_90a", matched.why);
    std::string why;
    bool isTaken = !instantiate(family, cores, 1, why).empty();
    EXPECT_TRUE(isTaken || !why.empty());
    taken += isTaken;
  }
  EXPECT_GE(taken, kCount * 3 / 4);
}
