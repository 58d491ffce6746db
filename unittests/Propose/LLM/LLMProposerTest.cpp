//===- LLMProposerTest.cpp - A model proposes, step by step ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLMTestUtils.h"
#include "fastk/Propose/Parameters.h"
#include "llvm/ADT/STLExtras.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {

using Variants = std::vector<Variant>;

Request relu() { return Request::golden("elementwise_small", gpuTarget()); }

std::vector<Idea> ideasOf(Asking &asking, Request &request, int count = 6) {
  auto answer = asking.proposer->proposeIdeas(request.context(), count);
  EXPECT_TRUE(bool(answer));
  if (!answer) {
    ADD_FAILURE() << llvm::toString(answer.takeError());
    return {};
  }
  EXPECT_TRUE(answer->has_value()) << "pending";
  return answer->value_or(std::vector<Idea>());
}

std::vector<std::optional<Variants>> realised(Asking &asking, Request &request,
                                              llvm::ArrayRef<Idea> ideas,
                                              int count) {
  return llvm::cantFail(
      asking.proposer->realise(request.context(), ideas, count));
}

TEST(LLMProposerTest, SaysWhoItIs) {
  Asking asking([](const Prompt &) { return said(""); });
  EXPECT_EQ(asking.proposer->name(), "scripted:model");
  EXPECT_TRUE(asking.proposer->prefersBatching());
  EXPECT_FALSE(asking.proposer->wantsAllTried());
  EXPECT_EQ(asking.proposer->pendingHint(), "by waiting");
}

TEST(LLMProposerTest, IdeasOfTheFirstRound) {
  Request request = relu();
  Asking asking([](const Prompt &) { return said(goodIdeas()); });
  std::vector<Idea> ideas = ideasOf(asking, request);
  ASSERT_EQ(ideas.size(), 2u);
  EXPECT_EQ(ideas[0].id, "llm/1-vectors-of-four");
  EXPECT_EQ(ideas[0].category, IdeaCategory::MemoryAccess);
  EXPECT_EQ(ideas[0].parent, "");
  ASSERT_EQ(asking.model->asked.size(), 1u);
  const Prompt &prompt = asking.model->asked[0];
  EXPECT_EQ(prompt.kind, PromptKind::Ideas);
  LoweringOp workload = request.workload;
  EXPECT_EQ(prompt.name,
            workload.getKey().take_front(8).str() + "-round-1-ideas");
  EXPECT_THAT(prompt.user, AllOf(HasSubstr("Propose 6 ideas"),
                                 HasSubstr("None yet: every idea starts"),
                                 HasSubstr("Nothing yet.")));
  EXPECT_THAT(prompt.schema, AllOf(HasSubstr("\"enum\":[\"none\"]"),
                                   HasSubstr("\"additionalProperties\":false"),
                                   HasSubstr("async and latency hiding")));
  EXPECT_GT(prompt.maxOutputTokens, 0);
}

TEST(LLMProposerTest, TheSameRequestGivesTheSamePrompt) {
  Request one = relu(), two = relu();
  Asking asking([](const Prompt &) { return said(goodIdeas()); });
  ideasOf(asking, one);
  ideasOf(asking, two);
  EXPECT_EQ(digestOf(asking.model->asked[0]), digestOf(asking.model->asked[1]));
}

/// One right, one wrong.
void addHistory(Request &request) {
  Variant good = makeVariant(Language::cuda, goodProgram(), goodPlan());
  good.ideaId = "llm/1-one-element";
  TriedVariant tried = request.tried(good, "One element a thread", 20e-6);
  request.history.push_back(tried);
  request.parents.push_back(tried);
  Variant bad = good;
  bad.ideaId = "llm/1-vectors-of-four";
  bad.program += "// another\n";
  TriedVariant failed = request.tried(bad, "Vectors of four", 0);
  failed.status = "wrong";
  failed.reason = "the result is off:\nby 5 on 'normal'";
  request.history.push_back(failed);
  request.round = 2;
}

