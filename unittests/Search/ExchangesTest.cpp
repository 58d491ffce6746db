//===- ExchangesTest.cpp - Language models within a search ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/LLM/Exchanges.h"
#include "SearchTestUtils.h"
#include "fastk/Propose/LLM/Mailbox.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

/// Says what `say` does; remembers what it was asked.
class ScriptedModel : public LanguageModel {
public:
  llvm::StringRef name() const override { return "scripted-model"; }
  llvm::Error ask(llvm::ArrayRef<Prompt> prompts, OnReply onReply) override {
    ++calls;
    // Backwards: replies come in any order.
    for (size_t i = prompts.size(); i-- > 0;) {
      asked.push_back(prompts[i]);
      std::optional<Reply> reply = say(prompts[i]);
      if (!reply)
        continue;
      reply->model = "scripted-model";
      if (llvm::Error error = onReply(i, std::move(*reply)))
        return error;
    }
    return llvm::Error::success();
  }
  std::function<std::optional<Reply>(const Prompt &)> say;
  std::vector<Prompt> asked;
  int calls = 0;
};

template <typename T>
bool passed(llvm::Expected<T> &&value) {
  if (value)
    return true;
  ADD_FAILURE() << llvm::toString(value.takeError());
  return false;
}
template <typename T>
bool passed(llvm::Expected<T> &value) {
  return passed(std::move(value));
}
bool passed(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  EXPECT_EQ(text, "");
  return text.empty();
}

Reply saying(const std::string &text) {
  Reply reply;
  reply.text = text;
  reply.usage.inputTokens = 100;
  reply.usage.outputTokens = 50;
  return reply;
}

Reply failing(ModelFailure failure) {
  Reply reply;
  reply.status = ReplyStatus::Failed;
  reply.failure = failure;
  reply.problem = "the service said no";
  return reply;
}

/// Two ideas a round; a variant is whatever the model says, "bad" is no
/// program, and what is repaired is said anew.
class AskingProposer : public Proposer {
public:
  explicit AskingProposer(LanguageModel &model) : model(model) {}
  llvm::StringRef name() const override { return "asking"; }
  bool wantsManyAtOnce() const override { return true; }

  Answer<std::vector<Idea>> proposeIdeas(const ProposalContext &context,
                                         int count) override {
    std::string round = std::to_string(context.round);
    auto replies = context.exchanges->ask(
        model, prompt(PromptKind::Ideas, "ideas " + round, 0));
    if (!replies)
      return replies.takeError();
    if (!replies->front())
      return std::nullopt;
    std::vector<Idea> ideas;
    for (int i = 0; i < std::min(count, 2); ++i)
      ideas.push_back({"asking/" + round + "-" + std::to_string(i),
                       IdeaCategory::Compute, "idea", "Do it."});
    return std::optional(ideas);
  }

  Answers<std::vector<Variant>> realise(const ProposalContext &context,
                                        llvm::ArrayRef<Idea> ideas,
                                        int count) override {
    std::vector<Prompt> prompts;
    for (const Idea &idea : ideas)
      for (int sample = 0; sample < count; ++sample)
        prompts.push_back(prompt(PromptKind::Variant, idea.id, sample));
    auto replies = context.exchanges->ask(model, prompts);
    if (!replies)
      return replies.takeError();
    std::vector<std::optional<std::vector<Variant>>> answers(ideas.size());
    for (size_t i = 0; i < ideas.size(); ++i) {
      answers[i].emplace();
      for (int sample = 0; sample < count; ++sample) {
        const std::optional<Reply> &reply = (*replies)[i * count + sample];
        if (!reply) {
          answers[i].reset();
          break;
        }
        if (reply->status == ReplyStatus::Complete)
          answers[i]->push_back(read(*reply, ideas[i].id));
      }
    }
    return answers;
  }

  Answers<std::vector<Variant>>
  repair(const ProposalContext &context,
         llvm::ArrayRef<FailedVariant> failed) override {
    std::vector<Prompt> prompts;
    for (const FailedVariant &each : failed)
      prompts.push_back(prompt(PromptKind::Repair,
                               "mend " + each.tried.status + " " +
                                   digestOf(each.tried.variant),
                               each.attempt));
    auto replies = context.exchanges->ask(model, prompts);
    if (!replies)
      return replies.takeError();
    std::vector<std::optional<std::vector<Variant>>> answers(failed.size());
    for (size_t i = 0; i < failed.size(); ++i)
      if ((*replies)[i])
        answers[i] = {read(*(*replies)[i], failed[i].idea.id)};
    return answers;
  }

  static Variant read(const Reply &reply, const std::string &idea) {
    Variant variant;
    variant.ideaId = idea;
    if (llvm::StringRef(reply.text).starts_with("bad"))
      variant.problem = "there is no program in it: " + reply.text;
    else
      variant.program = reply.text;
    return variant;
  }
  static Prompt prompt(PromptKind kind, const std::string &text, int sample) {
    Prompt prompt;
    prompt.kind = kind;
    prompt.name = text;
    prompt.system = "You write kernels.";
    prompt.user = text;
    prompt.sample = sample;
    return prompt;
  }

