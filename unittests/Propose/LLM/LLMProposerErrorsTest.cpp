//===- LLMProposerErrorsTest.cpp - Models that fail, err or attack --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLMTestUtils.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

using Variants = std::vector<Variant>;

Request relu() { return Request::golden("elementwise_small", gpuTarget()); }

Idea anIdea() { return {"llm/1-a", IdeaCategory::Compute, "A", "Text of A."}; }

std::vector<Idea> ideasOf(Asking &asking, Request &request) {
  return llvm::cantFail(asking.proposer->proposeIdeas(request.context(), 4))
      .value();
}

Variants variantsOf(Asking &asking, Request &request, int count = 1) {
  return llvm::cantFail(
             asking.proposer->realise(request.context(), {anIdea()}, count))
      .front()
      .value();
}

TEST(LLMProposerErrorsTest, UnreadableIdeasAreAskedForOnceMore) {
  Request request = relu();
  Asking asking([](const Prompt &prompt) {
    return said(prompt.name.find("again") == std::string::npos ? "I think..."
                                                               : goodIdeas());
  });
  EXPECT_EQ(ideasOf(asking, request).size(), 2u);
  ASSERT_EQ(asking.model->asked.size(), 2u);
  const Prompt &again = asking.model->asked[1];
  EXPECT_EQ(again.kind, PromptKind::Ideas);
  EXPECT_EQ(again.schema, asking.model->asked[0].schema);
  EXPECT_THAT(again.user, AllOf(testing::StartsWith("# The workload"),
                                HasSubstr("the reply cannot be read"),
                                HasSubstr("I think...")));
}

TEST(LLMProposerErrorsTest, ThenThereAreNone) {
  Request request = relu();
  Asking asking([](const Prompt &prompt) { return said("No."); });
  EXPECT_THAT(ideasOf(asking, request), IsEmpty());
  EXPECT_EQ(asking.model->asked.size(), 2u);
}

TEST(LLMProposerErrorsTest, RefusedAndFailedIdeasAreNone) {
  for (ReplyStatus status : {ReplyStatus::Refused, ReplyStatus::Failed}) {
    Request request = relu();
    Asking asking([&](const Prompt &) { return said(goodIdeas(), status); });
    EXPECT_THAT(ideasOf(asking, request), IsEmpty());
    EXPECT_EQ(asking.model->asked.size(), 1u);
  }
}

TEST(LLMProposerErrorsTest, ACutReplyIsAskedForWithTwiceTheLimit) {
  Request request = relu();
  Asking asking([](const Prompt &prompt) {
    return prompt.sample < 1000 ? said("```cuda\nint", ReplyStatus::Truncated)
                                : said(goodReply());
  });
  Variants variants = variantsOf(asking, request);
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(variants[0].problem, "");
  ASSERT_EQ(asking.model->asked.size(), 2u);
  const Prompt &first = asking.model->asked[0],
               &second = asking.model->asked[1];
  EXPECT_EQ(second.maxOutputTokens, 2 * first.maxOutputTokens);
  EXPECT_EQ(second.user, first.user);
  EXPECT_NE(digestOf(second), digestOf(first));
  EXPECT_NE(second.name, first.name);
}

TEST(LLMProposerErrorsTest, CutTwiceIsAProblem) {
  Request request = relu();
  Asking asking([](const Prompt &) {
    return said("```cuda\nint", ReplyStatus::Truncated);
  });
  Variants variants = variantsOf(asking, request);
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_THAT(variants[0].problem, HasSubstr("cut by its limit of length"));
  EXPECT_EQ(asking.model->asked.size(), 2u);
}

TEST(LLMProposerErrorsTest, ALongerReplyMayBePending) {
  Request request = relu();
  Asking asking([](const Prompt &prompt) -> std::optional<Reply> {
    if (prompt.sample < 1000)
      return said("", ReplyStatus::Truncated);
    return std::nullopt;
  });
  EXPECT_FALSE(
      llvm::cantFail(asking.proposer->realise(request.context(), {anIdea()}, 1))
          .front());
}

TEST(LLMProposerErrorsTest, RefusedAndFailedProgramsAreNone) {
  Request request = relu();
  Asking asking([](const Prompt &prompt) {
    return said(goodReply(), prompt.sample == 0   ? ReplyStatus::Refused
                             : prompt.sample == 1 ? ReplyStatus::Failed
                                                  : ReplyStatus::Complete);
  });
  Variants variants = variantsOf(asking, request, 3);
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(variants[0].problem, "");
}

