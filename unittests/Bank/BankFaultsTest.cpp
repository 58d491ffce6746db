//===- BankFaultsTest.cpp - Banks that were edited, cut or cannot be written -//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BankTestUtils.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/Sha256.h"
#include "gmock/gmock.h"
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A bank with one winner, to be damaged.
class BankFaults : public testing::Test {
protected:
  void SetUp() override {
    auto bank = Bank::open(folder.str());
    ASSERT_TRUE(static_cast<bool>(bank));
    auto result = bank->write(*makeWinner(context, 8, 500), "{}");
    ASSERT_TRUE(static_cast<bool>(result));
    winner = result->folder;
    key = keyOf(context, 8);
  }

  /// The lookup must miss, and say why; returns what it says.
  std::string staleReason() {
    auto bank = Bank::open(folder.str());
    if (!bank)
      return "cannot open: " + llvm::toString(bank.takeError());
    BankLookup found =
        bank->lookup(key, accepting(Precision::half), &context.context);
    EXPECT_FALSE(found.winner);
    EXPECT_EQ(found.stale.size(), 1u);
    if (found.stale.size() != 1)
      return "not stale: " + found.reason;
    EXPECT_EQ(found.stale.front().folder, winner);
    EXPECT_THAT(found.reason, HasSubstr("stale"));
    return found.stale.front().reason;
  }
  bool hits() {
    auto bank = Bank::open(folder.str());
    return bank->lookup(key, accepting(Precision::half), &context.context)
               .winner != nullptr;
  }
  void edit(llvm::StringRef from, llvm::StringRef to) {
    std::string text = readAll(winner + "/lowering.mlir");
    size_t at = text.find(from.str());
    ASSERT_NE(at, std::string::npos) << from.str();
    text.replace(at, from.size(), to.str());
    writeAll(winner + "/lowering.mlir", text);
  }
  void expectReplaceable() {
    auto bank = Bank::open(folder.str());
    auto result = bank->write(*makeWinner(context, 8, 900), "{}");
    ASSERT_TRUE(static_cast<bool>(result))
        << llvm::toString(result.takeError());
    EXPECT_TRUE(hits());
  }

  TestContext context;
  TemporaryFolder folder;
  std::string winner, key;
};

TEST_F(BankFaults, EditedPattern) {
  edit("arith.addf", "arith.mulf");
  EXPECT_THAT(staleReason(), HasSubstr("(required by 'fastk.key')"));
  expectReplaceable();
}

TEST_F(BankFaults, EditedKey) {
  std::string other = keyOf(context, 9);
  edit("key = \"" + key, "key = \"" + other);
  EXPECT_THAT(staleReason(), HasSubstr("(required by 'fastk.key')"));
}

TEST_F(BankFaults, EditedProgram) {
  writeAll(winner + "/kernel.c", "void fastk_kernel(void) { *(int *)0 = 0; }");
  std::string reason = staleReason();
  EXPECT_THAT(reason, HasSubstr("kernel.c: was edited or cut"));
  EXPECT_THAT(reason, HasSubstr("search again"));
  expectReplaceable();
}

TEST_F(BankFaults, UnknownPrecision) {
  edit("precision<ieee>", "precision<exact>");
  EXPECT_THAT(staleReason(), HasSubstr("precision"));
}

TEST_F(BankFaults, OtherFormatVersion) {
  edit("format_version = 1", "format_version = 2");
  EXPECT_THAT(staleReason(),
              HasSubstr("has format version 2, this fastk reads version 1"));
}

