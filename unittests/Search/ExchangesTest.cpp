//===- ExchangesTest.cpp - Language models within a search ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/Exchanges.h"
#include "AskingWorld.h"
#include "fastk/LLM/Mailbox.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

TEST(Exchanges, AllOfARoundIsAskedAtOnce) {
  AskingWorld world;
  auto result = world.run();
  ASSERT_TRUE(passed(result));
  // Two rounds, each with ideas and then two ideas times two samples.
  EXPECT_EQ(world.model.calls, 4);
  EXPECT_EQ(result->models.exchanges, 10);
  EXPECT_EQ(result->models.inputTokens, 1000);
  EXPECT_EQ(result->models.outputTokens, 500);
  EXPECT_EQ(result->history.size(), 8u);
  EXPECT_TRUE(result->winner.has_value());
}

TEST(Exchanges, AResumedSearchAsksNothingTwice) {
  TemporaryFolder folder;
  AskingWorld first;
  std::string expected;
  {
    auto journal = first.journalIn(folder);
    auto result = first.run(journal.get());
    ASSERT_TRUE(passed(result));
    expected = summary(first, *result);
  }
  AskingWorld second;
  second.model.say = nullptr;
  auto journal = second.journalIn(folder);
  auto result = second.run(journal.get());
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(second.model.calls, 0);
  EXPECT_EQ(summary(second, *result), expected);
}

TEST(Exchanges, EveryReplyIsKeptThoughTheNextBreaksOff) {
  TemporaryFolder folder;
  {
    AskingWorld world;
    auto journal = world.journalIn(folder);
    int said = 0;
    auto say = world.model.say;
    world.model.say = [&](const Prompt &prompt) -> std::optional<Reply> {
      // The ideas and three of four programs; then the service is gone.
      return said++ < 4 ? say(prompt) : failing(ModelFailure::Auth);
    };
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(result->end, SearchEnd::Unanswered);
    EXPECT_EQ(result->detail, "scripted-model: the service said no");
    EXPECT_FALSE(result->winner.has_value());
  }
  AskingWorld world;
  auto journal = world.journalIn(folder);
  auto result = world.run(journal.get());
  ASSERT_TRUE(passed(result));
  // What was said is not asked again: one program, then the second round.
  EXPECT_EQ(world.model.asked.size(), 6u);
  EXPECT_EQ(result->models.exchanges, 10);
}

TEST(Exchanges, PendingRepliesEndTheRunAndTheNextGoesOn) {
  TemporaryFolder folder;
  std::set<std::string> answered;
  int runs = 0;
  for (;; ++runs) {
    ASSERT_LT(runs, 20);
    AskingWorld world;
    auto journal = world.journalIn(folder);
    auto say = world.model.say;
    // Each run finds answers to what the run before asked.
    std::set<std::string> asked;
    world.model.say = [&](const Prompt &prompt) -> std::optional<Reply> {
      if (answered.count(digestOf(prompt)))
        return say(prompt);
      asked.insert(digestOf(prompt));
      return std::nullopt;
    };
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    if (result->end != SearchEnd::Pending) {
      EXPECT_TRUE(result->winner.has_value());
      break;
    }
    EXPECT_EQ(result->counts.pendingPrompts, static_cast<int>(asked.size()));
    answered.insert(asked.begin(), asked.end());
  }
  // Ideas and programs of two rounds.
  EXPECT_EQ(runs, 4);
}

TEST(Exchanges, UnreadableRepliesAreMendedWithoutAnEvaluation) {
  AskingWorld world;
  world.options.rounds = 1;
  auto say = world.model.say;
  world.model.say = [&](const Prompt &prompt) -> std::optional<Reply> {
    if (prompt.kind == PromptKind::Variant && prompt.sample == 1)
      return saying("bad " + prompt.user);
    return say(prompt);
  };
  auto result = world.run();
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(result->counts.statuses["unreadable"], 2);
  EXPECT_EQ(result->counts.statuses["ok"], 4);
  EXPECT_EQ(result->counts.repairs, 2);
  EXPECT_EQ(result->counts.evaluations, 4 + result->counts.promotions);
  EXPECT_THAT(result->history[1].reason, HasSubstr("no program"));
}

