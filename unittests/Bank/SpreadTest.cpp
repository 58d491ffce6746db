//===- SpreadTest.cpp - Banks whose winners are spread --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BankTestUtils.h"
#include "fastk/Bank/PruneBank.h"
#include "fastk/Bank/SpreadBank.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;
using testing::Not;

namespace {

class Spread : public testing::Test {
protected:
  Bank open() {
    auto bank = Bank::open(folder.str());
    EXPECT_TRUE(static_cast<bool>(bank));
    return std::move(*bank);
  }
  /// Where a winner for `size` floats was stored.
  std::string write(Bank &bank, int64_t size, double medianNs = 500) {
    auto written = bank.write(*makeWinner(context, size, medianNs), "{}");
    if (written)
      return written->folder;
    ADD_FAILURE() << llvm::toString(written.takeError());
    return "";
  }
  SpreadResult spread() {
    auto result = spreadBank(folder.str());
    if (result)
      return std::move(*result);
    ADD_FAILURE() << llvm::toString(result.takeError());
    return {};
  }
  bool has(const Bank &bank, int64_t size) {
    BankLookup found =
        bank.lookup(keyOf(context, size), accepting(), &context.context);
    EXPECT_TRUE(found.stale.empty());
    return found.winner != nullptr;
  }
  std::string place(int64_t size) {
    return folder.file("host/reductions-0/" +
                       keyOf(context, size).substr(0, 3));
  }
  void rename(const std::string &from, const std::string &to) {
    ASSERT_FALSE(
        llvm::sys::fs::create_directories(llvm::sys::path::parent_path(to)));
    ASSERT_FALSE(llvm::sys::fs::rename(from, to));
  }

