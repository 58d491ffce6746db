//===- ReplayModelTest.cpp - Replies from a cassette ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/LLM/ReplayModel.h"
#include "../../../Bank/BankTestUtils.h"
#include "CassetteTestUtils.h"

using namespace fastk;
using namespace fastk::test;

/// Of the first search that was recorded with families.
static const char *const kAsksForFamilies =
    "Programs for every workload of a kind of computation, the core "
    "`contraction`, of which the workload below is one: families.";

namespace {
class ReplayModelTest : public testing::Test {
protected:
  std::unique_ptr<LanguageModel> model(const Cassette &cassette,
                                       const std::string &choice = "") {
    path = folder.file("run.jsonl");
    EXPECT_FALSE(static_cast<bool>(writeCassette(cassette, path)));
    auto model = createReplayModel(path + choice);
    problem = model ? "" : llvm::toString(model.takeError());
    return model ? std::move(*model) : nullptr;
  }
  Writing writingOf(const Cassette &cassette) {
    path = folder.file("run.jsonl");
    EXPECT_FALSE(static_cast<bool>(writeCassette(cassette, path)));
    Writing wrote = Writing::Programs;
    llvm::cantFail(createReplayModel(path, &wrote));
    return wrote;
  }
  /// What is said to one prompt; `problem` where nothing is.
  std::string ask(LanguageModel &model, const Prompt &prompt) {
    std::string text;
    problem = llvm::toString(model.ask(prompt, {}, [&](size_t, Reply reply) {
      text = reply.text;
      return llvm::Error::success();
    }));
    return text;
  }
  /// The part that tells what differs.
  std::string differenceTo(const Prompt &recorded, const Prompt &asked) {
    Cassette cassette = makeCassette();
    cassette.searches[0].exchanges = {makeExchange(recorded, "said", 1)};
    cassette.searches[1].isComplete = isComplete;
    std::unique_ptr<LanguageModel> replay = model(cassette);
    EXPECT_EQ(ask(*replay, asked), "");
    llvm::StringRef text = problem;
    EXPECT_TRUE(text.consume_front(path +
                                   ": holds no reply of mailbox:box to "
                                   "the prompt " +
                                   asked.name + ": "))
        << problem;
    EXPECT_TRUE(
        text.consume_back("; search as it was recorded (the same options, "
                          "prompts, bank and fastk), or record it again with "
                          "--record=FILE"))
        << problem;
    return text.str();
  }

  TemporaryFolder folder;
  std::string path, problem;
  bool isComplete = true;
};
} // namespace

TEST_F(ReplayModelTest, AnswersByText) {
  std::unique_ptr<LanguageModel> replay = model(makeCassette());
  ASSERT_TRUE(replay) << problem;
  EXPECT_EQ(replay->name(), "mailbox:box");
  EXPECT_EQ(replay->pendingHint(), "");
  // By its text and sample; its name and its limit do not matter.
  Prompt prompt = makePrompt("another-name", "First.\nSecond.\n", 1);
  prompt.maxOutputTokens = 77;
  EXPECT_EQ(ask(*replay, prompt), "not UTF-8: \xff\xfe");
  EXPECT_EQ(problem, "");
}

TEST_F(ReplayModelTest, AnswersInTheOrderOfTheRecording) {
  std::unique_ptr<LanguageModel> replay = model(makeCassette());
  ASSERT_TRUE(replay) << problem;
  std::vector<Prompt> prompts = {makePrompt("", "Mend."),
                                 makePrompt("", "First.\nSecond.\n", 1),
                                 makePrompt("", "First.\nSecond.\n")};
  std::vector<size_t> order;
  std::vector<ReplyStatus> statuses;
  ASSERT_FALSE(static_cast<bool>(
      replay->ask(prompts, {}, [&](size_t index, Reply reply) {
        order.push_back(index);
        statuses.push_back(reply.status);
        return llvm::Error::success();
      })));
  EXPECT_EQ(order, (std::vector<size_t>{2, 1, 0}));
  EXPECT_EQ(statuses.back(), ReplyStatus::Failed);
}