// A winner without a time would rank first, and nothing says that it is one.
TEST_F(BankFaults, NoTime) {
  for (const char *time :
       {"median_ns = 0.000000e+00", "median_ns = -5.0",
        "median_ns = 0x7FF8000000000000", "median_ns = 0x7FF0000000000000",
        "middle_ns = 5.0"}) {
    std::string text = readAll(winner + "/lowering.mlir");
    edit("median_ns = 5.000000e+02", time);
    std::string reason = staleReason();
    EXPECT_THAT(reason, HasSubstr("which is no time")) << time;
    EXPECT_THAT(reason, HasSubstr("search again"));
    auto bank = Bank::open(folder.str());
    ASSERT_EQ(bank->list().size(), 1u);
    EXPECT_THAT(bank->list().front().problem, HasSubstr("which is no time"));
    writeAll(winner + "/lowering.mlir", text);
  }
  edit("median_ns = 5.000000e+02", "median_ns = 0.000000e+00");
  expectReplaceable();
}

// A slower winner with a time is taken before one without.
TEST_F(BankFaults, NoTimeDoesNotRankFirst) {
  auto bank = Bank::open(folder.str());
  auto half =
      bank->write(*makeWinner(context, 8, 900, "", Precision::half), "");
  ASSERT_TRUE(static_cast<bool>(half));
  edit("median_ns = 5.000000e+02", "median_ns = 0.000000e+00");
  BankLookup found =
      bank->lookup(key, accepting(Precision::half), &context.context);
  ASSERT_TRUE(found.winner);
  EXPECT_EQ(found.winner->folder, half->folder);
  EXPECT_EQ(found.stale.size(), 1u);
}

// What cannot be read gives its name to the next winner, and is gone then.
TEST_F(BankFaults, UnreadableHeadIsReplaced) {
  for (const char *damage : {"", "garbage", "fastk.lowering @x attributes {"}) {
    writeAll(winner + "/lowering.mlir", damage);
    EXPECT_FALSE(staleReason().empty());
    auto bank = Bank::open(folder.str());
    auto result = bank->write(*makeWinner(context, 8, 900), "{}");
    ASSERT_TRUE(static_cast<bool>(result));
    EXPECT_EQ(result->outcome, WriteOutcome::Replaced);
    EXPECT_EQ(result->folder, winner);
    EXPECT_EQ(bank->size(), 1u);
    BankLookup found = bank->lookup(key, accepting(), &context.context);
    EXPECT_TRUE(found.winner) << found.reason;
    EXPECT_TRUE(found.stale.empty());
  }
}

// What a link names is not the bank's: it stays, and the winner goes beside it.
TEST_F(BankFaults, LinkWithTheNameIsLeftAlone) {
  std::string moved = folder.file("moved");
  ASSERT_EQ(rename(winner.c_str(), moved.c_str()), 0);
  ASSERT_EQ(symlink(moved.c_str(), winner.c_str()), 0);
  auto bank = Bank::open(folder.str());
  auto result = bank->write(*makeWinner(context, 8, 900), "{}");
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_NE(result->folder, winner);
  EXPECT_TRUE(llvm::sys::fs::exists(moved + "/kernel.c"));
  EXPECT_TRUE(hits());
}

TEST_F(BankFaults, OtherMlirVersion) {
  edit("mlir_version = \"" LLVM_VERSION_STRING, "mlir_version = \"21.1.0");
  EXPECT_THAT(staleReason(), HasSubstr("was validated with MLIR 21.1.0"));
}

TEST_F(BankFaults, MissingProgram) {
  llvm::sys::fs::remove(winner + "/kernel.c");
  EXPECT_THAT(staleReason(), HasSubstr("kernel.c: cannot read"));
}

TEST_F(BankFaults, MissingLowering) {
  llvm::sys::fs::remove(winner + "/lowering.mlir");
  EXPECT_THAT(staleReason(), HasSubstr("lowering.mlir: cannot read"));
}

TEST_F(BankFaults, ProgramOutsideTheFolder) {
  writeAll(folder.file("evil.c"), readAll(winner + "/kernel.c"));
  edit("file = \"kernel.c\"", "file = \"../../evil.c\"");
  EXPECT_THAT(staleReason(), HasSubstr("not a plain name"));
}