TEST(LLMProposerTest, LaterIdeasKnowParentsAndHistory) {
  Request request = relu();
  addHistory(request);
  Asking asking([](const Prompt &) {
    return said(R"json({"ideas": [
      {"title": "Vectors of FOUR", "category": "memory access", "text": "x", "parent": "none", "expected_gain": ""},
      {"title": "Wider still", "category": "memory access", "text": "On P1, two vectors.", "parent": "P1", "expected_gain": "1.2x"}]})json");
  });
  std::vector<Idea> ideas = ideasOf(asking, request);
  // What was tried is not an idea.
  ASSERT_EQ(ideas.size(), 1u);
  EXPECT_EQ(ideas[0].id, "llm/2-wider-still");
  EXPECT_EQ(ideas[0].parent, digestOf(request.parents[0].variant));
  const Prompt &prompt = asking.model->asked[0];
  EXPECT_THAT(prompt.schema, HasSubstr("\"enum\":[\"none\",\"P1\"]"));
  EXPECT_THAT(
      prompt.user,
      AllOf(HasSubstr("## P1: One element a thread"),
            HasSubstr("time 20.0 us, 2.00x"), HasSubstr("fmaxf(in[i], 0.0f)"),
            HasSubstr("ceildiv(TOTAL, THREADS)"),
            HasSubstr("One element a thread [memory access], round 1: 20.0 us"),
            HasSubstr("Vectors of four [memory access], round 1: failed, "
                      "wrong: the result is off: by 5 on 'normal'"),
            HasSubstr("Best so far: 20.0 us")));
  // The template is shown as a plan, once.
  EXPECT_THAT(prompt.user, Not(HasSubstr("fastk-plan")));
}

TEST(LLMProposerTest, IdeasAreToldWhatIsKnownOfSimilarWorkloads) {
  Request request = relu();
  Asking asking([](const Prompt &) { return said(goodIdeas()); });
  ideasOf(asking, request);
  EXPECT_THAT(asking.model->asked[0].user, Not(HasSubstr("similar workloads")));
  request.known = {{"bank/x", IdeaCategory::Latency, "Bulk copies",
                    "Won on relu 4096: " + std::string(2000, 'x')}};
  ideasOf(asking, request);
  EXPECT_THAT(asking.model->asked[1].user,
              AllOf(HasSubstr("# What is known of similar workloads"),
                    HasSubstr("- Bulk copies [async and latency hiding]: Won "
                              "on relu 4096: xxx"),
                    Not(HasSubstr(std::string(1000, 'x')))));
}

TEST(LLMProposerTest, PromptsNameTheTemplatesTheyWereWrittenFrom) {
  Request request = relu();
  Asking asking([](const Prompt &) { return said(goodIdeas()); });
  ideasOf(asking, request);
  EXPECT_EQ(asking.model->asked[0].templates,
            llvm::cantFail(PromptTemplates::load()).digest());
}

TEST(LLMProposerTest, AParentWithOtherNumbersIsNotShownAgain) {
  Request request = relu();
  addHistory(request);
  Asking asking([](const Prompt &) { return said(goodIdeas()); });
  Variants next = llvm::cantFail(asking.proposer->neighbours(
      request.context(), request.parents[0].variant, 8));
  request.parents.push_back(
      request.tried(next[1], "One element a thread", 25e-6));
  ideasOf(asking, request);
  const std::string &text = asking.model->asked[0].user;
  EXPECT_THAT(text, HasSubstr("The program of P1 with THREADS = 512."));
  EXPECT_EQ(llvm::StringRef(text).count("fmaxf(in[i]"), 1u);
}

// Another day's evaluation may be slower altogether.
TEST(LLMProposerTest, TheBestIsTheFastestAgainstTheDefaultLowering) {
  Request request = relu();
  addHistory(request);
  TriedVariant better = request.history[0];
  better.variant.ideaId = "llm/1-better";
  better.idea.title = "The better one";
  better.seconds = 30e-6;
  better.baselineSeconds = 90e-6;
  request.history.push_back(better);
  Asking asking([](const Prompt &) { return said(goodIdeas()); });
  ideasOf(asking, request);
  EXPECT_THAT(asking.model->asked[0].user,
              AllOf(HasSubstr("Best so far: 30.0 us"),
                    HasSubstr("by the idea \"The better one\"")));
}