TEST_F(ReplayModelTest, TheReceiversErrorEndsIt) {
  std::unique_ptr<LanguageModel> replay = model(makeCassette());
  llvm::Error error =
      replay->ask(makePrompt("", "Mend."), {}, [&](size_t, Reply) {
        return llvm::createStringError("the disk is full");
      });
  EXPECT_EQ(llvm::toString(std::move(error)), "the disk is full");
}

TEST_F(ReplayModelTest, TellsWhatDiffers) {
  Prompt was = makePrompt("idea-1", "One.\nTwo 2.\nThree.");
  Prompt now = was;
  now.user = "One.\nTwo 3.\nThree.";
  EXPECT_EQ(differenceTo(was, now),
            "line 2 of its user text was 'Two 2.' and is now 'Two 3.'");
  now.user = "One.\nTwo 2.";
  EXPECT_EQ(differenceTo(was, now),
            "line 3 of its user text was 'Three.' and is now missing");
  now.user = was.user + "\nFour.";
  EXPECT_EQ(differenceTo(was, now),
            "line 4 of its user text was not there and is now 'Four.'");
  now.user = was.user + "\n";
  EXPECT_EQ(differenceTo(was, now), "line 3 of its user text ends in another "
                                    "way");
  now = was;
  now.system = "";
  EXPECT_EQ(differenceTo(was, now), "line 1 of its system text was 'You write "
                                    "kernels.' and is now missing");
  now = was;
  now.schema = "{}";
  EXPECT_EQ(differenceTo(was, now),
            "line 1 of its schema text was not there and is now '{}'");
  now = was;
  now.kind = PromptKind::Repair;
  EXPECT_EQ(differenceTo(was, now), "it asked for variant and now asks for "
                                    "repair");
  now = was;
  now.sample = 4;
  EXPECT_EQ(differenceTo(was, now), "its sample was 0 and is now 4");
  now = was;
  now.name = "idea-9";
  EXPECT_EQ(differenceTo(was, makePrompt("idea-9", "One.")),
            "the recorded search had no prompt of this name");
  isComplete = false;
  EXPECT_EQ(differenceTo(was, makePrompt("idea-9", "One.")),
            "the recorded search had no prompt of this name, or no reply yet: "
            "it was pending or interrupted when it was recorded");
}

TEST_F(ReplayModelTest, TellsThatTheWorkloadIsAnother) {
  Prompt was = makePrompt("0a1b2c3d-round-1-ideas", "One.");
  EXPECT_EQ(differenceTo(was, makePrompt("fedcba98-round-1-ideas", "Two.")),
            "nothing of workload fedcba98 is recorded there");
}

TEST_F(ReplayModelTest, TellsThatTemplatesDiffer) {
  Prompt was = makePrompt("a", "One."), now = makePrompt("a", "Two.");
  was.templates = "1234";
  now.templates = "5678";
  EXPECT_EQ(differenceTo(was, now),
            "line 1 of its user text was 'One.' and is now 'Two.' (the "
            "templates of prompts are others: replay with those of the "
            "recording, or by names with replay:FILE?prompts=any)");
}

TEST_F(ReplayModelTest, ByNameWhateverThePromptSays) {
  Cassette cassette = makeCassette();
  Prompt first = makePrompt("a", "One.", 0),
         second = makePrompt("a", "One.", 1),
         third = makePrompt("b", "Three.", 0);
  cassette.searches[0].exchanges = {makeExchange(first, "first", 1),
                                    makeExchange(second, "second", 2),
                                    makeExchange(third, "third", 3)};
  std::unique_ptr<LanguageModel> replay = model(cassette, "?prompts=any");
  ASSERT_TRUE(replay) << problem;
  EXPECT_EQ(replay->name(), "mailbox:box");
  EXPECT_EQ(ask(*replay, makePrompt("a", "Two.", 1)), "second");
  EXPECT_EQ(ask(*replay, makePrompt("b", "Two.", 0)), "third");
  // A text that was recorded goes before a name.
  EXPECT_EQ(ask(*replay, first), "first");
  EXPECT_EQ(ask(*replay, makePrompt("c", "Two.", 0)), "");
  EXPECT_NE(problem, "");
}

