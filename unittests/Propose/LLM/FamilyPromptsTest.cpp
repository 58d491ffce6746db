//===- FamilyPromptsTest.cpp - Models that write families -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmbeddedPrompts.h"
#include "LLMTestUtils.h"
#include "fastk/Families/Core.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

/// Asks for families, and knows those that are shipped.
struct AskingForFamilies {
  explicit AskingForFamilies(ScriptedModel::Answer answer) {
    auto owned = std::make_unique<ScriptedModel>(std::move(answer));
    model = owned.get();
    LLMProposerOptions options;
    options.writing = Writing::Families;
    options.families =
        llvm::cantFail(families::readFamilies(FASTK_FAMILIES_DIR));
    proposer = createLLMProposer(
        std::move(owned), llvm::cantFail(PromptTemplates::load()), options);
  }
  ScriptedModel *model = nullptr;
  std::unique_ptr<Proposer> proposer;

  Variant realised(Request &request) {
    auto variants =
        llvm::cantFail(proposer->realise(request.context(), {idea}, 1));
    EXPECT_EQ(variants.front()->size(), 1u);
    return variants.front()->front();
  }
  Idea idea = {"llm/1-plain", IdeaCategory::MemoryAccess, "One thread each",
               "A thread computes an element.", "family:contraction-wgmma"};
};

Request product() { return Request::golden("matmul_f32_small", gpuTarget()); }

const char *const kProgram = R"(#define THREADS 128 // tune: 128, 256
extern "C" __global__ void __launch_bounds__(THREADS) product(OUT_TYPE *out, OPERAND_PARAMETERS) {
  const i64 i = (i64)blockIdx.x * THREADS + threadIdx.x;
  if (i >= (i64)BATCH * M * N)
    return;
  const i32 n = (i32)(i % N), m = (i32)(i / N % M), b = (i32)(i / N / M);
  float sum = 0.0f;
  for (i32 k = 0; k < K; ++k)
    sum += (float)elementA(OPERANDS, b, m, k) * (float)elementB(OPERANDS, b, n, k);
  out[outOffset(b, m, n)] = finish(OPERANDS, b, m, n, sum);
}
)";
const char *const kPlan = R"json({"steps": [{"launch": "product",
 "grid": "ceildiv(BATCH * M * N, THREADS)", "block": "THREADS", "arguments": ["OUT", "operands"]}]})json";

std::string reply(llvm::StringRef rules) {
  return std::string("As asked.\n\n```cuda\n") + kProgram + "```\n\n```json\n" +
         kPlan + "\n```\n\n```json\n" + rules.str() + "\n```\n";
}
std::string rules(llvm::StringRef requirement = "OUT_BITS == 32",
                  llvm::StringRef legal = "THREADS == 256") {
  return (R"({"requirements": [{"require": ")" + requirement +
          R"(", "because": "it writes f32"}], "legal": [{"require": ")" +
          legal +
          R"(", "because": "blocks are large"}], "choose": ["THREADS"], "cost": ["THREADS"]})")
      .str();
}

TEST(FamilyPromptsTest, IdeasAreForAllSizes) {
  Request request = product();
  AskingForFamilies asking([](const Prompt &) {
    return said(
        R"json({"ideas": [{"title": "Three terms", "category": "data type and precision",
      "text": "Split.", "parent": "F5", "expected_gain": "3x"}]})json");
  });
  auto ideas =
      llvm::cantFail(asking.proposer->proposeIdeas(request.context(), 2));
  ASSERT_EQ(ideas->size(), 1u);
  EXPECT_EQ(ideas->front().parent, "family:contraction-wgmma");
  const Prompt &prompt = asking.model->asked.front();
  EXPECT_THAT(prompt.system, HasSubstr("the core `contraction`"));
  EXPECT_THAT(prompt.user,
              AllOf(HasSubstr("## F5: family contraction-wgmma"),
                    HasSubstr("It does not serve this workload: it multiplies "
                              "f16 by f16 or bf16 by bf16"),
                    HasSubstr("#define A_IS_F32 1"),
                    Not(HasSubstr("reduction-rows"))));
  EXPECT_THAT(
      prompt.schema,
      HasSubstr("\"enum\":[\"none\",\"F1\",\"F2\",\"F3\",\"F4\",\"F5\"]"));
}

TEST(FamilyPromptsTest, WhoRealisesGetsTheFamilyAndTheInterface) {
  Request request = product();
  AskingForFamilies asking([](const Prompt &) { return said(reply(rules())); });
  asking.realised(request);
  const Prompt &prompt = asking.model->asked.front();
  EXPECT_THAT(prompt.system,
              AllOf(HasSubstr("### What headers have in common"),
                    HasSubstr("### The header of a contraction"),
                    HasSubstr("| `A_K_MAJOR` |"),
                    HasSubstr("exactly three fenced blocks"),
                    Not(HasSubstr("### The header of attention"))));
  EXPECT_THAT(
      prompt.user,
      AllOf(HasSubstr("The family contraction-wgmma, of the core "
                      "contraction"),
            HasSubstr("\"map:A\""), HasSubstr("K_PARTS"),
            HasSubstr("Write the family: its program, plan and rules")));
}