TEST(LLMProposerTest, IdsAreUnique) {
  Request request = relu();
  Variant variant;
  variant.ideaId = "llm/1-vectors-of-four";
  request.history.push_back(request.tried(variant, "Something else", 1));
  Asking asking([](const Prompt &) {
    return said(R"json({"ideas": [
      {"title": "Vectors of four", "category": "compute", "text": "a"},
      {"title": "Vectors: of four?!", "category": "compute", "text": "b"},
      {"title": "Vectors of-four more", "category": "compute", "text": "c"}]})json");
  });
  std::vector<std::string> ids;
  for (const Idea &idea : ideasOf(asking, request))
    ids.push_back(idea.id);
  EXPECT_THAT(ids, ElementsAre("llm/1-vectors-of-four-2",
                               "llm/1-vectors-of-four-more"));
}

std::vector<Idea> twoIdeas() {
  return {{"llm/1-a", IdeaCategory::Compute, "A", "Text of A."},
          {"llm/1-b", IdeaCategory::Latency, "B", "Text of B."}};
}

TEST(LLMProposerTest, AllProgramsAreAskedForAtOnce) {
  Request request = relu();
  int number = 0;
  Asking asking([&](const Prompt &) {
    return said("```cuda\n// " + std::to_string(++number) + "\n" +
                goodProgram() + "```\n```json\n" + goodPlan() + "```\n");
  });
  std::vector<std::optional<Variants>> variants =
      realised(asking, request, twoIdeas(), 2);
  EXPECT_EQ(asking.model->calls, 1);
  ASSERT_EQ(asking.model->asked.size(), 4u);
  std::set<std::string> digests, names;
  for (const Prompt &prompt : asking.model->asked) {
    EXPECT_EQ(prompt.kind, PromptKind::Variant);
    EXPECT_EQ(prompt.schema, "");
    // What they have in common can be cached.
    EXPECT_EQ(prompt.system, asking.model->asked[0].system);
    digests.insert(digestOf(prompt));
    names.insert(prompt.name);
  }
  EXPECT_EQ(digests.size(), 4u);
  EXPECT_EQ(names.size(), 4u);
  EXPECT_THAT(asking.model->asked[1].name,
              testing::EndsWith("-round-1-a-sample-2"));
  EXPECT_THAT(asking.model->asked[1].user,
              AllOf(HasSubstr("implementation 2 of 2"), HasSubstr("Text of A."),
                    HasSubstr("starts afresh")));
  ASSERT_EQ(variants.size(), 2u);
  for (auto [idea, each] : llvm::zip_equal(twoIdeas(), variants)) {
    ASSERT_TRUE(each);
    ASSERT_EQ(each->size(), 2u);
    for (const Variant &variant : *each) {
      EXPECT_EQ(variant.problem, "");
      EXPECT_EQ(variant.ideaId, idea.id);
      EXPECT_EQ(variant.language, Language::cuda);
      EXPECT_TRUE(variant.plan);
      EXPECT_EQ(variant.parameters.at("THREADS"), 256);
    }
  }
}

TEST(LLMProposerTest, OneImplementationIsNotToldOfOthers) {
  Request request = relu();
  Asking asking([&](const Prompt &) { return said(goodReply()); });
  realised(asking, request, twoIdeas(), 1);
  EXPECT_THAT(asking.model->asked[0].user, Not(HasSubstr("implementation")));
}

TEST(LLMProposerTest, EqualProgramsOfAnIdeaAreOne) {
  Request request = relu();
  Asking asking([&](const Prompt &) { return said(goodReply()); });
  auto variants = realised(asking, request, twoIdeas(), 3);
  EXPECT_EQ(variants[0]->size(), 1u);
  EXPECT_EQ(variants[1]->size(), 1u);
}

TEST(LLMProposerTest, AProgramToBuildOnIsInThePrompt) {
  Request request = relu();
  addHistory(request);
  Idea idea = twoIdeas()[0];
  idea.parent = digestOf(request.parents[0].variant);
  Asking asking([&](const Prompt &) { return said(goodReply()); });
  auto variants = realised(asking, request, {idea}, 1);
  EXPECT_EQ(variants[0]->front().parent, idea.parent);
  EXPECT_THAT(asking.model->asked[0].user,
              AllOf(HasSubstr("One element a thread:"),
                    HasSubstr("fmaxf(in[i], 0.0f)"),
                    HasSubstr("\"ceildiv(TOTAL, THREADS)\"")));
}

