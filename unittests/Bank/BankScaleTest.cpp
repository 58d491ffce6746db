//===- BankScaleTest.cpp - Banks of ten thousand winners ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bounds here are ten times what is measured (docs/formats/bank.md): they
// fail when a lookup reads the bank again, not when the machine is busy.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Bank/HeadCache.h"
#include "BankTestUtils.h"
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>

using namespace fastk;
using namespace fastk::test;

namespace {

/// Processor seconds of this process: waiting for others does not count.
double seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

/// The cache of the test alone.
class BankScale : public testing::Test {
protected:
  void SetUp() override { setenv("FASTK_CACHE_DIR", cache.str().c_str(), 1); }
  void TearDown() override { unsetenv("FASTK_CACHE_DIR"); }

  /// Winners whose keys are digests of numbers; their heads are whole, and were
  /// written a minute ago. Winner `i` has `i % 5` sums.
  void makeBank(int count) {
    auto module = makeWinner(context, 8, 500);
    std::string text = printLoweringFile(TestContext::loweringOf(*module));
    std::string key = keyOf(context, 8);
    for (int i = 0; i < count; ++i) {
      std::string other = sha256(std::to_string(i));
      std::string mine = text;
      for (size_t at = 0; (at = mine.find(key, at)) != std::string::npos;)
        mine.replace(at, key.size(), other);
      for (int sums = 0; sums < i % 5; ++sums)
        mine += "// iterator_types = [\"reduction\"]\n";
      std::string path = winner(i);
      ASSERT_FALSE(llvm::sys::fs::create_directories(path));
      writeAll(path + "/lowering.mlir", mine);
      age(path + "/lowering.mlir");
    }
  }
  std::string winner(int i) {
    return folder.file("host/add-8xf32-" +
                       sha256(std::to_string(i)).substr(0, 8));
  }
  /// The content is a minute old. The inode's own time cannot be set: whoever
  /// wants a head to be settled waits.
  void age(const std::string &path) {
    timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= 60;
    times[1] = times[0];
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  std::optional<unsigned> most(llvm::StringRef target = "host") {
    auto bank = Bank::open(folder.str());
    EXPECT_TRUE(static_cast<bool>(bank));
    return bank->mostReductions(target);
  }
  size_t cachedFiles() {
    size_t count = 0;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(cache.file("heads"), code), end;
         !code && it != end; it.increment(code))
      ++count;
    return count;
  }

  TestContext context;
  MemoryFolder folder, cache;
};

TEST_F(BankScale, TenThousandWinners) {
  constexpr int kWinners = 10000;
  makeBank(kWinners);
  // One of them is real.
  {
    auto bank = Bank::open(folder.str());
    ASSERT_TRUE(
        static_cast<bool>(bank->write(*makeWinner(context, 8, 500), "{}")));
  }
  double start = seconds();
  auto bank = Bank::open(folder.str());
  ASSERT_TRUE(static_cast<bool>(bank));
  double opened = seconds() - start;
  EXPECT_EQ(bank->size(), size_t(kWinners + 1));
  EXPECT_LE(opened, 0.5);

  // A miss reads no file, however many winners there are.
  constexpr int kLookups = 10000;
  start = seconds();
  for (int i = 0; i < kLookups; ++i) {
    BankLookup found = bank->lookup(sha256("none" + std::to_string(i)),
                                    accepting(), &context.context);
    ASSERT_FALSE(found.winner);
  }
  double lookup = (seconds() - start) / kLookups;
  EXPECT_LE(lookup, 50e-6);
  EXPECT_TRUE(
      bank->lookup(keyOf(context, 8), accepting(), &context.context).winner);

  start = seconds();
  EXPECT_EQ(bank->mostReductions("host"), 4u);
  double heads = seconds() - start;
  // Files that were just written are not trusted.
  ::sleep(3);
  EXPECT_EQ(bank->mostReductions("host"), 4u);
  start = seconds();
  EXPECT_EQ(bank->mostReductions("host"), 4u);
  double cached = seconds() - start;
  EXPECT_LT(cached, heads);
  EXPECT_LE(cached, 0.5);
  std::printf("open %.1f ms, miss %.2f us, heads %.1f ms, from the cache "
              "%.1f ms\n",
              1e3 * opened, 1e6 * lookup, 1e3 * heads, 1e3 * cached);
}

// Whatever happens to a head, the next question sees it.
TEST_F(BankScale, ChangedHeadsAreReadAgain) {
  makeBank(150);
  ::sleep(3);
  EXPECT_EQ(most(), 4u);
  EXPECT_EQ(cachedFiles(), 1u);
  EXPECT_EQ(most("cuda:sm_90a"), std::nullopt);

  // Edited in place, with the old size and the old time.
  std::string path = winner(0) + "/lowering.mlir";
  std::string text = readAll(path);
  struct stat before;
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  std::string larger = text;
  for (int i = 0; i < 7; ++i)
    larger += "// iterator_types = [\"reduction\"]\n";
  writeAll(path, larger);
  EXPECT_EQ(most(), 7u);
  writeAll(path, text);
  timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_EQ(most(), 4u);

  // Gone, and replaced as the bank does it.
  for (int i = 4; i < 150; i += 5)
    llvm::sys::fs::remove_directories(winner(i));
  EXPECT_EQ(most(), 3u);
  // Another bank in the same place.
  ASSERT_EQ(rename(winner(3).c_str(), winner(4).c_str()), 0);
  EXPECT_EQ(most(), 3u);
}

TEST_F(BankScale, DamagedCacheIsNoCache) {
  makeBank(150);
  ::sleep(3);
  EXPECT_EQ(most(), 4u);
  std::error_code code;
  std::string path =
      llvm::sys::fs::directory_iterator(cache.file("heads"), code)->path();
  ASSERT_FALSE(code);
  std::string text = readAll(path);
  std::string edited = text;
  edited.replace(edited.find("\t4\thost"), 2, "\t9");
  for (const std::string &damage :
       {std::string(), text.substr(0, text.size() / 2), edited, text + "x",
        std::string(200, '\n')}) {
    writeAll(path, damage);
    EXPECT_EQ(most(), 4u);
    EXPECT_EQ(readAll(path), text);
  }
}

// Without a place for a cache a bank is read as before.
TEST_F(BankScale, NoPlaceForTheCache) {
  makeBank(150);
  writeAll(cache.file("file"), "");
  setenv("FASTK_CACHE_DIR", cache.file("file/below").c_str(), 1);
  EXPECT_EQ(most(), 4u);
  EXPECT_EQ(most(), 4u);
}

TEST(HeadCache, RoundTripsAndIsOfOneBank) {
  llvm::StringMap<HeadCache::Head> heads;
  heads["/host/a b"] = {{7, 100, 5, 6}, "host", 3};
  heads["/sm_90a/c"] = {{8, -1, 5, INT64_MAX}, "cuda:sm_90a", UINT_MAX};
  heads["/host/with\nbreak"] = {{9, 1, 1, 1}, "host", 1};
  std::string text = HeadCache::print("/bank", heads);
  llvm::StringMap<HeadCache::Head> read = HeadCache::parse("/bank", text);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_TRUE(read["/host/a b"].stamp == heads["/host/a b"].stamp);
  EXPECT_EQ(read["/sm_90a/c"].target, "cuda:sm_90a");
  EXPECT_EQ(read["/sm_90a/c"].reductions, UINT_MAX);
  EXPECT_TRUE(HeadCache::parse("/other", text).empty());
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_TRUE(HeadCache::parse("/bank", text.substr(0, size)).empty());
}

} // namespace