  TestContext context;
  MemoryFolder folder;
};

TEST_F(Spread, WinnersAreFoundWhereTheyWereMoved) {
  Bank before = open();
  for (int64_t size : {8, 9, 10})
    EXPECT_THAT(write(before, size), Not(HasSubstr("reductions-")));
  SpreadResult result = spread();
  EXPECT_EQ(result.moved, 3u);
  EXPECT_TRUE(result.kept.empty());
  // Also by who had opened it before.
  for (const Bank &bank : {open(), before}) {
    for (int64_t size : {8, 9, 10})
      EXPECT_TRUE(has(bank, size));
    EXPECT_FALSE(has(bank, 11));
  }
  EXPECT_EQ(before.mostReductions("host"), 0u);
  Bank bank = open();
  EXPECT_EQ(bank.size(), 3u);
  EXPECT_EQ(bank.mostReductions("host"), 0u);
  EXPECT_EQ(bank.mostReductions("cuda:sm_90a"), std::nullopt);
  for (const BankEntry &entry : bank.list())
    EXPECT_TRUE(entry.header.has_value()) << entry.problem;
  EXPECT_EQ(bank.listNamed("add").size(), 3u);
  EXPECT_EQ(bank.listNamed("other").size(), 0u);
  EXPECT_EQ(bank.listNamed("other", keyOf(context, 9)).size(), 1u);
  // What is faster takes its place.
  std::string faster = write(bank, 9, 100);
  EXPECT_THAT(faster, HasSubstr(place(9)));
  EXPECT_EQ(open().size(), 3u);
  EXPECT_EQ(spread().moved, 0u);
}

TEST_F(Spread, ManyWinnersOfATargetAreSpread) {
  for (int i = 0; i < 1000; ++i)
    ASSERT_FALSE(llvm::sys::fs::create_directories(folder.file(
        "host/add-8xf32-" + sha256(std::to_string(i)).substr(0, 8))));
  Bank bank = open();
  EXPECT_THAT(write(bank, 8), HasSubstr(place(8)));
  EXPECT_TRUE(has(bank, 8));
  EXPECT_TRUE(has(open(), 8));
  EXPECT_EQ(open().size(), 1001u);
  // Another target has few.
  auto other = bank.write(
      *makeWinner(context, 8, 500, "", Precision::ieee, "cuda:sm_90a"), "{}");
  ASSERT_TRUE(static_cast<bool>(other));
  EXPECT_THAT(other->folder, Not(HasSubstr("reductions-")));
}

TEST_F(Spread, WhatLiesInAWrongPlaceIsNamed) {
  Bank bank = open();
  std::string path = write(bank, 8);
  std::string wrong = folder.file("host/reductions-3/") +
                      keyOf(context, 8).substr(0, 3) + "/" +
                      llvm::sys::path::filename(path).str();
  rename(path, wrong);
  std::vector<BankEntry> entries = open().list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_FALSE(entries.front().header);
  EXPECT_THAT(entries.front().problem,
              HasSubstr("move it to host/reductions-0/" +
                        keyOf(context, 8).substr(0, 3)));
  auto pruned = pruneBank(folder.str(), /*remove=*/true, &context.context);
  ASSERT_TRUE(static_cast<bool>(pruned));
  EXPECT_TRUE(pruned->removed.empty());
}

/// A name that people have changed is no reason to lose a winner.
TEST_F(Spread, RenamedWinnersAreFound) {
  Bank bank = open();
  rename(write(bank, 8), place(8) + "/mine");
  rename(write(bank, 9), folder.file("host/also mine"));
  // As a place is called, and yet a winner.
  rename(write(bank, 10), folder.file("host/reductions-2"));
  for (int64_t size : {8, 9, 10})
    EXPECT_TRUE(has(open(), size)) << size;
  SpreadResult result = spread();
  EXPECT_EQ(result.moved, 0u);
  ASSERT_EQ(result.kept.size(), 2u);
  EXPECT_EQ(result.kept.front().reason, "its name does not end in its key");
}

/// What a winner is for is said in its file alone.
TEST_F(Spread, WinnersOfARenamedTargetGoWhereCompilesLook) {
  Bank bank = open();
  std::string path = write(bank, 8);
  rename(path,
         folder.file("my-machine/") + llvm::sys::path::filename(path).str());
  EXPECT_EQ(open().mostReductions("host"), 0u);
  EXPECT_EQ(spread().moved, 1u);
  EXPECT_EQ(open().mostReductions("host"), 0u);
  EXPECT_TRUE(has(open(), 8));
  EXPECT_TRUE(llvm::sys::fs::exists(place(8)));
  // In a place of another name it is named.
  rename(folder.file("host"), folder.file("other"));
  ASSERT_EQ(open().list().size(), 1u);
  EXPECT_THAT(open().list().front().problem, HasSubstr("move it to host/"));
}

TEST_F(Spread, AFolderMayEndInASlash) {
  for (int i = 0; i < 1000; ++i)
    ASSERT_FALSE(llvm::sys::fs::create_directories(folder.file(
        "host/add-8xf32-" + sha256(std::to_string(i)).substr(0, 8))));
  auto bank = Bank::open(folder.str() + "//");
  ASSERT_TRUE(static_cast<bool>(bank));
  EXPECT_THAT(write(*bank, 8), HasSubstr(place(8)));
  EXPECT_THAT(write(*bank, 8, 100), HasSubstr(place(8)));
  EXPECT_EQ(bank->size(), 1001u);
}

/// Where a place cannot be listed nobody knows that there is no winner.
TEST_F(Spread, APlaceThatCannotBeListedIsNamed) {
  Bank bank = open();
  write(bank, 8);
  EXPECT_EQ(spread().moved, 1u);
  ASSERT_FALSE(llvm::sys::fs::remove_directories(place(8)));
  writeAll(place(8), "no folder");
  BankLookup found =
      open().lookup(keyOf(context, 8), accepting(), &context.context);
  EXPECT_FALSE(found.winner);
  ASSERT_EQ(found.stale.size(), 1u);
  EXPECT_THAT(found.stale.front().folder, HasSubstr(place(8)));
}

TEST_F(Spread, NothingIsLeftOfPrunedPlaces) {
  Bank bank = open();
  std::string path = write(bank, 8);
  EXPECT_EQ(spread().moved, 1u);
  std::string moved = place(8) + "/" + llvm::sys::path::filename(path).str();
  ASSERT_FALSE(llvm::sys::fs::remove(moved + "/lowering.mlir"));
  auto pruned = pruneBank(folder.str(), /*remove=*/true, &context.context);
  ASSERT_TRUE(static_cast<bool>(pruned));
  EXPECT_EQ(pruned->removed.size(), 1u);
  EXPECT_FALSE(llvm::sys::fs::exists(folder.file("host/reductions-0")));
  EXPECT_EQ(open().mostReductions("host"), std::nullopt);
}

TEST_F(Spread, ALinkToNothingIsStale) {
  Bank bank = open();
  std::string path = write(bank, 8);
  ASSERT_FALSE(llvm::sys::fs::remove_directories(path));
  ASSERT_FALSE(llvm::sys::fs::create_link("/gone", path));
  BankLookup found =
      open().lookup(keyOf(context, 8), accepting(), &context.context);
  ASSERT_EQ(found.stale.size(), 1u);
  EXPECT_THAT(found.stale.front().reason, HasSubstr("symbolic link"));
}

TEST_F(Spread, AStaleWinnerStaysWhereItIs) {
  Bank bank = open();
  std::string path = write(bank, 8);
  writeAll(path + "/lowering.mlir", "nothing");
  SpreadResult result = spread();
  EXPECT_EQ(result.moved, 0u);
  ASSERT_EQ(result.kept.size(), 1u);
  EXPECT_THAT(result.kept.front().reason, HasSubstr("lowering.mlir"));
}

TEST_F(Spread, AFolderThatIsNotThereIsAnError) {
  auto result = spreadBank(folder.file("none"));
  ASSERT_FALSE(static_cast<bool>(result));
  EXPECT_THAT(llvm::toString(result.takeError()),
              HasSubstr("none: cannot open the bank: No such file"));
}

} // namespace
