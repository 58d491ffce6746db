//===- PruneTest.cpp - What a bank can do without -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BankTestUtils.h"
#include "fastk/Bank/PruneBank.h"
#include "gmock/gmock.h"
#include <sys/stat.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

class Prune : public testing::Test {
protected:
  std::string store(int64_t size, double median,
                    Precision precision = Precision::ieee,
                    const std::string &machine = "test machine",
                    std::optional<bool> bits = std::nullopt) {
    auto module = makeWinner(context, size, median, "", precision);
    LoweringOp lowering = TestContext::loweringOf(*module);
    WinnerRecord record = WinnerRecord::fromAttribute(lowering.getRecordAttr());
    record.machine = machine;
    record.bitwiseDeterministic = bits;
    lowering.setRecordAttr(record.toAttribute(&context.context));
    auto bank = Bank::open(folder.str());
    auto result = bank->write(*module, "{}");
    EXPECT_TRUE(static_cast<bool>(result));
    return result->folder;
  }
  void edit(const std::string &winner, const std::string &from,
            const std::string &to) {
    std::string text = readAll(winner + "/lowering.mlir");
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    writeAll(winner + "/lowering.mlir", text.replace(at, from.size(), to));
  }
  PruneResult prune(bool remove) {
    auto result = pruneBank(folder.str(), remove, &context.context);
    EXPECT_TRUE(static_cast<bool>(result));
    return std::move(*result);
  }
  /// One folder goes, for this reason; a first run only says so.
  void expectPruned(const std::string &winner, const std::string &reason) {
    for (bool remove : {false, true}) {
      EXPECT_TRUE(llvm::sys::fs::exists(winner));
      PruneResult result = prune(remove);
      ASSERT_EQ(result.removed.size(), 1u);
      EXPECT_EQ(result.removed.front().folder, winner);
      EXPECT_THAT(result.removed.front().reason, HasSubstr(reason));
      EXPECT_TRUE(result.kept.empty());
    }
    EXPECT_FALSE(llvm::sys::fs::exists(winner));
    EXPECT_TRUE(prune(true).removed.empty());
  }
  void expectKept(const std::string &winner, const std::string &reason) {
    PruneResult result = prune(true);
    EXPECT_TRUE(result.removed.empty());
    ASSERT_EQ(result.kept.size(), 1u);
    EXPECT_EQ(result.kept.front().folder, winner);
    EXPECT_THAT(result.kept.front().reason, HasSubstr(reason));
    EXPECT_TRUE(llvm::sys::fs::exists(winner));
  }

  TestContext context;
  MemoryFolder folder;
};

TEST_F(Prune, UsableWinnersStay) {
  store(8, 500);
  store(9, 500, Precision::tf32);
  PruneResult result = prune(true);
  EXPECT_EQ(result.usable, 2u);
  EXPECT_TRUE(result.removed.empty());
  EXPECT_TRUE(result.kept.empty());
}

TEST_F(Prune, NoBankIsNothingToDo) {
  auto result = pruneBank(folder.file("none"), true, &context.context);
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_TRUE(result->removed.empty());
  EXPECT_FALSE(llvm::sys::fs::exists(folder.file("none")));
}

// The reason says that it can be restored: it is not removed.
TEST_F(Prune, EditedProgramStays) {
  store(9, 500);
  std::string winner = store(8, 500);
  writeAll(winner + "/kernel.c", "void fastk_kernel(void) {}");
  expectKept(winner, "was edited or cut");
  expectKept(winner, "restore the file or search again: remove the folder "
                     "yourself if there is nothing");
  EXPECT_EQ(Bank::open(folder.str())->size(), 2u);
}

TEST_F(Prune, MissingProgram) {
  std::string winner = store(8, 500);
  llvm::sys::fs::remove(winner + "/kernel.c");
  expectPruned(winner, "kernel.c: cannot read");
}

TEST_F(Prune, CutHead) {
  std::string winner = store(8, 500);
  writeAll(winner + "/lowering.mlir", "fastk.lowering @w attributes {");
  expectPruned(winner, "cut or garbled");
}

TEST_F(Prune, OlderFormatAndOlderMlir) {
  std::string winner = store(8, 500);
  edit(winner, "format_version = 1", "format_version = 0");
  expectPruned(winner, "has format version 0");
  winner = store(8, 500);
  edit(winner, "mlir_version = \"" LLVM_VERSION_STRING,
       "mlir_version = \"21.1.0");
  expectPruned(winner, "was validated with MLIR 21.1.0");
}