TEST(Exchanges, OneFailedReplyIsSkippedAndKept) {
  TemporaryFolder folder;
  for (int run = 0; run < 2; ++run) {
    AskingWorld world;
    auto journal = world.journalIn(folder);
    auto say = world.model.say;
    world.model.say = [&](const Prompt &prompt) -> std::optional<Reply> {
      if (prompt.user == "asking/1-0" && prompt.sample != 1)
        return failing(ModelFailure::Timeout);
      return say(prompt);
    };
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(result->history.size(), 7u);
    // The next run asks again, in the end.
    EXPECT_EQ(world.model.calls, run == 0 ? 4 : 1);
    EXPECT_EQ(result->modelFailures.size(), 1u);
  }
}

// What was asked, paid for and tried since stays as it was: what comes of the
// prompt that had failed is tried behind it, on every run.
TEST(Exchanges, WhatFailedInARoundThatIsOverIsAskedAgainInTheEnd) {
  TemporaryFolder folder;
  std::vector<std::string> programs;
  {
    AskingWorld world;
    auto journal = world.journalIn(folder);
    world.timeOutOn("asking/1-0", 0);
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    for (const TriedVariant &each : result->history)
      programs.push_back(each.variant.program);
  }
  ASSERT_EQ(programs.size(), 7u);
  for (int run = 0; run < 2; ++run) {
    AskingWorld again;
    auto journal = again.journalIn(folder);
    auto result = again.run(journal.get());
    ASSERT_TRUE(passed(result));
    ASSERT_EQ(again.model.asked.size(), run == 0 ? 1u : 0u);
    if (run == 0)
      EXPECT_EQ(again.model.asked[0].user, "asking/1-0");
    ASSERT_EQ(result->history.size(), 8u);
    for (size_t i = 0; i < programs.size(); ++i)
      EXPECT_EQ(result->history[i].variant.program, programs[i]);
    EXPECT_EQ(result->history[7].variant.ideaId, "asking/1-0");
    EXPECT_TRUE(result->modelFailures.empty());
    EXPECT_EQ(result->counts.evaluations,
              result->counts.replayed + int(again.evaluator.calls.size()));
  }
}

/// The first program is wrong; with `mendedToo` what is made of it as well.
std::function<std::optional<Reply>(const Prompt &)>
sayingWrong(std::function<std::optional<Reply>(const Prompt &)> say,
            bool mendedToo) {
  return [=](const Prompt &prompt) -> std::optional<Reply> {
    bool isFirst = prompt.kind == PromptKind::Variant &&
                   prompt.user == "asking/1-0" && prompt.sample == 0;
    if (isFirst || (mendedToo && prompt.kind == PromptKind::Repair))
      return saying("wrong " + digestOf(prompt));
    return say(prompt);
  };
}

