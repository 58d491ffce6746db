//===- FamilyProposerTest.cpp - What families propose ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Families/MatchedText.h"
#include "GpuRequest.h"
#include "ProposerTestUtils.h"
#include "fastk/Families/Family.h"
#include "gmock/gmock.h"
#include <optional>
#include <set>

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {
struct FamilyProposerTest : testing::Test {
  FamilyProposerTest() {
    ContractionText text;
    text.m = 512;
    text.n = 1024;
    text.k = 512;
    source = wrapIntoWorkload(text.str());
    request.emplace(*source);
  }

  std::vector<Idea> ideas(int count = 1 << 20) {
    return llvm::cantFail(ideasOf(*proposer, request->context(), count));
  }

  std::unique_ptr<Proposer> proposer =
      llvm::cantFail(createFamilyProposer(FASTK_FAMILIES_DIR));
  Module source;
  std::optional<GpuRequest> request;
};
} // namespace

TEST_F(FamilyProposerTest, EachIdeaHasOtherInstances) {
  std::set<std::string> digests, ids;
  for (const Idea &idea : ideas()) {
    EXPECT_TRUE(ids.insert(idea.id).second) << idea.id;
    for (const Variant &variant :
         llvm::cantFail(variantsOf(*proposer, request->context(), idea, 2))) {
      EXPECT_EQ(variant.problem, "");
      EXPECT_EQ(variant.ideaId, idea.id);
      ASSERT_TRUE(variant.plan);
      EXPECT_TRUE(digests.insert(digestOf(variant)).second);
    }
  }
  EXPECT_GT(digests.size(), 10u);
}

TEST_F(FamilyProposerTest, WhatWasTriedIsNotProposedAgain) {
  std::vector<Idea> first = ideas(1);
  ASSERT_EQ(first.size(), 1u);
  request->add(
      llvm::cantFail(variantsOf(*proposer, request->context(), first[0], 1))[0],
      1);
  for (const Idea &idea : ideas())
    EXPECT_NE(idea.id, first[0].id);
}

TEST_F(FamilyProposerTest, NeighboursKeepTheFamilysRules) {
  std::vector<families::Family> all =
      llvm::cantFail(families::readFamilies(FASTK_FAMILIES_DIR));
  Variant variant = llvm::cantFail(
      variantsOf(*proposer, request->context(), ideas(1)[0], 1))[0];
  std::vector<Variant> near =
      llvm::cantFail(proposer->neighbours(request->context(), variant, 8));
  EXPECT_FALSE(near.empty());
  for (const Variant &each : near)
    EXPECT_TRUE(llvm::any_of(all, [&](const families::Family &family) {
      return families::isLegal(family, each.program);
    }));
}

TEST_F(FamilyProposerTest, OtherTargetsAndCoresHaveNoIdeas) {
  request->target.target = "cuda:sm_80";
  EXPECT_THAT(ideas(), IsEmpty());
  source = wrapIntoWorkload(R"(
func.func @f(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %r = linalg.exp ins(%a : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = linalg.log ins(%a : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r, %s : tensor<8x8xf32>, tensor<8x8xf32>
})");
  GpuRequest other(*source);
  EXPECT_THAT(llvm::cantFail(ideasOf(*proposer, other.context(), 9)),
              IsEmpty());
}

TEST(FamilyProposerErrorsTest, AFolderThatIsNone) {
  auto proposer = createFamilyProposer("/nowhere");
  EXPECT_THAT(llvm::toString(proposer.takeError()),
              HasSubstr("/nowhere: cannot read"));
}
