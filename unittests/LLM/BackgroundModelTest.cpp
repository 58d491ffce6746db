//===- BackgroundModelTest.cpp - Models that are asked meanwhile ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/BackgroundModel.h"
#include "gtest/gtest.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

using namespace fastk;
using namespace llvm;

namespace {

/// What the models behind it share: they answer a prompt when a test says so.
struct Script {
  std::mutex lock;
  std::condition_variable changed;
  std::set<std::string> released;
  std::vector<std::string> asked;
  std::atomic<int> ended = 0;
  bool fails = false;

  void release(const std::string &user) {
    std::lock_guard<std::mutex> guard(lock);
    released.insert(user);
    changed.notify_all();
  }
};

class ScriptedModel : public LanguageModel {
public:
  explicit ScriptedModel(Script &script) : script(script) {}
  StringRef name() const override { return "scripted:model"; }
  Error ask(ArrayRef<Prompt> prompts, const RequestContext &context,
            OnReply onReply) override {
    for (auto [index, prompt] : enumerate(prompts)) {
      std::unique_lock<std::mutex> guard(script.lock);
      script.asked.push_back(prompt.user);
      if (script.fails)
        return createStringError("nobody is there");
      while (!script.released.count(prompt.user)) {
        script.changed.wait_for(guard, std::chrono::milliseconds(5));
        if (context.isStopRequested()) {
          ++script.ended;
          return Error::success();
        }
      }
      guard.unlock();
      context.say("took its time");
      Reply reply;
      reply.model = name();
      reply.text = "to " + prompt.user;
      if (StringRef(prompt.user).starts_with("bad"))
        reply.status = ReplyStatus::Failed;
      if (Error error = onReply(index, std::move(reply)))
        return error;
    }
    return Error::success();
  }

private:
  Script &script;
};

class Background : public testing::Test {
protected:
  std::unique_ptr<LanguageModel> make(unsigned threads = 4) {
    auto model = createBackgroundModel(
        [this]() -> Expected<std::unique_ptr<LanguageModel>> {
          return std::make_unique<ScriptedModel>(script);
        },
        threads);
    if (!model) {
      ADD_FAILURE() << toString(model.takeError());
      return nullptr;
    }
    return std::move(*model);
  }
  /// {prompt: reply} of what is there.
  std::map<size_t, std::string>
  ask(LanguageModel &model, ArrayRef<StringRef> users, bool isEnding = false) {
    std::vector<Prompt> prompts;
    for (StringRef user : users) {
      prompts.emplace_back();
      prompts.back().user = user.str();
    }
    RequestContext context;
    context.stopRequested = [=] { return isEnding; };
    context.note = [this](const std::string &text) { notes.push_back(text); };
    std::map<size_t, std::string> replies;
    Error error =
        model.ask(prompts, context, [&](size_t index, Reply reply) -> Error {
          replies[index] = reply.text;
          return Error::success();
        });
    EXPECT_EQ(toString(std::move(error)), "");
    return replies;
  }
  /// Waits for a reply, which no test does without.
  static bool hasNews(LanguageModel &model) {
    for (int i = 0; i < 2000; ++i) {
      if (model.takeNews())
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  Script script;
  std::vector<std::string> notes;
};

TEST_F(Background, RepliesArePendingUntilTheyAreThere) {
  std::unique_ptr<LanguageModel> model = make();
  EXPECT_TRUE(model->waits());
  EXPECT_EQ(model->name(), "scripted:model");
  EXPECT_TRUE(ask(*model, {"one", "two"}).empty());
  EXPECT_FALSE(model->takeNews());
  script.release("one");
  EXPECT_TRUE(hasNews(*model));
  EXPECT_FALSE(model->takeNews());
  std::map<size_t, std::string> first = {{0, "to one"}};
  EXPECT_EQ(ask(*model, {"one", "two"}), first);
  script.release("two");
  EXPECT_TRUE(hasNews(*model));
  std::map<size_t, std::string> second = {{0, "to two"}};
  EXPECT_EQ(ask(*model, {"two"}), second);
  // Nothing was asked twice.
  EXPECT_EQ(script.asked, std::vector<std::string>({"one", "two"}));
  EXPECT_FALSE(notes.empty());
}

/// Of several searches each waits for its own.
TEST_F(Background, CallsAreSideBySide) {
  std::unique_ptr<LanguageModel> model = make();
  EXPECT_TRUE(ask(*model, {"slow"}).empty());
  EXPECT_TRUE(ask(*model, {"quick"}).empty());
  script.release("quick");
  EXPECT_TRUE(hasNews(*model));
  EXPECT_TRUE(ask(*model, {"slow"}).empty());
  EXPECT_EQ(ask(*model, {"quick"}).size(), 1u);
}

/// A failure may end a search, or not: that is decided when all are there.
TEST_F(Background, FailuresComeWithTheLastOfTheirCall) {
  std::unique_ptr<LanguageModel> model = make();
  EXPECT_TRUE(ask(*model, {"bad", "good"}).empty());
  script.release("bad");
  EXPECT_TRUE(hasNews(*model));
  EXPECT_TRUE(ask(*model, {"bad", "good"}).empty());
  script.release("good");
  EXPECT_TRUE(hasNews(*model));
  EXPECT_EQ(ask(*model, {"bad", "good"}).size(), 2u);
}

TEST_F(Background, WhoEndsTakesWhatIsThereAndAsksForNothing) {
  std::unique_ptr<LanguageModel> model = make();
  EXPECT_TRUE(ask(*model, {"one", "two"}).empty());
  script.release("one");
  EXPECT_TRUE(hasNews(*model));
  EXPECT_EQ(ask(*model, {"one", "two", "three"}, /*isEnding=*/true).size(), 1u);
  model.reset();
  EXPECT_EQ(script.asked, std::vector<std::string>({"one", "two"}));
}

TEST_F(Background, ErrorsAreOfTheNextCall) {
  script.fails = true;
  std::unique_ptr<LanguageModel> model = make();
  EXPECT_TRUE(ask(*model, {"one"}).empty());
  EXPECT_TRUE(hasNews(*model));
  Prompt prompt;
  prompt.user = "one";
  Error error =
      model->ask(prompt, {}, [](size_t, Reply) { return Error::success(); });
  EXPECT_EQ(toString(std::move(error)), "nobody is there");
}

TEST_F(Background, WhatIsInFlightEndsWithIt) {
  std::unique_ptr<LanguageModel> model = make();
  EXPECT_TRUE(ask(*model, {"never"}).empty());
  for (int i = 0; i < 2000; ++i) {
    std::lock_guard<std::mutex> guard(script.lock);
    if (!script.asked.empty())
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  model.reset();
  EXPECT_EQ(script.ended, 1);
}

} // namespace