// A prompt that was to mend a program is treated as others are: what was paid
// for stays, and what comes of it is tried in the end and no other way.
TEST(Exchanges, ARepairThatFailedInARoundThatIsOverIsAskedAgainInTheEnd) {
  for (bool mendedToo : {false, true}) {
    TemporaryFolder folder;
    std::vector<std::string> programs;
    {
      AskingWorld world;
      auto journal = world.journalIn(folder);
      auto say = sayingWrong(world.model.say, mendedToo);
      world.model.say = [=](const Prompt &prompt) -> std::optional<Reply> {
        return prompt.kind == PromptKind::Repair
                   ? failing(ModelFailure::Malformed)
                   : say(prompt);
      };
      auto result = world.run(journal.get());
      ASSERT_TRUE(passed(result));
      EXPECT_EQ(result->modelFailures.size(), 1u);
      EXPECT_EQ(result->counts.repairs, 0);
      for (const TriedVariant &each : result->history)
        programs.push_back(each.variant.program);
    }
    ASSERT_EQ(programs.size(), 8u);
    // One that is still wrong is mended as often as any other.
    size_t repairs = mendedToo ? SearchOptions().repairs : 1;
    for (int run = 0; run < 2; ++run) {
      AskingWorld again;
      again.model.say = sayingWrong(again.model.say, mendedToo);
      auto journal = again.journalIn(folder);
      auto result = again.run(journal.get());
      ASSERT_TRUE(passed(result));
      ASSERT_EQ(again.model.asked.size(), run == 0 ? repairs : 0u);
      for (const Prompt &each : again.model.asked)
        EXPECT_EQ(each.kind, PromptKind::Repair);
      ASSERT_EQ(result->history.size(), 8u + repairs);
      for (size_t i = 0; i < programs.size(); ++i)
        EXPECT_EQ(result->history[i].variant.program, programs[i]);
      EXPECT_EQ(result->history[8].variant.ideaId, "asking/1-0");
      EXPECT_EQ(result->history[8].status, mendedToo ? "wrong" : "ok");
      EXPECT_EQ(result->counts.repairs, static_cast<int>(repairs));
      EXPECT_TRUE(result->modelFailures.empty());
    }
  }
}

// Nor is it asked where it could not be tried within the minutes.
TEST(Exchanges, WhatFailedIsNotAskedAgainWithoutTimeLeft) {
  TemporaryFolder folder;
  for (double minutes : {0.0, 0.05, 1.0}) {
    AskingWorld world;
    world.options.budget.minutes = minutes;
    world.evaluator.alter = [](worker::Verdict &verdict,
                               const EvaluationRequest &) {
      verdict.resources.wallSeconds = 1;
    };
    auto journal = world.journalIn(folder);
    if (minutes == 0)
      world.timeOutOn("asking/1-0", 0);
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(result->history.size(), minutes < 1 ? 7u : 8u);
    EXPECT_EQ(world.model.calls, minutes == 0 ? 4 : minutes < 1 ? 0 : 1);
  }
}

// Nothing is paid for that no evaluation is left for.
TEST(Exchanges, WhatFailedIsNotAskedAgainWithoutAnEvaluationLeft) {
  TemporaryFolder folder;
  for (int run = 0; run < 2; ++run) {
    AskingWorld world;
    world.options.budget.evaluations = 8;
    auto journal = world.journalIn(folder);
    if (run == 0)
      world.timeOutOn("asking/1-0", 0);
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(result->history.size(), 7u);
    EXPECT_EQ(world.model.calls, run == 0 ? 4 : 0);
  }
}

// Why an answer is late is told by the model, and shown with its name.
TEST(Exchanges, WhatAModelSaysOfAWaitIsShown) {
  AskingWorld world;
  NotedProgress progress;
  world.progress = &progress;
  world.options.rounds = 1;
  world.model.late = "no answer yet";
  ASSERT_TRUE(passed(world.run()));
  EXPECT_THAT(progress.notes,
              testing::Contains("scripted-model: no answer yet"));
}

