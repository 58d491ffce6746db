//===- ManyProcessesTest.cpp - Ten processes on one bank ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Bank/BankTestUtils.h"
#include "FaultTestUtils.h"
#include <random>
#include <vector>

using namespace fastk;
using namespace fastk::test;

namespace {

constexpr int kKeys = 4;

/// What writer `number` offers in its `step`-th write: each key gets faster and
/// slower winners from everyone, and the fastest of all from one.
double medianFor(int number, int step, int key) {
  if (number == key && step == 3)
    return 100 + key;
  return 1000 + (number * 37 + step * 113 + key * 59) % 700;
}

/// Five write, five read; two of the writers are killed again and again. No
/// reader ever sees half a winner, or one that became slower.
TEST(ManyProcesses, WritersAndReadersOfOneBank) {
  TestContext context;
  MemoryFolder memory;
  std::string folder = memory.file("bank");
  std::vector<pid_t> lasting;
  auto start = [&](llvm::function_ref<int()> body) {
    pid_t child = ::fork();
    if (child == 0)
      ::_exit(body());
    return child;
  };
  auto write = [&](int number, int steps) {
    for (int step = 0; step < steps; ++step)
      for (int key = 0; key < kKeys; ++key) {
        auto bank = Bank::open(folder);
        if (!bank)
          return 1;
        auto result = bank->write(
            *makeWinner(context, 8 + key, medianFor(number, step, key)), "{}");
        if (!result)
          return 2;
      }
    return 0;
  };
  auto read = [&] {
    double last[kKeys] = {};
    for (int round = 0; round < 60; ++round)
      for (int key = 0; key < kKeys; ++key) {
        auto bank = Bank::open(folder);
        if (!bank)
          return 1;
        BankLookup found = bank->lookup(keyOf(context, 8 + key), accepting(),
                                        &context.context);
        if (!found.stale.empty())
          return 2;
        if (!found.winner && last[key] != 0)
          return 3;
        if (!found.winner)
          continue;
        double now = found.winner->getRecord().medianNs;
        if (last[key] != 0 && now > last[key])
          return 4;
        last[key] = now;
        for (const BankEntry &entry : bank->list())
          // A winner may be exchanged while it is listed, not be broken.
          if (!entry.header && llvm::sys::fs::exists(entry.folder) &&
              !Bank::load(entry.folder, &context.context))
            return 5;
      }
    return 0;
  };
  for (int number = 0; number < 3; ++number)
    lasting.push_back(start([&] { return write(number, 6); }));
  for (int number = 0; number < 5; ++number)
    lasting.push_back(start(read));
  // The two others die at some moment, and are started again.
  std::mt19937 random(7);
  for (int round = 0; round < 12; ++round) {
    pid_t fourth = start([&] { return write(3, 6); });
    pid_t fifth = start([&] { return write(4, 6); });
    ::usleep(1000 + random() % 40000);
    for (pid_t victim : {fourth, fifth}) {
      ::kill(victim, SIGKILL);
      ::waitpid(victim, nullptr, 0);
    }
  }
  // Of these the fastest winner of the fourth key comes.
  lasting.push_back(start([&] { return write(3, 6); }));
  for (pid_t child : lasting) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "process ended with " << status;
  }
  auto bank = Bank::open(folder);
  ASSERT_TRUE(static_cast<bool>(bank));
  EXPECT_EQ(bank->size(), size_t(kKeys));
  for (int key = 0; key < kKeys; ++key) {
    BankLookup found =
        bank->lookup(keyOf(context, 8 + key), accepting(), &context.context);
    ASSERT_TRUE(found.winner) << found.reason;
    EXPECT_EQ(found.winner->getRecord().medianNs, 100 + key);
  }
}

} // namespace