// Someone else's fastk reads these.
TEST_F(Prune, NewerFormatAndNewerMlirStay) {
  std::string winner = store(8, 500);
  edit(winner, "format_version = 1", "format_version = 2");
  expectKept(winner, "a newer fastk wrote it");
  llvm::sys::fs::remove_directories(winner);
  winner = store(8, 500);
  edit(winner, "mlir_version = \"" LLVM_VERSION_STRING,
       "mlir_version = \"99.1.0");
  expectKept(winner, "a newer fastk measured it");
}

TEST_F(Prune, LooserAndSlowerIsSuperseded) {
  std::string slow = store(8, 500, Precision::half);
  std::string fast = store(8, 400, Precision::ieee);
  expectPruned(slow, "superseded by " + llvm::sys::path::filename(fast).str());
  EXPECT_TRUE(llvm::sys::fs::exists(fast));
}

// A looser winner that is faster is what some compiles want.
TEST_F(Prune, LooserAndFasterStays) {
  store(8, 400, Precision::half);
  store(8, 500, Precision::ieee);
  EXPECT_EQ(prune(true).usable, 2u);
}

// Who requires the same bits each time uses it.
TEST_F(Prune, SlowerThatRepeatsItsBitsStays) {
  store(8, 400);
  store(8, 500, Precision::ieee, "test machine", true);
  PruneResult result = prune(true);
  EXPECT_TRUE(result.removed.empty());
  EXPECT_EQ(result.usable, 2u);
}

TEST_F(Prune, OtherMachinesStay) {
  store(8, 500, Precision::ieee, "one machine");
  store(8, 400, Precision::ieee, "other machine");
  EXPECT_EQ(prune(true).usable, 2u);
}

// The faster one of a machine may be the one that gained less: elsewhere the
// other is taken.
TEST_F(Prune, GainedMoreStays) {
  std::string slow = store(8, 500, Precision::half);
  edit(slow, "median = 2.000000e+00", "median = 9.000000e+00");
  store(8, 400, Precision::ieee);
  EXPECT_EQ(prune(true).usable, 2u);
}

TEST_F(Prune, CopyUnderAnotherNameIsSuperseded) {
  std::string winner = store(8, 500);
  std::string copy = folder.file("host/a copy");
  ASSERT_EQ(std::system(("cp -r '" + winner + "' '" + copy + "'").c_str()), 0);
  PruneResult result = prune(true);
  ASSERT_EQ(result.removed.size(), 1u);
  EXPECT_EQ(result.usable, 1u);
  auto bank = Bank::open(folder.str());
  EXPECT_TRUE(
      bank->lookup(keyOf(context, 8), accepting(), &context.context).winner);
}

TEST_F(Prune, LinksStay) {
  std::string winner = store(8, 500);
  std::string moved = folder.file("moved");
  ASSERT_EQ(rename(winner.c_str(), moved.c_str()), 0);
  ASSERT_EQ(symlink(moved.c_str(), winner.c_str()), 0);
  PruneResult result = prune(true);
  ASSERT_EQ(result.kept.size(), 1u);
  EXPECT_THAT(result.kept.front().reason, HasSubstr("not the bank's"));
  EXPECT_TRUE(llvm::sys::fs::exists(moved + "/kernel.c"));
}

TEST_F(Prune, MisnamedFolderStays) {
  std::string winner = store(8, 500);
  std::string other = folder.file("host/add-8xf32-0123abcd");
  ASSERT_EQ(rename(winner.c_str(), other.c_str()), 0);
  expectKept(other, "give the folder another name");
}

TEST_F(Prune, UnreadableFilesStay) {
  if (geteuid() == 0) {
    // Root reads everything: a folder stands where the program was.
    std::string winner = store(8, 500);
    llvm::sys::fs::remove(winner + "/lowering.mlir");
    ASSERT_EQ(mkdir((winner + "/lowering.mlir").c_str(), 0700), 0);
    expectPruned(winner, "not a regular file");
    return;
  }
  std::string winner = store(8, 500);
  ASSERT_EQ(chmod((winner + "/kernel.c").c_str(), 0), 0);
  expectKept(winner, "nothing is known of the winner itself");
}

TEST_F(Prune, DebrisGoes) {
  store(8, 500);
  std::string debris = folder.file(".tmp-123");
  ASSERT_FALSE(llvm::sys::fs::create_directories(debris + "/x"));
  expectPruned(debris, "left by a writer that died");
}

} // namespace