/// Searches in the journal of `folder` with a model that says `say`: it ends
/// there as unanswered. Then with one that works, which is asked everything.
void expectThatNothingIsLost(
    std::function<std::optional<Reply>(const Prompt &)> say, ReplyStatus status,
    const std::string &problem) {
  TemporaryFolder folder;
  {
    AskingWorld world;
    NotedProgress progress;
    world.progress = &progress;
    auto journal = world.journalIn(folder);
    world.model.say = std::move(say);
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(result->end, SearchEnd::Unanswered);
    EXPECT_EQ(result->detail, "scripted-model: " + problem);
    EXPECT_EQ(result->noWinnerReason, result->detail);
    EXPECT_EQ(result->counts.evaluations, 0);
    ASSERT_EQ(result->modelFailures.size(), 1u);
    EXPECT_EQ(result->modelFailures[0].prompt, "ideas 1");
    EXPECT_EQ(result->modelFailures[0].model, "scripted-model");
    EXPECT_EQ(result->modelFailures[0].status, status);
    EXPECT_EQ(result->modelFailures[0].problem, problem);
    ASSERT_EQ(progress.notes.size(), 1u);
    EXPECT_THAT(progress.notes[0], HasSubstr("prompt ideas 1"));
    EXPECT_THAT(progress.notes[0], HasSubstr("scripted-model: " + problem));
  }
  AskingWorld again, whole;
  auto journal = again.journalIn(folder);
  auto result = again.run(journal.get());
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(again.model.calls, 4);
  EXPECT_TRUE(result->modelFailures.empty());
  auto expected = whole.run();
  ASSERT_TRUE(passed(expected));
  EXPECT_EQ(summary(again, *result), summary(whole, *expected));
  EXPECT_EQ(result->models.exchanges, expected->models.exchanges);
}

TEST(Exchanges, AServiceThatAnswersNothingEndsTheSearchAndLosesNothing) {
  for (ModelFailure failure :
       {ModelFailure::Network, ModelFailure::Malformed,
        ModelFailure::ContextTooLong, ModelFailure::Auth})
    expectThatNothingIsLost([&](const Prompt &) { return failing(failure); },
                            ReplyStatus::Failed, "the service said no");
}

TEST(Exchanges, AModelThatRefusesEverythingIsNoSearchWithoutIdeas) {
  expectThatNothingIsLost(
      [](const Prompt &) {
        Reply reply;
        reply.status = ReplyStatus::Refused;
        reply.problem = "it would not";
        return reply;
      },
      ReplyStatus::Refused, "it would not");
}

TEST(Exchanges, AModelOfWhichNothingCanBeReadIsAskedAgain) {
  expectThatNothingIsLost([](const Prompt &) { return saying("bad"); },
                          ReplyStatus::Unreadable, "there is no list of ideas");
}

// What an unreadable reply cost is paid, once.
TEST(Exchanges, WhatFailedWasPaidForAllTheSame) {
  TemporaryFolder folder;
  {
    AskingWorld world;
    auto journal = world.journalIn(folder);
    world.model.say = [](const Prompt &) { return saying("bad"); };
    ASSERT_TRUE(passed(world.run(journal.get())));
  }
  EXPECT_EQ(Journal::spentIn(folder.str() + "/journal").tokens, 150);
  for (int run = 0; run < 2; ++run) {
    AskingWorld world;
    auto journal = world.journalIn(folder);
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(result->models.exchanges, 10);
    EXPECT_EQ(result->models.inputTokens, 1100);
    EXPECT_EQ(result->models.outputTokens, 550);
    EXPECT_EQ(world.model.calls, run == 0 ? 4 : 0);
  }
  EXPECT_EQ(Journal::spentIn(folder.str() + "/journal").tokens, 1650);
}

// A model that has answered is not given up for one prompt: what was found is
// measured a second time. The end says what failed, and the next run asks it.
TEST(Exchanges, WhereItEndsWhatFailedIsAskedAgain) {
  TemporaryFolder folder;
  {
    AskingWorld world;
    auto journal = world.journalIn(folder);
    auto say = world.model.say;
    world.model.say = [&](const Prompt &prompt) -> std::optional<Reply> {
      if (prompt.user == "ideas 2")
        return failing(ModelFailure::Malformed);
      return say(prompt);
    };
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(result->end, SearchEnd::Exhausted);
    EXPECT_THAT(result->detail, HasSubstr("no further idea; scripted-model: "
                                          "the service said no"));
    EXPECT_TRUE(result->winner.has_value());
  }
  AskingWorld again;
  auto journal = again.journalIn(folder);
  auto result = again.run(journal.get());
  ASSERT_TRUE(passed(result));
  // The ideas and the programs of the second round.
  EXPECT_EQ(again.model.asked.size(), 5u);
  EXPECT_EQ(result->history.size(), 8u);
  EXPECT_TRUE(result->modelFailures.empty());
}

