//===- FaultyBankTest.cpp - A bank write that fails at every call ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Bank/BankTestUtils.h"
#include "FaultTestUtils.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

/// The stored median of a workload; 0 when there is none. No winner is stale.
double medianOf(const std::string &folder, TestContext &context, int size) {
  auto bank = Bank::open(folder);
  if (!bank) {
    ADD_FAILURE() << llvm::toString(bank.takeError());
    return -1;
  }
  BankLookup found =
      bank->lookup(keyOf(context, size), accepting(), &context.context);
  EXPECT_TRUE(found.stale.empty()) << found.stale.front().reason;
  for (const BankEntry &entry : bank->list())
    EXPECT_TRUE(entry.header) << entry.folder << ": " << entry.problem;
  return found.winner ? found.winner->getRecord().medianNs : 0;
}

size_t hiddenFolders(const std::string &folder) {
  size_t count = 0;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder, code), end;
       it != end && !code; it.increment(code))
    count += llvm::sys::path::filename(it->path()).starts_with(".tmp-");
  return count;
}

/// Writes the winner of 8 floats into a bank that has one of 9, and one of 8
/// that took `before` (0: none), with every fault at every call.
void failEverywhere(double before) {
  TestContext context;
  MemoryFolder memory;
  std::string original = memory.file("original"), folder = memory.file("bank");
  {
    auto bank = Bank::open(original);
    ASSERT_TRUE(
        static_cast<bool>(bank->write(*makeWinner(context, 9, 700), "{}")));
    if (before)
      ASSERT_TRUE(static_cast<bool>(
          bank->write(*makeWinner(context, 8, before), "{}")));
  }
  auto faster = makeWinner(context, 8, 100);
  SharedMemory shared;
  auto write = [&] {
    auto bank = Bank::open(folder);
    if (!bank) {
      shared->say(llvm::toString(bank.takeError()));
      return 2;
    }
    auto result = bank->write(*faster, "{}");
    if (result)
      return 0;
    shared->say(llvm::toString(result.takeError()));
    return 1;
  };
  copyFolder(original, folder);
  ASSERT_EQ(withFault(Fault::None, 0, folder, *shared, write), 0);
  int calls = shared->calls;
  ASSERT_GE(calls, 15) << "the shim sees the calls of the bank";
  ASSERT_LE(calls, 60);

  for (Fault fault : kAllFaults) {
    int refused = 0;
    for (int at = 1; at <= calls; ++at) {
      SCOPED_TRACE(std::string(nameOf(fault)) + " call " + std::to_string(at) +
                   " of " + std::to_string(calls));
      copyFolder(original, folder);
      shared->say("");
      int code = withFault(fault, at, folder, *shared, write);
      if (kills(fault)) {
        ASSERT_EQ(code, 128 + SIGKILL);
      } else if (code == 1) {
        ++refused;
        EXPECT_THAT(shared->message, HasSubstr(folder));
        EXPECT_THAT(shared->message, HasSubstr("; "));
      } else {
        ASSERT_EQ(code, 0) << shared->message;
      }
      // A part of a write is no failure: the rest follows.
      if (fault == Fault::Short)
        EXPECT_EQ(code, 0) << shared->message;

      // Readable, with the old winner or the new one, and the neighbour.
      double found = medianOf(folder, context, 8);
      EXPECT_TRUE(found == before || found == 100) << found;
      if (code == 0)
        EXPECT_EQ(found, 100) << "a write that succeeded is there";
      EXPECT_EQ(medianOf(folder, context, 9), 700);

      // The next writer is not disturbed, comes to the same end, and cleans up.
      auto bank = Bank::open(folder);
      auto again = bank->write(*faster, "{}");
      ASSERT_TRUE(static_cast<bool>(again))
          << llvm::toString(again.takeError());
      EXPECT_EQ(medianOf(folder, context, 8), 100);
      EXPECT_EQ(medianOf(folder, context, 9), 700);
      EXPECT_EQ(Bank::open(folder)->size(), 2u);
      EXPECT_EQ(hiddenFolders(folder), 0u);
      if (testing::Test::HasFailure())
        return;
    }
    std::printf("%s: %d calls, %d refused\n", nameOf(fault), calls, refused);
    // Of what may fail without loss (the lock's text, clean-up) there is less.
    if (!kills(fault) && fault != Fault::Short)
      EXPECT_GT(2 * refused, calls) << nameOf(fault);
  }
}

/// There the old winner has another name for a moment.
TEST(FaultyBank, FileSystemThatExchangesNothing) {
  TestContext context;
  MemoryFolder memory;
  std::string folder = memory.file("bank");
  SharedMemory shared;
  for (double time : {500., 100.}) {
    auto winner = makeWinner(context, 8, time);
    auto write = [&] {
      auto bank = Bank::open(folder);
      auto result = bank->write(*winner, "{}");
      if (!result)
        shared->say(llvm::toString(result.takeError()));
      return shared->message[0] ? 1 : 0;
    };
    ASSERT_EQ(withFault(Fault::NoExchange, 0, folder, *shared, write), 0)
        << shared->message;
    EXPECT_EQ(medianOf(folder, context, 8), time);
    EXPECT_EQ(hiddenFolders(folder), 0u);
  }
}

TEST(FaultyBank, NewWinner) { failEverywhere(/*before=*/0); }

TEST(FaultyBank, FasterWinner) { failEverywhere(/*before=*/500); }

} // namespace