TEST_F(BankFaults, LinksAndPipesAreNotFollowed) {
  std::string program = readAll(winner + "/kernel.c");
  writeAll(folder.file("elsewhere.c"), program);
  llvm::sys::fs::remove(winner + "/kernel.c");
  ASSERT_EQ(symlink(folder.file("elsewhere.c").c_str(),
                    (winner + "/kernel.c").c_str()),
            0);
  EXPECT_THAT(staleReason(), HasSubstr("symbolic links are not followed"));
  llvm::sys::fs::remove(winner + "/kernel.c");
  ASSERT_EQ(mkfifo((winner + "/kernel.c").c_str(), 0600), 0);
  EXPECT_THAT(staleReason(), HasSubstr("not a regular file"));
}

TEST_F(BankFaults, LinkedWinner) {
  std::string moved = folder.file("moved");
  ASSERT_EQ(rename(winner.c_str(), moved.c_str()), 0);
  ASSERT_EQ(symlink(moved.c_str(), winner.c_str()), 0);
  EXPECT_THAT(staleReason(), HasSubstr("symbolic link"));
}

TEST_F(BankFaults, SecondOpInTheFile) {
  std::string text = readAll(winner + "/lowering.mlir");
  writeAll(winner + "/lowering.mlir",
           text + "fastk.lowering @x attributes {}\n");
  EXPECT_THAT(staleReason(), HasSubstr("lowering.mlir:"));
}

TEST_F(BankFaults, UnknownDialect) {
  edit("arith.addf", "nosuch.op");
  EXPECT_THAT(staleReason(), HasSubstr("nosuch"));
}

TEST_F(BankFaults, RenamedFolderIsStillFound) {
  std::string renamed = folder.file("host/my favourite");
  ASSERT_EQ(rename(winner.c_str(), renamed.c_str()), 0);
  EXPECT_TRUE(hits());
}

// Wherever the file is cut, the winner is stale with a reason; only the whole
// file is a hit.
TEST_F(BankFaults, CutAnywhere) {
  std::string text = readAll(winner + "/lowering.mlir");
  size_t needed = llvm::StringRef(text).rtrim().size();
  for (size_t size = 0; size < needed; size += size + 40 < needed ? 7 : 1) {
    writeAll(winner + "/lowering.mlir", text.substr(0, size));
    EXPECT_FALSE(staleReason().empty()) << size;
  }
  writeAll(winner + "/lowering.mlir", text);
  EXPECT_TRUE(hits());
  std::string program = readAll(winner + "/kernel.c");
  for (size_t size = 0; size < program.size(); ++size) {
    writeAll(winner + "/kernel.c", program.substr(0, size));
    EXPECT_THAT(staleReason(), HasSubstr("edited or cut")) << size;
  }
}

TEST_F(BankFaults, GarbageBytes) {
  std::string text = readAll(winner + "/lowering.mlir");
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::string damaged = text;
    size_t at = (seed * 7919u) % damaged.size();
    damaged[at] = static_cast<char>(seed * 31 + 1);
    writeAll(winner + "/lowering.mlir", damaged);
    auto bank = Bank::open(folder.str());
    BankLookup found =
        bank->lookup(key, accepting(Precision::half), &context.context);
    // A changed record is still this winner; everything else is stale, or a
    // miss that says why. Nothing crashes.
    if (!found.winner) {
      EXPECT_FALSE(found.reason.empty());
    } else {
      EXPECT_EQ(found.winner->getLowering().getKey(), key);
      EXPECT_EQ(sha256(*found.winner->getLowering().getSource()),
                *found.winner->getLowering().getDigest());
    }
  }
}

TEST_F(BankFaults, NotAFolder) {
  writeAll(folder.file("file"), "");
  auto bank = Bank::open(folder.file("file"));
  ASSERT_FALSE(static_cast<bool>(bank));
  EXPECT_THAT(llvm::toString(bank.takeError()), HasSubstr("not a folder"));
}