// One program of the last round that the service failed to send. What came
// beside it is neither asked for nor measured again, and what was measured
// against others while it was missing decides nothing about it.
TEST(Exchanges, AProgramThatFailedInTheLastRoundIsAskedAgain) {
  TemporaryFolder folder;
  auto say = [](const Prompt &prompt) -> std::optional<Reply> {
    if (prompt.kind == PromptKind::Ideas)
      return saying("ideas");
    // The first is by far the best.
    bool isFirst = prompt.user == "asking/1-0" && prompt.sample == 0;
    return saying(ok(isFirst ? 200
                             : 500 - 20 * prompt.sample -
                                   (prompt.user == "asking/1-1" ? 90 : 0),
                     digestOf(prompt)));
  };
  AskingWorld world;
  world.options.rounds = 1;
  {
    auto journal = world.journalIn(folder);
    world.model.say = say;
    world.timeOutOn("asking/1-0", 0);
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(result->history.size(), 3u);
    EXPECT_EQ(result->modelFailures.size(), 1u);
  }
  for (int run = 0; run < 2; ++run) {
    AskingWorld again;
    again.options.rounds = 1;
    again.model.say = say;
    auto journal = again.journalIn(folder);
    auto result = again.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(again.model.asked.size(), run == 0 ? 1u : 0u);
    // It, and its second measurement.
    EXPECT_EQ(again.evaluator.calls.size(), run == 0 ? 2u : 0u);
    EXPECT_EQ(result->history.size(), 4u);
    ASSERT_TRUE(result->winner.has_value());
    EXPECT_THAT(result->winner->variant.program, HasSubstr("ok 200"));
  }
}

// Where the search ends for want of programs it says so, and why.
TEST(Exchanges, IdeasWithoutProgramsAreNoRepetition) {
  AskingWorld world;
  auto say = world.model.say;
  world.model.say = [&](const Prompt &prompt) -> std::optional<Reply> {
    return prompt.kind == PromptKind::Ideas ? say(prompt)
                                            : failing(ModelFailure::Malformed);
  };
  auto result = world.run();
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(result->end, SearchEnd::Exhausted);
  EXPECT_EQ(result->detail, "the proposers had no program for their ideas; "
                            "scripted-model: the service said no");
  EXPECT_EQ(result->noWinnerReason, "nothing was evaluated");
}

// What is too little for a first prompt is not spent.
TEST(Exchanges, ABudgetWithoutRoomForAPromptSaysSo) {
  AskingWorld world;
  world.options.budget.tokens = 1000;
  auto result = world.run();
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(world.model.calls, 0);
  EXPECT_EQ(result->end, SearchEnd::Budget);
  EXPECT_EQ(result->detail,
            "its budget of 1000 tokens for language models has no room for a "
            "prompt and its reply");
}

TEST(Exchanges, TheBudgetOfTokensIsHard) {
  AskingWorld world;
  // Room for the ideas and some of the programs, whose replies may be as long
  // as what is left.
  world.options.budget.tokens = 5000;
  int64_t allowedAtOnce = 0;
  auto say = world.model.say;
  world.model.say = [&](const Prompt &prompt) -> std::optional<Reply> {
    EXPECT_GT(prompt.maxOutputTokens, 0);
    allowedAtOnce = std::max(allowedAtOnce, prompt.maxOutputTokens);
    Reply reply = *say(prompt);
    reply.usage.inputTokens = 20;
    reply.usage.outputTokens = std::min<int64_t>(prompt.maxOutputTokens, 1000);
    return reply;
  };
  auto result = world.run();
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(result->end, SearchEnd::Budget);
  EXPECT_LE(result->models.inputTokens + result->models.outputTokens, 5000);
  EXPECT_LE(allowedAtOnce, 5000);
  EXPECT_GT(result->models.exchanges, 1);
  // What was paid for was tried, and the best of it is the winner.
  EXPECT_GT(result->history.size(), 0u);
  EXPECT_TRUE(result->winner.has_value());
}