  LanguageModel &model;
};

/// A world whose only proposer asks a scripted model.
struct AskingWorld : World {
  AskingWorld() : World(0, nullptr), asking(model) {
    model.say = [](const Prompt &prompt) -> std::optional<Reply> {
      // Each program is another one, and faster in later rounds.
      double ns = 900 - 10.0 * (std::hash<std::string>()(prompt.user) % 50);
      return saying(ok(ns, digestOf(prompt)));
    };
    options.rounds = 2;
    options.ideas = 2;
    options.implementations = 2;
  }
  llvm::Expected<SearchResult> run(Journal *journal = nullptr) {
    SearchInput in = input(journal);
    Proposer *only = &asking;
    in.proposers = only;
    return runSearch(in, options);
  }
  std::unique_ptr<Journal> journalIn(const TemporaryFolder &folder) {
    return openJournal(folder.str() + "/journal", options);
  }
  ScriptedModel model;
  AskingProposer asking;
  SearchOptions options;
};

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
    ASSERT_FALSE(static_cast<bool>(result));
    EXPECT_THAT(llvm::toString(result.takeError()),
                HasSubstr("scripted-model: the service said no"));
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
      if (prompt.user == "asking/1-0" && prompt.sample == 0)
        return failing(ModelFailure::Timeout);
      return say(prompt);
    };
    auto result = world.run(journal.get());
    ASSERT_TRUE(passed(result));
    EXPECT_EQ(result->history.size(), 7u);
    EXPECT_EQ(world.model.calls, run == 0 ? 4 : 0);
  }
}

TEST(Exchanges, AServiceThatAnswersNothingIsAnErrorThatLosesNothing) {
  TemporaryFolder folder;
  AskingWorld world;
  {
    auto journal = world.journalIn(folder);
    world.model.say = [](const Prompt &) {
      return failing(ModelFailure::Network);
    };
    auto result = world.run(journal.get());
    ASSERT_FALSE(static_cast<bool>(result));
    EXPECT_THAT(llvm::toString(result.takeError()),
                HasSubstr("goes on from the journal"));
  }
  AskingWorld again;
  auto journal = again.journalIn(folder);
  ASSERT_TRUE(passed(again.run(journal.get())));
  EXPECT_EQ(again.model.calls, 4);
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

TEST(Mailbox, AsksOnceAndReadsTheAnswer) {
  TemporaryFolder folder;
  auto mailbox = createMailbox(folder.str() + "/box");
  ASSERT_TRUE(passed(mailbox));
  Prompt prompt = AskingProposer::prompt(PromptKind::Ideas, "../say it", 0);
  int replies = 0;
  std::string text;
  auto ask = [&] {
    return (*mailbox)->ask(prompt, [&](size_t, Reply reply) {
      ++replies;
      text = reply.text;
      EXPECT_TRUE(reply.usage.isEstimated);
      EXPECT_GT(reply.usage.inputTokens, 0);
      return llvm::Error::success();
    });
  };
  ASSERT_TRUE(passed(ask()));
  EXPECT_EQ(replies, 0);
  std::string base =
      folder.str() + "/box/---say-it-" + digestOf(prompt).substr(0, 12);
  auto question = llvm::MemoryBuffer::getFile(base + ".prompt.md");
  ASSERT_TRUE(static_cast<bool>(question));
  EXPECT_EQ((*question)->getBuffer(), wholeText(prompt));
  ASSERT_TRUE(passed(writeFileAtomically(base + ".answer.md", "An answer.")));
  ASSERT_TRUE(passed(ask()));
  EXPECT_EQ(replies, 1);
  EXPECT_EQ(text, "An answer.");
}

TEST(Mailbox, SamplesAreAskedApart) {
  Prompt first = AskingProposer::prompt(PromptKind::Variant, "write", 0);
  Prompt second = AskingProposer::prompt(PromptKind::Variant, "write", 1);
  EXPECT_NE(digestOf(first), digestOf(second));
}

TEST(Mailbox, AnAnswerThatIsNoFileIsAnError) {
  TemporaryFolder folder;
  auto mailbox = createMailbox(folder.str());
  ASSERT_TRUE(passed(mailbox));
  Prompt prompt = AskingProposer::prompt(PromptKind::Ideas, "x", 0);
  std::string answer =
      folder.str() + "/x-" + digestOf(prompt).substr(0, 12) + ".answer.md";
  ASSERT_FALSE(llvm::sys::fs::create_directory(answer));
  llvm::Error error = (*mailbox)->ask(
      prompt, [](size_t, Reply) { return llvm::Error::success(); });
  EXPECT_THAT(llvm::toString(std::move(error)), HasSubstr(".answer.md"));
}

} // namespace
