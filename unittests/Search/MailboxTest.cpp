//===- MailboxTest.cpp - Prompts and replies as files ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/Mailbox.h"
#include "AskingWorld.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

using namespace fastk;
using namespace fastk::test;
using namespace llvm;
using testing::HasSubstr;

namespace {

TEST(Mailbox, AsksOnceAndReadsTheAnswer) {
  TemporaryFolder folder;
  auto mailbox = createMailbox(folder.str() + "/box");
  ASSERT_TRUE(passed(mailbox));
  Prompt prompt = AskingProposer::prompt(PromptKind::Ideas, "../say it", 0);
  int replies = 0;
  std::string text;
  auto ask = [&] {
    return (*mailbox)->ask(prompt, {}, [&](size_t, Reply reply) {
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
      prompt, {}, [](size_t, Reply) { return llvm::Error::success(); });
  EXPECT_THAT(llvm::toString(std::move(error)), HasSubstr(".answer.md"));
}

/// Longer than any test takes.
constexpr double kLong = 60;

class MailboxWaits : public testing::Test {
protected:
  std::unique_ptr<LanguageModel> make(double wait, bool asksMeanwhile = false) {
    auto model = createMailbox(folder.str(), wait, asksMeanwhile);
    if (!model) {
      ADD_FAILURE() << toString(model.takeError());
      return nullptr;
    }
    return std::move(*model);
  }
  std::map<size_t, std::string> ask(LanguageModel &model,
                                    const RequestContext &context = {}) {
    std::vector<Prompt> prompts(2);
    prompts[0].name = "one";
    prompts[1].name = "two";
    prompts[1].user = "another";
    std::map<size_t, std::string> replies;
    Error error =
        model.ask(prompts, context, [&](size_t index, Reply reply) -> Error {
          EXPECT_EQ(replies.count(index), 0u);
          replies[index] = reply.text;
          return Error::success();
        });
    EXPECT_EQ(toString(std::move(error)), "");
    return replies;
  }
  /// Answers the prompt of that name; false where it is not there yet.
  bool answer(StringRef name) {
    std::error_code code;
    for (sys::fs::directory_iterator it(folder.str(), code), end; it != end;
         it.increment(code)) {
      StringRef path = it->path();
      if (!sys::path::filename(path).starts_with(name) ||
          !path.consume_back(".prompt.md"))
        continue;
      std::ofstream(path.str() + ".answer.md") << "to " << name.str();
      return true;
    }
    return false;
  }

  TemporaryFolder folder;
};

TEST_F(MailboxWaits, WithoutWaitingWhatIsThereIsTaken) {
  std::unique_ptr<LanguageModel> model = make(0);
  EXPECT_TRUE(ask(*model).empty());
  EXPECT_FALSE(model->waits());
  EXPECT_TRUE(answer("two"));
  std::map<size_t, std::string> second = {{1, "to two"}};
  EXPECT_EQ(ask(*model), second);
}

TEST_F(MailboxWaits, AllRepliesAreWaitedFor) {
  std::unique_ptr<LanguageModel> model = make(kLong);
  int ticks = 0;
  RequestContext context;
  // Whoever answers sees the prompts meanwhile.
  context.whileWaiting = [&] {
    ++ticks;
    EXPECT_TRUE(answer(ticks == 1 ? "two" : "one"));
  };
  std::map<size_t, std::string> both = {{0, "to one"}, {1, "to two"}};
  EXPECT_EQ(ask(*model, context), both);
  EXPECT_EQ(ticks, 2);
  EXPECT_EQ(model->name(), "mailbox:" + folder.str());
}

TEST_F(MailboxWaits, WaitingEndsWhenNoneComes) {
  constexpr double kShort = 0.3;
  std::unique_ptr<LanguageModel> model = make(kShort);
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(ask(*model).empty());
  EXPECT_GE(std::chrono::steady_clock::now() - start,
            std::chrono::duration<double>(kShort));
}

TEST_F(MailboxWaits, WaitingEndsWhenTheUserSaysSo) {
  std::unique_ptr<LanguageModel> model = make(kLong);
  int asked = 0;
  RequestContext context;
  context.stopRequested = [&] { return ++asked == 2; };
  EXPECT_TRUE(ask(*model, context).empty());
}

TEST_F(MailboxWaits, ASearchGoesOnMeanwhile) {
  std::unique_ptr<LanguageModel> model = make(kLong, /*asksMeanwhile=*/true);
  EXPECT_FALSE(model->waits());
  EXPECT_TRUE(ask(*model).empty());
  EXPECT_TRUE(model->waits());
  EXPECT_FALSE(model->takeNews());
  EXPECT_TRUE(answer("one"));
  bool isNews = false;
  for (int look = 0; look < 3000 && !isNews; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    isNews = model->takeNews();
  }
  EXPECT_TRUE(isNews);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(model->takeNews()) << "it was told";
  EXPECT_EQ(ask(*model).size(), 1u);
  EXPECT_TRUE(model->waits());
  EXPECT_TRUE(answer("two"));
  EXPECT_EQ(ask(*model).size(), 2u);
  EXPECT_FALSE(model->waits()) << "nothing is asked for";
}

TEST_F(MailboxWaits, WhoEndsWritesNoPrompts) {
  std::unique_ptr<LanguageModel> model = make(kLong, /*asksMeanwhile=*/true);
  RequestContext context;
  context.stopRequested = [] { return true; };
  EXPECT_TRUE(ask(*model, context).empty());
  EXPECT_FALSE(answer("one")) << "it was asked";
  EXPECT_TRUE(ask(*model).empty());
  EXPECT_TRUE(answer("one"));
  EXPECT_EQ(ask(*model, context).size(), 1u);
}

/// A prompt that comes late has as much time as the first one had.
TEST_F(MailboxWaits, EachPromptHasItsTime) {
  // So long that the second one's is not over before it is asked for.
  constexpr double kShort = 2;
  std::unique_ptr<LanguageModel> model = make(kShort, /*asksMeanwhile=*/true);
  Prompt first, second;
  first.name = "one";
  second.name = second.user = "two";
  auto nobody = [](size_t, Reply) { return Error::success(); };
  EXPECT_TRUE(passed(model->ask(first, {}, nobody)));
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_FALSE(model->waits());
  EXPECT_TRUE(passed(model->ask(second, {}, nobody)));
  EXPECT_TRUE(model->waits());
}

TEST_F(MailboxWaits, MeanwhileItIsNotWaitedForForEver) {
  constexpr double kShort = 0.1;
  std::unique_ptr<LanguageModel> model = make(kShort, /*asksMeanwhile=*/true);
  EXPECT_TRUE(ask(*model).empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(model->waits());
}

} // namespace
