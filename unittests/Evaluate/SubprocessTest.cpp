//===- SubprocessTest.cpp - Programs under limits, and their ends ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Subprocess.h"
#include "../Bank/BankTestUtils.h"
#include "gmock/gmock.h"
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

class Subprocess : public testing::Test {
protected:
  llvm::Expected<ProcessResult> shell(const std::string &script,
                                      const ProcessLimits &limits = {},
                                      const std::string &input = "") {
    return runProcess("/bin/sh", {"-c", script}, input, limits, folder.str());
  }
  /// The process id that a script wrote to `name`, when it has.
  pid_t idIn(const std::string &name) {
    for (int i = 0; i < 6000; ++i) {
      std::string text = readAll(folder.file(name));
      if (!text.empty() && text.back() == '\n')
        return std::atoi(text.c_str());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "no process wrote " << name;
    return -1;
  }
  /// True once the process is gone, or only waits to be reaped.
  static bool endsSoon(pid_t id) {
    for (int i = 0; i < 6000; ++i) {
      std::string stat = readAll("/proc/" + std::to_string(id) + "/stat");
      if (stat.empty() || llvm::StringRef(stat).contains(") Z "))
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  TemporaryFolder folder;
};

TEST_F(Subprocess, StreamsAndExitCode) {
  auto result = shell("cat; echo bad >&2; exit 3", {}, "good");
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result->exitCode, 3);
  EXPECT_EQ(result->output, "good");
  EXPECT_EQ(result->diagnostics, "bad\n");
  EXPECT_FALSE(result->timedOut);
}

TEST_F(Subprocess, TemporaryFilesAreRemoved) {
  auto result = shell("touch $TMPDIR/left && echo $TMPDIR; kill -KILL $$");
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_TRUE(llvm::StringRef(result->output).starts_with(folder.str()));
  EXPECT_FALSE(llvm::sys::fs::exists(llvm::StringRef(result->output).rtrim()));
}

TEST_F(Subprocess, DeathByASignalIsAResult) {
  auto result = shell("kill -SEGV $$");
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_LT(result->exitCode, 0);
  EXPECT_FALSE(result->timedOut);
  EXPECT_THAT(result->diagnostics, HasSubstr("Segmentation fault"));
}

TEST_F(Subprocess, MissingProgramIsAnError) {
  auto result = runProcess("/nowhere/tool", {}, "", {}, folder.str());
  ASSERT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(llvm::toString(result.takeError()),
            "cannot start /nowhere/tool: No such file or directory");
}

// The address sanitizer reserves terabytes: there is no limit with it.
#if !__has_feature(address_sanitizer)
TEST_F(Subprocess, MemoryIsLimited) {
  ProcessLimits limits;
  limits.memoryMegabytes = 100;
  auto result = shell("ulimit -d", limits);
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result->output, "102400\n");
}
#endif

// A script that waits for a child in its group, as a compiler for its linker.
const char *const kWithChild =
    "sleep 300 & echo $! > %; echo $$ > %.self; wait";

std::string withChild(const std::string &file) {
  std::string script = kWithChild;
  for (size_t at; (at = script.find('%')) != std::string::npos;)
    script.replace(at, 1, file);
  return script;
}

TEST_F(Subprocess, TimeoutKillsTheGroup) {
  ProcessLimits limits;
  limits.seconds = 1;
  auto result = shell(withChild(folder.file("id")), limits);
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_TRUE(result->timedOut);
  EXPECT_LT(result->exitCode, 0);
  EXPECT_TRUE(endsSoon(idIn("id")));
}

TEST_F(Subprocess, WhatIsLeftInTheGroupEndsWithTheProcess) {
  auto result = shell("sleep 300 & echo $! > " + folder.file("id"));
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result->exitCode, 0);
  EXPECT_TRUE(endsSoon(idIn("id")));
}

TEST_F(Subprocess, CancelledIsAnErrorAndKillsTheGroup) {
  ProcessLimits limits;
  std::string path = folder.file("id.self");
  limits.cancelled = [&] { return !readAll(path).empty(); };
  auto start = std::chrono::steady_clock::now();
  auto result = shell(withChild(folder.file("id")), limits);
  ASSERT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(llvm::toString(result.takeError()), "interrupted");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  EXPECT_TRUE(endsSoon(idIn("id")));
}

// SIGKILL leaves the caller no chance to clean up.
TEST_F(Subprocess, DiesWithItsParent) {
  pid_t parent = fork();
  if (parent == 0) {
    (void)shell("echo $$ > " + folder.file("id") + "; exec sleep 300");
    _exit(0);
  }
  pid_t id = idIn("id");
  EXPECT_EQ(kill(id, 0), 0);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(endsSoon(id));
}

// The caller's handlers are not the program's: a handler that only sets a flag
// must not keep a child alive.
TEST_F(Subprocess, ParentDeathSignalReachesTheProgram) {
  pid_t parent = fork();
  if (parent == 0) {
    std::signal(SIGTERM, [](int) {});
    ProcessLimits limits;
    limits.parentDeathSignal = SIGTERM;
    (void)shell("echo $$ > " + folder.file("id") + "; exec sleep 300", limits);
    _exit(0);
  }
  pid_t id = idIn("id");
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(endsSoon(id));
}

// endWithParent(): a leader that has children takes them along.
TEST_F(Subprocess, GroupEndsWithItsLeader) {
  pid_t leader = fork();
  if (leader == 0) {
    setpgid(0, 0);
    endWithParent();
    if (fork() == 0) {
      writeAll(folder.file("id"), std::to_string(getpid()) + "\n");
      std::this_thread::sleep_for(std::chrono::seconds(300));
      _exit(0);
    }
    std::this_thread::sleep_for(std::chrono::seconds(300));
    _exit(0);
  }
  pid_t id = idIn("id");
  kill(leader, SIGTERM);
  int status = 0;
  waitpid(leader, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(endsSoon(id));
}

} // namespace