TEST_F(BankFaults, FolderThatCannotBeMade) {
  writeAll(folder.file("file"), "");
  auto bank = Bank::open(folder.file("file/bank"));
  ASSERT_TRUE(static_cast<bool>(bank));
  auto result = bank->write(*makeWinner(context, 8, 500), "{}");
  ASSERT_FALSE(static_cast<bool>(result));
  std::string message = llvm::toString(result.takeError());
  EXPECT_THAT(message, HasSubstr(folder.file("file/bank")));
  EXPECT_THAT(message, HasSubstr("choose another folder"));
}

// A limit on file sizes fails a write half-way, as a full disk does; root is
// not exempt.
TEST_F(BankFaults, WriteThatFailsHalfWayLeavesNothing) {
  std::signal(SIGXFSZ, SIG_IGN);
  auto faster = makeWinner(context, 8, 100);
  auto bank = Bank::open(folder.str());
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  for (rlim_t limit : {4, 30, 300, 1000}) {
    rlimit small = {limit, old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    auto result = bank->write(*faster, "{}");
    setrlimit(RLIMIT_FSIZE, &old);
    ASSERT_FALSE(static_cast<bool>(result)) << limit;
    std::string message = llvm::toString(result.takeError());
    EXPECT_THAT(message, HasSubstr(folder.str()));
    EXPECT_THAT(message, HasSubstr("ulimit -f"));
    EXPECT_THAT(message, Not(HasSubstr(".tmp")));
    auto now = Bank::open(folder.str());
    BankLookup found = now->lookup(key, accepting(), &context.context);
    ASSERT_TRUE(found.winner) << found.reason;
    EXPECT_EQ(found.winner->getRecord().medianNs, 500);
    for (const auto &debris : {".tmp-" + std::to_string(getpid())})
      EXPECT_FALSE(llvm::sys::fs::exists(folder.file(debris)));
  }
}

TEST(DurableFile, RoomIsLookedAtBeforeItIsNeeded) {
  TemporaryFolder folder;
  EXPECT_EQ(llvm::toString(checkFreeSpace(folder.str(), 1)), "");
  std::string message =
      llvm::toString(checkFreeSpace(folder.str(), uint64_t(1) << 62));
  EXPECT_THAT(message, HasSubstr(folder.str() + ": only "));
  EXPECT_THAT(message, HasSubstr("4398046511104 MiB are needed; free some"));
}

TEST(DurableFile, PlacesAreLookedAtBeforeTheyAreWritten) {
  TemporaryFolder folder;
  EXPECT_EQ(llvm::toString(checkWritable(folder.file("new"))), "");
  EXPECT_EQ(llvm::toString(checkWritable("/dev/null")), "");
  EXPECT_THAT(llvm::toString(checkWritable(folder.file("none/new"))),
              HasSubstr("none/new: cannot write: No such file"));
  EXPECT_THAT(llvm::toString(checkWritable(folder.str())),
              HasSubstr("cannot write: Is a directory; a folder stands"));
  EXPECT_FALSE(llvm::sys::fs::exists(folder.file("new")));
}

TEST(DurableFile, FullDiskNamesFileAndRemedy) {
  TemporaryFolder folder;
  std::string message =
      llvm::toString(fileError(folder.file("x"), "write", ENOSPC));
  EXPECT_THAT(message, HasSubstr(folder.file("x")));
  EXPECT_THAT(message, HasSubstr("No space left on device"));
  EXPECT_THAT(message, HasSubstr("free some space"));
}

TEST(DurableFile, ReadOnlyDiskNamesFileAndRemedy) {
  for (int errnum : {EROFS, EACCES}) {
    std::string message = llvm::toString(fileError("/some/x", "write", errnum));
    EXPECT_THAT(message, HasSubstr("/some/x: cannot write"));
    EXPECT_THAT(message, HasSubstr("you may write to"));
  }
}

} // namespace