TEST(FamilyPromptsTest, AReplyBecomesItsBestInstance) {
  Request request = product();
  AskingForFamilies asking([](const Prompt &) { return said(reply(rules())); });
  Variant variant = asking.realised(request);
  EXPECT_EQ(variant.problem, "");
  // Its own value is not legal.
  EXPECT_EQ(variant.parameters["THREADS"], 256);
  EXPECT_THAT(variant.program, HasSubstr("#define BATCH 1\n"));
  ASSERT_TRUE(variant.plan);
  EXPECT_EQ(std::get<worker::Launch>(variant.plan->steps[0]).block[0], 256);
  std::optional<families::Family> family = families::familyIn(variant.program);
  ASSERT_TRUE(family);
  EXPECT_EQ(family->name, "one-thread-each");
  EXPECT_EQ(family->title, asking.idea.title);
  EXPECT_EQ(family->core, "contraction");
  // What is not legal is no neighbour.
  EXPECT_TRUE(llvm::cantFail(
                  asking.proposer->neighbours(request.context(), variant, 10))
                  .empty());
}

TEST(FamilyPromptsTest, AMendedFamilyIsAFamily) {
  Request request = product();
  AskingForFamilies asking([](const Prompt &) { return said(reply(rules())); });
  FailedVariant failed{asking.idea,
                       request.tried(asking.realised(request), "plain", 0)};
  failed.tried.status = "wrong";
  failed.tried.reason = "the results are wrong";
  auto mended =
      llvm::cantFail(asking.proposer->repair(request.context(), {failed}));
  EXPECT_TRUE(families::familyIn(mended.front()->front().program));
  const Prompt &prompt = asking.model->asked.back();
  EXPECT_THAT(prompt.user, AllOf(HasSubstr("\"requirements\""),
                                 HasSubstr("the results are wrong"),
                                 Not(HasSubstr("fastk-family"))));
  EXPECT_THAT(prompt.system, HasSubstr("What a family is"));
}

TEST(FamilyPromptsTest, WithoutACoreAProgramIsAskedFor) {
  // Two products, one of what becomes of the other.
  Request request = Request::golden("mlp_small", gpuTarget());
  AskingForFamilies asking([](const Prompt &) { return said(goodIdeas()); });
  llvm::cantFail(asking.proposer->proposeIdeas(request.context(), 1));
  EXPECT_THAT(asking.model->asked.front().system, Not(HasSubstr("families")));
}

TEST(FamilyPromptsTest, EveryCoreIsExplained) {
  for (const families::Core &core : families::cores()) {
    auto text = embeddedPrompts().find("core-" + core.name.str());
    ASSERT_NE(text, embeddedPrompts().end()) << core.name.str();
    EXPECT_THAT(text->second, StartsWith("### The header of"));
  }
}

class FamilyRepliesTest
    : public testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(FamilyRepliesTest, WhatIsWrongIsSaid) {
  const char *text = GetParam().first, *problem = GetParam().second;
  Request request = product();
  AskingForFamilies asking([&](const Prompt &) { return said(text); });
  Variant variant = asking.realised(request);
  EXPECT_THAT(variant.problem, HasSubstr(problem));
  EXPECT_THAT(variant.program, HasSubstr("```cuda"));
}

const std::string kNoRules =
    std::string("```cuda\n") + kProgram + "```\n```json\n" + kPlan + "\n```\n";
const std::string kRefused = reply(rules("OUT_BITS == 16")),
                  kNothingLegal = reply(rules("1", "THREADS > 512")),
                  kNoName = reply(rules("SIZE > 3")),
                  kUnknownField = reply(R"({"requirements": [], "legal": [],
                    "choose": [], "cost": ["1"], "speed": 3})"),
                  kNoCost = reply(R"({"requirements": [], "legal": [],
                    "choose": []})"),
                  kNoParameter = reply(R"({"requirements": [], "legal": [],
                    "choose": ["TILE"], "cost": ["1"]})"),
                  kBroken = reply("{\"requirements\": [");

INSTANTIATE_TEST_SUITE_P(
    Replies, FamilyRepliesTest,
    testing::Values(
        std::pair(kNoRules.c_str(), "no fenced block with the family's rules"),
        std::pair(kRefused.c_str(),
                  "the family does not serve the workload: it "
                  "writes f32 (OUT_BITS == 16)"),
        std::pair(kNothingLegal.c_str(), "the family does not serve the "
                                         "workload: blocks are large"),
        std::pair(kNoName.c_str(), "SIZE"),
        std::pair(kUnknownField.c_str(), "unknown field 'speed'"),
        std::pair(kNoCost.c_str(), "cost"),
        std::pair(kNoParameter.c_str(), "'TILE' of \"choose\" is no parameter"),
        std::pair(kBroken.c_str(), "the rules cannot be read")));

} // namespace
