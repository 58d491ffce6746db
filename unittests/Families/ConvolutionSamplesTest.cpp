//===- ConvolutionSamplesTest.cpp - Random convolutions -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedConvolution.h"
#include "fastk/Families/Family.h"
#include "fastk/Families/Samples.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;

/// As many as an admission judges at least.
static constexpr uint64_t kCount = 60;

TEST(ConvolutionSamplesTest, SeedAndNumberNameASampleOnEveryMachine) {
  EXPECT_EQ(sampleConvolution(0, 0).about,
            "n 2, c 128, o 320; y 31 by 2, stride 3, dilation 2, zeros before "
            "1; x 25 by 4, stride 2, zeros before 2, zeros after 2; X ncYX "
            "f16; W vwco f16; result noyx f16, bias, tanh");
  EXPECT_EQ(sampleConvolution(7, 3).text.str(),
            makeSample("convolution", 7, 3)->text);
}

TEST(ConvolutionSamplesTest, SamplesAreSmall) {
  for (uint64_t number = 0; number < 1000; ++number) {
    ConvolutionText text = sampleConvolution(3, number).text;
    EXPECT_LE(text.terms(), kMaxSampleTerms);
    for (llvm::StringRef dims : {text.x, text.w, text.out})
      EXPECT_LE(text.elements(dims), kMaxSampleElements);
  }
}

TEST(ConvolutionSamplesTest, EveryKindIsAmongThoseOfAnAdmission) {
  for (uint64_t seed : {0, 1, 2}) {
    std::string all;
    for (uint64_t number = 0; number < kCount; ++number)
      all += sampleConvolution(seed, number).about + "\n";
    for (const char *kind : {", g ",           ", c ",
                             "; x ",           "; y ",
                             "; z ",           ", stride 2",
                             ", dilation 2",   ", zeros before",
                             ", zeros after",  ", zeros between",
                             "; X ncX ",       "; X nXc ",
                             "; X ncYX ",      "; X nYXc ",
                             "; X ngYX ",      "; X nYXg ",
                             "; W ocvw ",      "; W vwco ",
                             "; W ovwc ",      "; result noyx ",
                             "; result nyxo ", "X f16",
                             "bf16",           "f32",
                             ", bias",         ", residual",
                             ", relu",         "scaled by c"})
      EXPECT_THAT(all, HasSubstr(kind)) << seed;
    EXPECT_THAT(all, testing::ContainsRegex("X (ngc|nC)"));
  }
}

/// What the text says of an axis is what the core says.
static void expectAxis(const ConvolutionText::Axis &text,
                       const ConvolutionAxis &axis, const std::string &about) {
  EXPECT_EQ(axis.out, text.out()) << about;
  EXPECT_EQ(axis.kernel, text.kernel) << about;
  if (axis.out > 1)
    EXPECT_EQ(axis.stride, text.stride) << about;
  if (axis.kernel > 1)
    EXPECT_EQ(axis.dilation, text.dilation) << about;
  EXPECT_EQ(axis.padding, text.low) << about;
  EXPECT_EQ(axis.in, text.in) << about;
  EXPECT_EQ(axis.inputDilation, text.inputDilation) << about;
}

TEST(ConvolutionSamplesTest, EverySampleIsRecognised) {
  for (uint64_t number = 0; number < 3 * kCount; ++number) {
    ConvolutionSample sample = sampleConvolution(1, number);
    MatchedConvolution matched(sample.text);
    ASSERT_TRUE(matched.core) << matched.why << "\n" << sample.about;
    const Convolution &core = *matched.core;
    const ConvolutionText &text = sample.text;
    EXPECT_EQ(core.batchSize, text.batch) << sample.about;
    EXPECT_EQ(core.groupCount, text.groups) << sample.about;
    EXPECT_EQ(core.inChannelCount, text.inChannels) << sample.about;
    EXPECT_EQ(core.outChannelCount, text.outChannels) << sample.about;
    size_t missing = core.axes.size() - text.axes.size();
    for (auto [place, axis] : llvm::enumerate(text.axes))
      expectAxis(axis, core.axes[missing + place], sample.about);
    EXPECT_EQ(core.x.isPlain, text.prologueX.lines.empty()) << sample.about;
    EXPECT_EQ(core.w.isPlain, text.prologueW.lines.empty()) << sample.about;
    EXPECT_TRUE(core.out.isPlain) << sample.about;
    EXPECT_NE(matched.header(), "");
  }
}

TEST(ConvolutionSamplesTest, TheShippedFamilyTakesASampleOrNamesARequirement) {
  Family family = llvm::cantFail(
      readFamily(FASTK_FAMILIES_DIR "/sm_90a/convolution-wgmma"));
  unsigned taken = 0;
  for (uint64_t number = 0; number < kCount; ++number) {
    ConvolutionSample sample = sampleConvolution(1, number);
    MatchedConvolution matched(sample.text);
    std::string why;
    std::optional<CoreInstance> core = findCore(
        "convolution", matched.form->getPattern().front(), "cuda:sm_90a", why);
    ASSERT_TRUE(core) << why << "\n" << sample.about;
    bool isTaken = !instantiate(family, *core, 1, why).empty();
    EXPECT_TRUE(isTaken || llvm::any_of(family.requirements,
                                        [&](const auto &rule) {
                                          return llvm::StringRef(why).contains(
                                              rule.because);
                                        }))
        << sample.about << ": " << why;
    taken += isTaken;
  }
  EXPECT_GE(taken, kCount / 4);
}