TEST(LLMProposerTest, AParentInAnotherLanguageIsDescribed) {
  Request request = relu();
  Variant schedule;
  schedule.ideaId = "catalog/wide";
  schedule.language = Language::schedule;
  schedule.program = "module {}";
  schedule.parameters["vector_bits"] = 128;
  request.parents.push_back(request.tried(schedule, "Wide", 20e-6));
  request.history = request.parents;
  Asking asking([](const Prompt &) { return said(goodIdeas()); });
  ideasOf(asking, request);
  EXPECT_THAT(asking.model->asked[0].user,
              AllOf(HasSubstr("schedule of the compiler's own kernels with "
                              "vector_bits = 128"),
                    Not(HasSubstr("module {}"))));
}

TEST(LLMProposerTest, AnIdeaIsPendingUntilAllItsSamplesAreThere) {
  Request request = relu();
  bool isThere = false;
  Asking asking([&](const Prompt &prompt) -> std::optional<Reply> {
    if (!isThere && prompt.name.find("-a-sample-2") != std::string::npos)
      return std::nullopt;
    return said(goodReply());
  });
  auto variants = realised(asking, request, twoIdeas(), 2);
  EXPECT_FALSE(variants[0]);
  EXPECT_TRUE(variants[1]);
  isThere = true;
  variants = realised(asking, request, twoIdeas(), 2);
  EXPECT_TRUE(variants[0]);
}

TEST(LLMProposerTest, IdeasMayBePending) {
  Request request = relu();
  Asking asking([](const Prompt &) { return std::nullopt; });
  auto answer = asking.proposer->proposeIdeas(request.context(), 3);
  ASSERT_TRUE(bool(answer));
  EXPECT_FALSE(answer->has_value());
}

FailedVariant failedProgram(Request &request) {
  addHistory(request);
  FailedVariant failed;
  failed.idea = twoIdeas()[0];
  failed.tried = request.history[1];
  failed.tried.variant.ideaId = failed.idea.id;
  auto verdict = std::make_shared<worker::Verdict>();
  verdict->status = worker::Status::Wrong;
  worker::TrialError error;
  error.distribution = "shifted";
  error.maxNormalized = 0.25;
  error.bound = 1e-6;
  verdict->errors.push_back(error);
  failed.tried.verdict = verdict;
  return failed;
}

TEST(LLMProposerTest, MendingShowsProgramAndDiagnostic) {
  Request request = relu();
  FailedVariant failed = failedProgram(request);
  Asking asking([](const Prompt &) { return said(goodReply()); });
  auto mended = llvm::cantFail(
      asking.proposer->repair(request.context(), {failed, failed}));
  ASSERT_EQ(mended.size(), 2u);
  ASSERT_EQ(mended[0]->size(), 1u);
  const Variant &variant = mended[0]->front();
  EXPECT_EQ(variant.parent, digestOf(failed.tried.variant));
  EXPECT_EQ(variant.ideaId, failed.idea.id);
  EXPECT_EQ(asking.model->calls, 1);
  const Prompt &prompt = asking.model->asked[0];
  EXPECT_EQ(prompt.kind, PromptKind::Repair);
  EXPECT_THAT(prompt.user,
              AllOf(HasSubstr("Outcome: `wrong`"),
                    HasSubstr("the result is off:\nby 5"),
                    HasSubstr("inputs 'shifted', result out0: largest error "
                              "2.50e-01 (allowed 1.00e-06)"),
                    HasSubstr("// another"), HasSubstr("Text of A."),
                    HasSubstr("Mend it.")));
  failed.attempt = 1;
  llvm::cantFail(asking.proposer->repair(request.context(), {failed}));
  EXPECT_THAT(asking.model->asked.back().user, HasSubstr("attempt 2"));
}