TEST(Exchanges, TheBudgetOfMoneyEndsTheSearch) {
  AskingWorld world;
  world.options.budget.usd = 0.35;
  auto say = world.model.say;
  world.model.say = [&](const Prompt &prompt) -> std::optional<Reply> {
    Reply reply = *say(prompt);
    reply.usage.usd = 0.1;
    return reply;
  };
  auto result = world.run();
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(result->end, SearchEnd::Budget);
  EXPECT_THAT(result->detail, HasSubstr("0.35 USD"));
  EXPECT_EQ(result->models.exchanges, 3);
  EXPECT_NEAR(result->models.usd, 0.3, 1e-12);
}

TEST(Exchanges, NoPromptIsSentThatNoEvaluationIsLeftFor) {
  AskingWorld world;
  // The first round's four, and one that is kept for the second measurement.
  world.options.budget.evaluations = 5;
  auto result = world.run();
  ASSERT_TRUE(passed(result));
  EXPECT_EQ(result->end, SearchEnd::Budget);
  EXPECT_EQ(world.model.calls, 2);
  EXPECT_TRUE(result->winner.has_value());
}

TEST(Exchanges, SharesOfARoundStayWhenItIsResumed) {
  TemporaryFolder folder;
  AskingWorld world;
  {
    std::vector<int> counts = {2, 4};
    auto journal = world.journalIn(folder);
    ASSERT_TRUE(passed(journal->recallCounts("2", counts, 1)));
    EXPECT_EQ(counts, (std::vector<int>{2, 4}));
  }
  auto journal = world.journalIn(folder);
  // What was learned since would share otherwise.
  std::vector<int> counts = {3, 3};
  ASSERT_TRUE(passed(journal->recallCounts("2", counts, 2)));
  EXPECT_EQ(counts, (std::vector<int>{2, 4}));
  counts = {3, 3};
  ASSERT_TRUE(passed(journal->recallCounts("3", counts, 2)));
  EXPECT_EQ(counts, (std::vector<int>{3, 3}));
}

/// A model that is asked meanwhile has replies that nobody has taken: they are
/// paid for, also when the user ends the run, and when the budget is spent.
TEST(Exchanges, WhatAModelWasAskedMeanwhileIsTaken) {
  for (bool isEnding : {true, false}) {
    TemporaryFolder folder;
    AskingWorld world;
    world.model.isAskedMeanwhile = true;
    auto say = world.model.say;
    world.model.say = [](const Prompt &) { return std::nullopt; };
    bool stops = false;
    world.stopRequested = [&] { return stops; };
    {
      auto journal = world.journalIn(folder);
      auto result = world.run(journal.get());
      ASSERT_TRUE(passed(result));
      EXPECT_EQ(result->end, SearchEnd::Pending);
    }
    // The reply to the first prompt is there now, and nothing else is asked.
    world.model.say = [&](const Prompt &prompt) -> std::optional<Reply> {
      if (prompt.kind == PromptKind::Ideas)
        return say(prompt);
      return std::nullopt;
    };
    stops = isEnding;
    if (!isEnding)
      world.options.budget.tokens = 1;
    auto journal = world.journalIn(folder);
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(result->end,
              isEnding ? SearchEnd::Interrupted : SearchEnd::Budget);
    EXPECT_EQ(result->models.exchanges, 1);
    EXPECT_EQ(world.model.asked.size(), 2u);
  }
}

} // namespace
