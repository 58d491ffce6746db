//===- BankWritersTest.cpp - Many processes, one bank ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BankTestUtils.h"
#include "fastk/Support/DurableFile.h"
#include "gmock/gmock.h"
#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fastk;
using namespace fastk::test;

namespace {

/// Runs `body` in a child; its result is the exit code.
pid_t inChild(llvm::function_ref<int()> body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  return child;
}

int wait(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(BankWriters, FastestStaysWhoeverComesLast) {
  TemporaryFolder folder;
  std::vector<pid_t> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.push_back(inChild([&] {
      TestContext context;
      for (int i = 0; i < 10; ++i) {
        // 200 is the fastest of all and is written by writer 2 in the middle.
        double median = writer == 2 && i == 5 ? 200 : 1000 - 37 * i - writer;
        auto bank = Bank::open(folder.str());
        if (!bank)
          return 1;
        auto result = bank->write(*makeWinner(context, 8, median, "w"), "{}");
        if (!result)
          return 2;
      }
      return 0;
    }));
  // Meanwhile every reader sees a whole winner or none.
  TestContext context;
  std::string key = keyOf(context, 8);
  bool seen = false;
  size_t reads = 0;
  int done = 0;
  while (done == 0) {
    auto bank = Bank::open(folder.str());
    ASSERT_TRUE(static_cast<bool>(bank));
    BankLookup found = bank->lookup(key, accepting(), &context.context);
    ++reads;
    ASSERT_TRUE(found.stale.empty()) << found.stale.front().reason;
    ASSERT_TRUE(found.winner || !seen) << "a winner went out of sight";
    seen = found.winner != nullptr;
    int status;
    if (waitpid(writers[0], &status, WNOHANG) == writers[0]) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      done = 1;
    }
  }
  for (pid_t writer : llvm::drop_begin(writers))
    EXPECT_EQ(wait(writer), 0);
  EXPECT_GT(reads, 5u);
  auto bank = Bank::open(folder.str());
  ASSERT_EQ(bank->size(), 1u);
  BankLookup found = bank->lookup(key, accepting(), &context.context);
  ASSERT_TRUE(found.winner);
  EXPECT_EQ(found.winner->getRecord().medianNs, 200);
}

// A writer killed at any moment leaves the old winner or the new one, and the
// next writer is neither blocked nor disturbed by what it left.
TEST(BankWriters, KilledWriterLeavesAWholeBank) {
  TestContext context;
  TemporaryFolder folder;
  std::string key = keyOf(context, 8);
  double median = 1e9;
  // Longer while nothing was written: a slow machine, a sanitizer.
  int stretch = 1;
  for (int round = 0; round < 30; ++round) {
    pid_t child = inChild([&] {
      TestContext inner;
      for (double m = median * 0.97;; m *= 0.97) {
        auto bank = Bank::open(folder.str());
        if (!bank || !bank->write(*makeWinner(inner, 8, m), "{}"))
          return 1;
      }
    });
    std::this_thread::sleep_for(
        std::chrono::microseconds(stretch * (3000 + (round * 7919) % 20000)));
    kill(child, SIGKILL);
    EXPECT_EQ(wait(child), 128 + SIGKILL);
    auto bank = Bank::open(folder.str());
    BankLookup found = bank->lookup(key, accepting(), &context.context);
    ASSERT_TRUE(found.stale.empty()) << found.stale.front().reason;
    if (found.winner) {
      EXPECT_LE(found.winner->getRecord().medianNs, median);
      median = found.winner->getRecord().medianNs;
    } else {
      stretch = std::min(2 * stretch, 64);
    }
  }
  EXPECT_LT(median, 1e9) << "no write was ever finished";
  auto bank = Bank::open(folder.str());
  auto result = bank->write(*makeWinner(context, 8, 1), "{}");
  ASSERT_TRUE(static_cast<bool>(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->outcome, WriteOutcome::Replaced);
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder.str(), code), end;
       it != end && !code; it.increment(code))
    EXPECT_FALSE(llvm::sys::path::filename(it->path()).starts_with(".tmp-"))
        << it->path();
}

TEST(FileLock, SecondHolderIsNamedAndDeadOnesAreNot) {
  TemporaryFolder folder;
  std::string path = folder.file("lock");
  auto first = FileLock::acquire(path, "the bank", 0);
  ASSERT_TRUE(static_cast<bool>(first));
  auto second = FileLock::acquire(path, "the bank", 0.05);
  ASSERT_FALSE(static_cast<bool>(second));
  EXPECT_THAT(llvm::toString(second.takeError()),
              testing::HasSubstr("the bank is in use by process " +
                                 std::to_string(getpid())));
  pid_t child = inChild([&] {
    auto lock = FileLock::acquire(folder.file("other"), "x", 0);
    raise(SIGKILL);
    return 0;
  });
  wait(child);
  auto third = FileLock::acquire(folder.file("other"), "x", 0);
  EXPECT_TRUE(static_cast<bool>(third));
}

} // namespace
