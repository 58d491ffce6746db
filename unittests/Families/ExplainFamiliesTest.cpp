//===- ExplainFamiliesTest.cpp - What families say of a workload ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchedText.h"
#include "fastk/Families/Family.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::IsEmpty;
using testing::StartsWith;

static Family makeFamily(std::string name, std::string require) {
  Family family;
  family.name = std::move(name);
  family.core = "contraction";
  family.target = "sm_90a";
  family.plan = R"({"steps": []})";
  family.requirements = {{std::move(require), "it is made so"}};
  family.cost = {{"", "1"}};
  return family;
}

TEST(ExplainFamiliesTest, EachFamilyOfTheTargetSaysWhetherItServes) {
  Family elsewhere = makeFamily("elsewhere", "1");
  elsewhere.target = "sm_100a";
  std::vector<Family> families = {makeFamily("small", "K <= 32"),
                                  makeFamily("large", "K > 32"), elsewhere};
  MatchedText matched((ContractionText()));
  EXPECT_EQ(explainFamilies(families, matched.form->getPattern().front(),
                            "cuda:sm_90a"),
            "family small serves it: --search --proposer=families\n"
            "family large does not serve it: it is made so (K > 32)\n");
}

TEST(ExplainFamiliesTest, TheClassThatIsAcceptedIsAsked) {
  Family family = makeFamily("rounding", "ACCEPTS_TF32 && !ACCEPTS_HALF");
  MatchedText matched((ContractionText()));
  auto said = [&](llvm::StringRef precision) {
    return explainFamilies({family}, matched.form->getPattern().front(),
                           "cuda:sm_90a", {}, precision);
  };
  EXPECT_THAT(said("ieee"), StartsWith("family rounding does not serve it"));
  EXPECT_THAT(said("tf32"), StartsWith("family rounding serves it"));
  EXPECT_THAT(said("half"), StartsWith("family rounding does not serve it"));
}

/// Both, as its windows overlap no zeros.
TEST(ExplainFamiliesTest, WhatIsAConvolutionTooIsThatFirst) {
  MatchedText matched(R"(
    func.func @f(%x: tensor<2x16x9x9xf16>, %w: tensor<32x16x3x3xf16>, %o: tensor<2x32x7x7xf16>) -> tensor<2x32x7x7xf16> {
      %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<2x16x9x9xf16>, tensor<32x16x3x3xf16>)
        outs(%o : tensor<2x32x7x7xf16>) -> tensor<2x32x7x7xf16>
      return %r : tensor<2x32x7x7xf16>
    })");
  std::string why;
  std::vector<CoreInstance> cores =
      findCores(matched.form->getPattern().front(), "cuda:sm_90a", why);
  ASSERT_EQ(cores.size(), 2u) << why;
  EXPECT_EQ(cores[0].core, "convolution");
  EXPECT_EQ(cores[1].core, "contraction");
}

TEST(ExplainFamiliesTest, WhatIsNoPartOfAProgramIsTold) {
  Family host = makeFamily("here", "1");
  host.target = "host";
  host.plan = "{}";
  host.program = "static f(void);\n";
  MatchedText matched((ContractionText()));
  EXPECT_EQ(explainFamilies({host}, matched.form->getPattern().front(), "host"),
            "family here serves it: --search --proposer=families; programs of "
            "several stages do without it: in 'static f(void);': 'f' has no "
            "type: what a macro declares is not seen, so write it out\n");
}

TEST(ExplainFamiliesTest, AWorkloadOfNoCoreSaysWhy) {
  MatchedText matched(R"(
    func.func @f(%a: tensor<64xf16>) -> (tensor<64xf16>, tensor<64xf16>) {
      %e = tensor.empty() : tensor<64xf16>
      %r = linalg.negf ins(%a : tensor<64xf16>) outs(%e : tensor<64xf16>) -> tensor<64xf16>
      %s = linalg.exp ins(%a : tensor<64xf16>) outs(%e : tensor<64xf16>) -> tensor<64xf16>
      return %r, %s : tensor<64xf16>, tensor<64xf16>
    })");
  EXPECT_THAT(explainFamilies({makeFamily("any", "1")},
                              matched.form->getPattern().front(),
                              "cuda:sm_90a"),
              StartsWith("no family: the workload is none of their cores: "));
}

TEST(ExplainFamiliesTest, ATargetWithoutFamiliesSaysNothing) {
  MatchedText matched((ContractionText()));
  EXPECT_THAT(explainFamilies({makeFamily("any", "1")},
                              matched.form->getPattern().front(), "host"),
              IsEmpty());
}
