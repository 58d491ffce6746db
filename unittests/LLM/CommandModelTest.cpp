//===- CommandModelTest.cpp - Any program as a model ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/CommandModel.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include <chrono>
#include <csignal>
#include <map>
#include <thread>

using namespace fastk;
using testing::HasSubstr;
using testing::Not;

namespace {

class CommandModelTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fastk-test", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  /// A shell script in the test's folder, as a command.
  std::string script(llvm::StringRef body) {
    std::string path =
        std::string(folder) + "/script " + std::to_string(scripts++) + ".sh";
    std::error_code ec;
    llvm::raw_fd_ostream(path, ec) << body;
    return "/bin/sh '" + path + "'";
  }
  std::unique_ptr<LanguageModel> model(const CommandModelOptions &options) {
    auto model = createCommandModel(options);
    if (model)
      return std::move(*model);
    ADD_FAILURE() << llvm::toString(model.takeError());
    return nullptr;
  }
  std::map<size_t, Reply> ask(const CommandModelOptions &options,
                              size_t count) {
    std::vector<Prompt> prompts(count);
    for (size_t i = 0; i < count; ++i) {
      prompts[i].system = "S";
      prompts[i].user = "prompt " + std::to_string(i);
    }
    std::map<size_t, Reply> replies;
    auto asked = model(options);
    llvm::Error error = asked->ask(prompts, {}, [&](size_t index, Reply reply) {
      EXPECT_FALSE(replies.count(index));
      replies[index] = std::move(reply);
      return llvm::Error::success();
    });
    EXPECT_FALSE(static_cast<bool>(error));
    return replies;
  }
  Reply ask(const std::string &command, double timeout = 20) {
    CommandModelOptions options;
    options.command = command;
    options.timeoutSeconds = timeout;
    return ask(options, 1)[0];
  }
  std::string read(const std::string &name) {
    auto buffer = llvm::MemoryBuffer::getFile(std::string(folder) + "/" + name);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  std::string failure(const std::string &command) {
    CommandModelOptions options;
    options.command = command;
    auto model = createCommandModel(options);
    return model ? "" : llvm::toString(model.takeError());
  }

  llvm::SmallString<128> folder;
  int scripts = 0;
};

TEST_F(CommandModelTest, ThePromptIsOnItsInput) {
  Reply reply = ask("cat");
  EXPECT_EQ(reply.status, ReplyStatus::Complete);
  EXPECT_EQ(reply.text, "S\n\nprompt 0");
  EXPECT_EQ(reply.model, "command:cat");
  EXPECT_TRUE(reply.usage.isEstimated);
  EXPECT_EQ(reply.usage.attempts, 1);
}

TEST_F(CommandModelTest, WordsAreSplitWithoutAShell) {
  EXPECT_EQ(ask("printf '%s|' 'a b' c\\ d \"e f\" '$HOME' ';ls'").text,
            "a b|c d|e f|$HOME|;ls|");
}

TEST_F(CommandModelTest, AnEnvelopeHoldsTextAndUsage) {
  Reply reply = ask(script(R"(cat <<'END'
{"text": "line\nline", "usage": {"input_tokens": 10, "cached_tokens": 4,
 "output_tokens": 5, "reasoning_tokens": 3, "usd": 0.25}}
END
)"));
  EXPECT_EQ(reply.text, "line\nline");
  EXPECT_EQ(reply.usage.inputTokens, 10);
  EXPECT_EQ(reply.usage.cachedTokens, 4);
  EXPECT_EQ(reply.usage.outputTokens, 5);
  EXPECT_EQ(reply.usage.reasoningTokens, 3);
  EXPECT_EQ(reply.usage.usd, 0.25);
  EXPECT_FALSE(reply.usage.isEstimated);
  EXPECT_EQ(ask("echo '{\"text\": \"T\"}'").text, "T");
}

TEST_F(CommandModelTest, OtherJSONIsTheReplyItself) {
  for (const char *text : {R"({"ideas": []})", R"({"text": "T", "ideas": []})",
                           R"({"text": 3})", R"({"text": "T")", "[]"})
    EXPECT_EQ(ask("printf %s '" + std::string(text) + "'").text, text);
}

TEST_F(CommandModelTest, AFailureTellsItsLastWords) {
  Reply reply =
      ask(script("for i in 1 2 3 4 5 6 7 8; do echo line $i >&2; done\n"
                 "printf 'no \\033[31mmodel\\n' >&2; exit 3"));
  EXPECT_EQ(reply.status, ReplyStatus::Failed);
  EXPECT_FALSE(isFatal(reply.failure));
  EXPECT_THAT(reply.problem,
              HasSubstr("exit status 3; it said: line 5 | line 6"));
  EXPECT_THAT(reply.problem, testing::EndsWith("no  [31mmodel"));
  EXPECT_THAT(reply.problem, Not(HasSubstr("line 4")));
  EXPECT_THAT(ask(script("kill -SEGV $$")).problem,
              HasSubstr("died of Segmentation fault"));
}

TEST_F(CommandModelTest, NoReplyIsAFailure) {
  Reply reply = ask(script("echo; echo warning >&2"));
  EXPECT_EQ(reply.failure, ModelFailure::Malformed);
  EXPECT_THAT(reply.problem, HasSubstr("wrote no reply"));
  EXPECT_THAT(reply.problem, HasSubstr("it said: warning"));
}

TEST_F(CommandModelTest, ATimeoutEndsTheWholeGroup) {
  std::string pids = std::string(folder) + "/pids";
  auto before = std::chrono::steady_clock::now();
  Reply reply =
      ask(script("sleep 300 & echo $! >> '" + pids + "'\necho half\nsleep 300"),
          /*timeout=*/0.5);
  EXPECT_LT(std::chrono::steady_clock::now() - before,
            std::chrono::seconds(20));
  EXPECT_EQ(reply.failure, ModelFailure::Timeout);
  EXPECT_TRUE(reply.text.empty());
  pid_t background = std::atoi(read("pids").c_str());
  ASSERT_GT(background, 0);
  // Killed; whoever adopted it may take a moment to bury it.
  std::string state;
  for (int i = 0; i < 100 && ::kill(background, 0) == 0; ++i) {
    auto status = llvm::MemoryBuffer::getFile(
        "/proc/" + std::to_string(background) + "/stat", false, false);
    state = status ? (*status)->getBuffer().rsplit(')').second.str() : "";
    if (llvm::StringRef(state).starts_with(" Z"))
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(::kill(background, 0) != 0 ||
              llvm::StringRef(state).starts_with(" Z"));
}

// What stays behind in its group goes too, and is not waited for.
TEST_F(CommandModelTest, ItsEndIsTheEnd) {
  auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(script("sleep 300 & echo T")).text, "T\n");
  EXPECT_LT(std::chrono::steady_clock::now() - before,
            std::chrono::seconds(20));
}

TEST_F(CommandModelTest, RunsInAnEmptyFolderThatIsRemoved) {
  Reply reply = ask(script("ls -A; touch file; pwd"));
  std::string work = llvm::StringRef(reply.text).trim().str();
  EXPECT_THAT(work, testing::StartsWith("/"));
  EXPECT_THAT(work, Not(HasSubstr("\n"))) << "the folder was not empty";
  EXPECT_FALSE(llvm::sys::fs::exists(work));
  EXPECT_FALSE(llvm::sys::fs::exists(work + "/.."));
}

TEST_F(CommandModelTest, HasTheEnvironmentButDoesNotSpreadItsSecrets) {
  ::setenv("MY_SERVICE_API_KEY", "sk-0123456789abcdef", 1);
  Reply reply = ask(script("echo \"$HOME $MY_SERVICE_API_KEY\""));
  EXPECT_EQ(reply.text, std::string(std::getenv("HOME")) + " [key]\n");
  reply = ask(script("echo \"bad key $MY_SERVICE_API_KEY\" >&2; exit 1"));
  ::unsetenv("MY_SERVICE_API_KEY");
  EXPECT_THAT(reply.problem, HasSubstr("bad key [key]"));
}

TEST_F(CommandModelTest, ManyAtOnceButNotMoreThanAllowed) {
  CommandModelOptions options;
  options.concurrency = 3;
  std::string dir = std::string(folder);
  options.command =
      script("touch '" + dir + "'/run.$$; ls '" + dir +
             "' | grep -c ^run; sleep 0.3; rm '" + dir + "'/run.$$; cat");
  std::map<size_t, Reply> replies = ask(options, 7);
  ASSERT_EQ(replies.size(), 7u);
  int most = 0;
  for (auto &[index, reply] : replies) {
    EXPECT_THAT(reply.text, HasSubstr("prompt " + std::to_string(index)));
    most = std::max(most, std::atoi(reply.text.c_str()));
  }
  EXPECT_GE(most, 2);
  EXPECT_LE(most, 3);
}

TEST_F(CommandModelTest, MuchInputAndMuchOutput) {
  CommandModelOptions options;
  options.command = "cat";
  auto asked = model(options);
  Prompt prompt;
  prompt.user = std::string(8 << 20, 'x');
  Reply reply;
  llvm::Error error = asked->ask(prompt, {}, [&](size_t, Reply given) {
    reply = std::move(given);
    return llvm::Error::success();
  });
  EXPECT_FALSE(static_cast<bool>(error));
  EXPECT_EQ(reply.text.size(), (8u << 20) + 2);
}

TEST_F(CommandModelTest, EndlessOutputIsCutOff) {
  CommandModelOptions options;
  options.command = "cat /dev/zero";
  options.outputLimit = 1 << 20;
  Reply reply = ask(options, 1)[0];
  EXPECT_EQ(reply.failure, ModelFailure::Malformed);
  EXPECT_THAT(reply.problem, HasSubstr("more than 1 MiB"));
}

TEST_F(CommandModelTest, InputThatIsNotReadIsNoMatter) {
  EXPECT_EQ(ask("echo T").text, "T\n");
}

TEST_F(CommandModelTest, OutputThatIsNoTextIsMended) {
  EXPECT_EQ(ask("printf 'a\\\\377b'").text, "a\xef\xbf\xbd"
                                            "b");
}

TEST_F(CommandModelTest, StopEndsItAndLeavesTheRestPending) {
  CommandModelOptions options;
  options.command = script("read a; read b; read c\n"
                           "test \"$c\" = 'prompt 0' || sleep 300; echo T");
  options.concurrency = 2;
  auto asked = model(options);
  int waits = 0;
  RequestContext context;
  context.whileWaiting = [&] { ++waits; };
  bool hasReply = false;
  context.stopRequested = [&] { return hasReply && waits > 10; };
  std::vector<Prompt> prompts(4);
  for (size_t i = 0; i < 4; ++i) {
    prompts[i].system = "S";
    prompts[i].user = "prompt " + std::to_string(i) + "\n";
  }
  int replies = 0;
  llvm::Error error = asked->ask(prompts, context, [&](size_t, const Reply &) {
    ++replies;
    hasReply = true;
    return llvm::Error::success();
  });
  EXPECT_FALSE(static_cast<bool>(error));
  EXPECT_EQ(replies, 1);
}

TEST_F(CommandModelTest, TheReceiversErrorEndsEverything) {
  CommandModelOptions options;
  options.command = "cat";
  auto asked = model(options);
  std::vector<Prompt> prompts(5);
  for (Prompt &prompt : prompts)
    prompt.user = "U";
  llvm::Error error = asked->ask(prompts, {}, [&](size_t, const Reply &) {
    return llvm::createStringError("the disk is full");
  });
  EXPECT_EQ(llvm::toString(std::move(error)), "the disk is full");
}

TEST_F(CommandModelTest, Errors) {
  EXPECT_THAT(failure(""), HasSubstr("names no program"));
  EXPECT_THAT(failure("   "), HasSubstr("names no program"));
  EXPECT_THAT(failure("no-such-program-anywhere -x"),
              HasSubstr("there is no program 'no-such-program-anywhere'"));
  std::string path = std::string(folder) + "/no-program";
  std::error_code ec;
  llvm::raw_fd_ostream(path, ec) << "echo T";
  EXPECT_THAT(failure(path), HasSubstr("is no program that can be run"));
}

} // namespace