TEST_F(ReplayModelTest, TwoOfANameAreNoAnswer) {
  Cassette cassette = makeCassette();
  cassette.searches[0].exchanges = {
      makeExchange(makePrompt("a", "One.", 0), "first", 1),
      makeExchange(makePrompt("a", "Two.", 0), "second", 2)};
  std::unique_ptr<LanguageModel> replay = model(cassette, "?prompts=any");
  ASSERT_TRUE(replay) << problem;
  EXPECT_EQ(ask(*replay, makePrompt("a", "Three.", 0)), "");
  EXPECT_NE(problem, "");
}

TEST_F(ReplayModelTest, ShowsWhereALongLineDiffers) {
  std::string start(500, 'x');
  EXPECT_EQ(differenceTo(makePrompt("a", start + "1" + start),
                         makePrompt("a", start + "\x1b[2J")),
            "line 1 of its user text was '..." + std::string(30, 'x') + "1" +
                std::string(59, 'x') + "...' and is now '..." +
                std::string(30, 'x') + "\\1B[2J'");
}

TEST_F(ReplayModelTest, ComparesWithTheSameSample) {
  Cassette cassette = makeCassette();
  cassette.searches[0].exchanges = {
      makeExchange(makePrompt("a", "0"), "", 1),
      makeExchange(makePrompt("a", "1", 1), "", 2),
      makeExchange(makePrompt("a", "2", 2), "", 3)};
  std::unique_ptr<LanguageModel> replay = model(cassette);
  ask(*replay, makePrompt("a", "9", 1));
  EXPECT_NE(problem.find("was '1' and is now '9'"), std::string::npos)
      << problem;
}

TEST_F(ReplayModelTest, TheRecordSaysWhatWasAskedFor) {
  Cassette cassette = makeCassette();
  // Prompts of somebody's own, which tell nothing.
  EXPECT_EQ(writingOf(cassette), Writing::Programs);
  cassette.writes = "families";
  EXPECT_EQ(writingOf(cassette), Writing::Families);
  // It goes before what prompts tell.
  Prompt prompt = makePrompt("a", "One.");
  prompt.system = kAsksForFamilies;
  cassette.searches[0].exchanges.push_back(makeExchange(prompt, "", 9));
  for (Writing writing :
       {Writing::Programs, Writing::Schedules, Writing::GPU}) {
    cassette.writes = stringify(writing).str();
    EXPECT_EQ(writingOf(cassette), writing);
  }
}

TEST_F(ReplayModelTest, AnOlderRecordTellsByItsPrompts) {
  Cassette cassette = makeCassette();
  cassette.writes = "";
  EXPECT_EQ(writingOf(cassette), Writing::Programs);
  Prompt prompt = makePrompt("a", "One.");
  prompt.system = kAsksForFamilies;
  cassette.searches[0].exchanges.push_back(makeExchange(prompt, "", 9));
  EXPECT_EQ(writingOf(cassette), Writing::Families);
}

TEST_F(ReplayModelTest, OneOfSeveralModelsIsChosen) {
  Cassette cassette = makeCassette();
  cassette.searches[0].exchanges.push_back(
      makeExchange(makePrompt("", "Mend."), "by another", 9, "openai:gpt"));
  EXPECT_FALSE(model(cassette));
  EXPECT_EQ(problem, path +
                         ": several language models answered: choose, once "
                         "for each of them, replay:" +
                         path + "?model=mailbox:box, replay:" + path +
                         "?model=openai:gpt");
  std::unique_ptr<LanguageModel> replay = model(cassette, "?model=openai:gpt");
  ASSERT_TRUE(replay) << problem;
  EXPECT_EQ(replay->name(), "openai:gpt");
  EXPECT_EQ(ask(*replay, makePrompt("", "Mend.")), "by another");
  EXPECT_FALSE(model(cassette, "?model=nobody"));
  EXPECT_NE(
      problem.find(": no language model 'nobody' answered: choose replay:"),
      std::string::npos)
      << problem;
}

TEST_F(ReplayModelTest, WhatCannotBeReplayed) {
  EXPECT_EQ(llvm::toString(createReplayModel("").takeError()),
            "replay: names no file: write replay:FILE");
  Cassette cassette = makeCassette();
  cassette.searches[0].exchanges.clear();
  EXPECT_FALSE(model(cassette));
  EXPECT_EQ(problem,
            path +
                ": no language model answered in what it records; leave "
                "out --proposer=replay:" +
                path);
}