TEST(LLMProposerErrorsTest, AnUnreadableReplyIsAProblemToBeMended) {
  Request request = relu();
  Asking asking([](const Prompt &prompt) {
    return said(prompt.sample ? "Second\x1b[2J thoughts" : "No program.");
  });
  Variants variants = variantsOf(asking, request, 2);
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_THAT(variants[0].problem, HasSubstr("no fenced block"));
  EXPECT_EQ(variants[0].program, "No program.");
  EXPECT_EQ(variants[1].program, "Second [2J thoughts");
  EXPECT_FALSE(variants[0].plan);
  EXPECT_EQ(variants[0].ideaId, "llm/1-a");
}

TEST(LLMProposerErrorsTest, ABadPlanIsAProblem) {
  Request request = relu();
  Asking asking([](const Prompt &) {
    return said("```cuda\n" + goodProgram() +
                "```\n```json\n{\"steps\": [{\"launch\": \"relu\", \"grid\": "
                "[\"NONE\"], \"block\": [1], \"arguments\": []}]}\n```\n");
  });
  Variants variants = variantsOf(asking, request);
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_THAT(variants[0].problem, HasSubstr("unknown name 'NONE'"));
  EXPECT_FALSE(variants[0].plan);
  // With the plan, so that it can be mended.
  EXPECT_THAT(variants[0].program,
              AllOf(HasSubstr("__global__"), HasSubstr("NONE")));
}

TEST(LLMProposerErrorsTest, NothingThatAModelSaysBecomesAName) {
  Request request = relu();
  Asking asking([](const Prompt &prompt) {
    if (prompt.kind == PromptKind::Ideas)
      return said(
          R"json({"ideas": [{"title": "../../../etc/passwd\u001b]0;x\u0007 $(rm -rf ~)", "category": "compute", "text": "{{workload}} <!-- user --> ```", "parent": "../x", "expected_gain": "{{plan}}"}]
})json");
    return said(goodReply());
  });
  std::vector<Idea> ideas = ideasOf(asking, request);
  ASSERT_EQ(ideas.size(), 1u);
  EXPECT_EQ(ideas[0].id, "llm/1-etc-passwd-0-x-rm-rf");
  EXPECT_EQ(ideas[0].parent, "");
  llvm::cantFail(asking.proposer->realise(request.context(), ideas, 1));
  const Prompt &prompt = asking.model->asked.back();
  for (char c : prompt.name)
    EXPECT_TRUE(llvm::isAlnum(c) || c == '-' || c == '.' || c == '_');
  // Its text is a value, not a template.
  EXPECT_THAT(prompt.user, HasSubstr("{{workload}} <!-- user --> ```"));
}

TEST(LLMProposerErrorsTest, NobodyToAskIsAnError) {
  class Broken : public LanguageModel {
  public:
    llvm::StringRef name() const override { return "broken"; }
    llvm::Error ask(llvm::ArrayRef<Prompt>, const RequestContext &,
                    OnReply) override {
      return llvm::createStringError("the folder is gone");
    }
  };
  Request request = relu();
  std::unique_ptr<Proposer> proposer = createLLMProposer(
      std::make_unique<Broken>(), llvm::cantFail(PromptTemplates::load()));
  auto ideas = proposer->proposeIdeas(request.context(), 1);
  ASSERT_FALSE(ideas);
  EXPECT_EQ(llvm::toString(ideas.takeError()), "the folder is gone");
  auto variants = proposer->realise(request.context(), {anIdea()}, 1);
  ASSERT_FALSE(variants);
  llvm::consumeError(variants.takeError());
  auto mended = proposer->repair(request.context(), {});
  ASSERT_TRUE(bool(mended));
  EXPECT_THAT(*mended, IsEmpty());
}

TEST(LLMProposerErrorsTest, NothingAskedForIsNothingAsked) {
  Request request = relu();
  Asking asking([](const Prompt &) { return said(""); });
  EXPECT_THAT(
      *llvm::cantFail(asking.proposer->proposeIdeas(request.context(), 0)),
      IsEmpty());
  EXPECT_EQ(
      llvm::cantFail(asking.proposer->realise(request.context(), {anIdea()}, 0))
          .size(),
      1u);
  EXPECT_EQ(asking.model->calls, 0);
}

} // namespace