TEST(LLMProposerTest, MendingAnUnreadableReplyShowsIt) {
  Request request = relu();
  Asking asking([](const Prompt &prompt) {
    return prompt.kind == PromptKind::Repair ? said(goodReply())
                                             : said("Here: ```cuda\nint x;");
  });
  auto variants = realised(asking, request, {twoIdeas()[0]}, 1);
  ASSERT_EQ(variants[0]->size(), 1u);
  FailedVariant failed;
  failed.idea = twoIdeas()[0];
  failed.tried.variant = variants[0]->front();
  failed.tried.status = "unreadable";
  failed.tried.reason = failed.tried.variant.problem;
  auto mended =
      llvm::cantFail(asking.proposer->repair(request.context(), {failed}));
  EXPECT_EQ(mended[0]->front().problem, "");
  EXPECT_THAT(asking.model->asked.back().user,
              AllOf(HasSubstr("Outcome: `unreadable`"), HasSubstr("int x;"),
                    HasSubstr("no fenced block with a program")));
}

TEST(LLMProposerTest, OthersProgramsAreNotMended) {
  Request request = relu();
  FailedVariant failed;
  failed.tried.variant.language = Language::schedule;
  Asking asking([](const Prompt &) { return said(goodReply()); });
  auto mended =
      llvm::cantFail(asking.proposer->repair(request.context(), {failed}));
  ASSERT_EQ(mended.size(), 1u);
  EXPECT_THAT(*mended[0], IsEmpty());
  EXPECT_EQ(asking.model->calls, 0);
}

TEST(LLMProposerTest, NumbersAreSweptWithoutAsking) {
  Request request = relu();
  addHistory(request);
  Asking asking([](const Prompt &) { return said(""); });
  Variants next = llvm::cantFail(asking.proposer->neighbours(
      request.context(), request.parents[0].variant, 8));
  EXPECT_EQ(asking.model->calls, 0);
  ASSERT_EQ(next.size(), 2u);
  EXPECT_EQ(next[0].parameters.at("THREADS"), 128);
  EXPECT_EQ(next[1].parameters.at("THREADS"), 512);
  request.history.push_back(request.tried(next[0], "One element a thread", 1));
  next = llvm::cantFail(asking.proposer->neighbours(
      request.context(), request.parents[0].variant, 8));
  EXPECT_EQ(next.size(), 1u);
}

TEST(LLMProposerTest, OnTheHostProgramsAreC) {
  Request request = Request::golden("elementwise_small", cpuTarget());
  Asking asking([](const Prompt &) {
    return said("```c\nvoid fastk_kernel(const float *in0, float *out0, void "
                "*w) {}\n```\n");
  });
  auto variants = realised(asking, request, {twoIdeas()[0]}, 1);
  EXPECT_EQ(variants[0]->front().problem, "");
  EXPECT_EQ(variants[0]->front().language, Language::c);
  EXPECT_THAT(asking.model->asked[0].system,
              AllOf(HasSubstr("fastk_kernel"), HasSubstr("8 threads"),
                    Not(HasSubstr("__global__")), Not(HasSubstr("wgmma"))));
}

// About 4 characters a token.
TEST(LLMProposerTest, PromptsStayShortLateInASearch) {
  Request request = Request::golden("conv2d", gpuTarget());
  addHistory(request);
  request.parents.clear();
  for (int i = 0; i < 300; ++i) {
    Variant variant = makeVariant(Language::cuda, goodProgram(), goodPlan());
    variant.program += std::string(6000, 'x') + std::to_string(i);
    variant.ideaId = "llm/" + std::to_string(i);
    TriedVariant tried =
        request.tried(variant, "Title number " + std::to_string(i), 1e-5);
    if (i % 2) {
      tried.status = "wrong";
      tried.reason = std::string(5000, 'r');
    }
    request.history.push_back(tried);
    if (request.parents.size() < 4)
      request.parents.push_back(tried);
  }
  request.round = 9;
  Asking asking([](const Prompt &) { return said(goodIdeas()); });
  ideasOf(asking, request);
  const Prompt &prompt = asking.model->asked[0];
  EXPECT_LT(prompt.system.size() + prompt.user.size(), 4 * 14000u);
  EXPECT_THAT(prompt.user, HasSubstr("more)"));
}

} // namespace
