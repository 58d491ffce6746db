//===- CatalogProposerTest.cpp - The catalog proposes what works ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../Analysis/WorkloadFixture.h"
#include "../ProposerTestUtils.h"
#include "KernelRunner.h"
#include "Patterns.h"

#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Target/TargetDescription.h"

#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace fastk;
using namespace fastk::test;

namespace {
/// A canonical pattern and everything a request refers to.
struct Request {
  explicit Request(Module source) : module(std::move(source)) {
    auto computed = computeCanonicalForm(getWorkload(*module));
    EXPECT_TRUE(mlir::succeeded(computed));
    form = std::move(*computed);
    features = analyzeWorkload(form.getPattern());
    roofline = computeRoofline(form.getPattern());
    target.threads = 2;
    target.vectorBytes = 32;
    target.l1Bytes = 32 << 10;
    target.l2Bytes = 1 << 20;
    target.l3Bytes = 16 << 20;
    target.memoryBytesPerSecond = 2e10;
    target.f32OpsPerSecond = 2e11;
  }
  static Module generic(const std::string &text) {
    return wrapIntoWorkload(text);
  }
  ProposalContext context() {
    return {form.getLowering(),
            features,
            roofline,
            target,
            Precision::ieee,
            2,
            1.0,
            0.1,
            history,
            parents};
  }
  Module module;
  CanonicalForm form;
  WorkloadFeatures features;
  Roofline roofline;
  TargetDescription target;
  std::vector<TriedVariant> history, parents;
};

/// Ideas, and all C variants of them, as a search would see them.
std::vector<Variant> playRounds(Request &request, int rounds,
                                std::vector<std::string> *ids = nullptr) {
  auto proposer = createCatalogProposer();
  std::vector<Variant> all;
  for (int round = 0; round < rounds; ++round) {
    auto ideas = ideasOf(*proposer, request.context(), 6);
    EXPECT_TRUE(bool(ideas));
    std::vector<TriedVariant> now;
    for (const Idea &idea : *ideas) {
      if (ids)
        ids->push_back(idea.id);
      EXPECT_GT(idea.text.size(), 80u) << idea.id << ": say why";
      auto variants = variantsOf(*proposer, request.context(), idea, 2);
      EXPECT_TRUE(bool(variants));
      EXPECT_FALSE(variants->empty()) << idea.id;
      for (Variant &variant : *variants) {
        EXPECT_EQ(variant.ideaId, idea.id);
        TriedVariant tried;
        tried.variant = variant;
        tried.status = "ok";
        tried.seconds = 1.0 / double(all.size() + 1);
        tried.round = round;
        all.push_back(variant);
        now.push_back(tried);
      }
    }
    request.history.insert(request.history.end(), now.begin(), now.end());
    if (!now.empty())
      request.parents = {now.back(), now.front()};
  }
  return all;
}
} // namespace

TEST(CatalogProposer, RoundsAreDeterministicAndNeverRepeat) {
  std::string text = product(1, 30, 40, 50, false, false, Epilogue::BiasGelu);
  std::vector<std::string> first, second;
  Request a(Request::generic(text)), b(Request::generic(text));
  auto one = playRounds(a, 3, &first), two = playRounds(b, 3, &second);
  EXPECT_EQ(first, second);
  EXPECT_GE(first.size(), 9u);
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(),
            first.size());
  ASSERT_EQ(one.size(), two.size());
  // Nothing that an earlier round evaluated comes again.
  std::map<std::string, int> rounds;
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].program, two[i].program);
    int round = a.history[i].round;
    auto [it, isNew] = rounds.insert({one[i].program, round});
    EXPECT_TRUE(isNew || it->second == round)
        << one[i].ideaId << " was realised in round " << it->second;
  }
}

TEST(CatalogProposer, RefinementsNameTheirParent) {
  Request request(Request::generic(softmax(3, 5, 96, false, false)));
  std::vector<std::string> ids;
  playRounds(request, 2, &ids);
  EXPECT_TRUE(std::any_of(ids.begin(), ids.end(), [](const std::string &id) {
    return id.find("/of/") != std::string::npos;
  }));
}

TEST(CatalogProposer, NeighboursDifferInOneParameter) {
  Request request(
      Request::generic(product(1, 64, 64, 64, true, false, Epilogue::Bias)));
  auto proposer = createCatalogProposer();
  auto ideas = ideasOf(*proposer, request.context(), 1);
  ASSERT_TRUE(bool(ideas));
  ASSERT_FALSE(ideas->empty());
  auto variants = variantsOf(*proposer, request.context(), ideas->front(), 1);
  ASSERT_TRUE(bool(variants));
  ASSERT_FALSE(variants->empty());
  auto next = proposer->neighbours(request.context(), variants->front(), 8);
  ASSERT_TRUE(bool(next));
  EXPECT_GE(next->size(), 4u);
  for (const Variant &v : *next)
    EXPECT_NE(v.program, variants->front().program);
}

TEST(CatalogProposer, IdeasOfOthersAreRefused) {
  Request request(Request::generic(softmax(1, 2, 3, false, false)));
  auto proposer = createCatalogProposer();
  Idea foreign;
  foreign.id = "files/mine";
  auto variants = variantsOf(*proposer, request.context(), foreign, 1);
  ASSERT_FALSE(bool(variants));
  EXPECT_NE(llvm::toString(variants.takeError()).find("files/mine"),
            std::string::npos);
}

TEST(CatalogProposer, EveryVariantOfTwoRoundsIsRight) {
  std::vector<std::string> texts = {
      product(1, 21, 37, 53, true, false, Epilogue::BiasGelu),
      softmax(2, 3, 100, false, false), attention(1, 30, 30, 20, false, true),
      convolution(1, 4, 9, 18, 20, 3, 1, 1, false)};
  for (const std::string &text : texts) {
    Request request(Request::generic(text));
    std::vector<KernelCase> cases;
    for (const Variant &variant : playRounds(request, 2)) {
      if (variant.language != Language::c)
        continue;
      KernelCase c;
      c.name = variant.ideaId;
      c.block = request.form.getLowering().getPatternBlock();
      c.program = variant.program;
      c.workspaceBytes = variant.workspaceBytes;
      c.range = 0.5;
      cases.push_back(c);
    }
    EXPECT_GE(cases.size(), 4u);
    checkKernels(cases);
  }
}

/// Where the catalog has no C kernel yet, and what it says.
static const std::map<llvm::StringRef, const char *> kNotEmitted = {
    {"transposed_conv_small.mlir", "a slice is inserted at no known place"},
};

TEST(CatalogProposer, GoldenInputsAreRight) {
  std::vector<Request> requests;
  std::vector<KernelCase> cases;
  auto paths = smallGoldenInputs();
  ASSERT_FALSE(paths.empty());
  requests.reserve(paths.size());
  for (const std::string &path : paths) {
    requests.emplace_back(wrapFileIntoWorkload(path));
    KernelCase c;
    c.name = path;
    c.block = requests.back().form.getLowering().getPatternBlock();
    c.range = 0.5;
    auto known = kNotEmitted.find(llvm::sys::path::filename(path));
    if (known != kNotEmitted.end())
      c.notEmitted = known->second;
    cases.push_back(c);
  }
  checkKernels(cases);
}
