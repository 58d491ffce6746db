//===- FaultyJournalTest.cpp - A search that fails at every call ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Search/SearchTestUtils.h"
#include "FaultTestUtils.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {

SearchOptions shortSearch() {
  SearchOptions options;
  options.rounds = 2;
  options.ideas = 2;
  options.implementations = 2;
  options.roundSweep = 1;
  options.finalSweep = 1;
  options.seed = 11;
  return options;
}

/// Runs the search to its end, or to the error that ended it. 0: its summary is
/// in `end`.
int search(World &world, const std::string &folder, std::string &end) {
  SearchOptions options = shortSearch();
  auto journal = Journal::open(folder, bindingOf(world.input(), options));
  if (!journal) {
    end = llvm::toString(journal.takeError());
    return 1;
  }
  SearchInput input = world.input(journal->get());
  if (llvm::Error error = (*journal)->recallDevice(world.target)) {
    end = llvm::toString(std::move(error));
    return 1;
  }
  auto result = runSearch(input, options);
  if (!result) {
    end = llvm::toString(result.takeError());
    return 1;
  }
  end = summary(world, *result);
  return 0;
}

TEST(FaultyJournal, SearchGoesOnToTheSameEnd) {
  MemoryFolder memory;
  std::string folder = memory.file("journal");
  SharedMemory shared;
  std::string expected;
  size_t evaluations;
  {
    World whole(3, hill);
    ASSERT_EQ(search(whole, memory.file("whole"), expected), 0) << expected;
    evaluations = whole.evaluator.calls.size();
    ASSERT_GE(evaluations, 6u);
  }
  // What the child evaluated is counted where its death does not reach.
  auto run = [&] {
    World world(3, hill);
    world.evaluator.onCall = [&](size_t calls) { shared->begun = calls; };
    std::string end;
    int code = search(world, folder, end);
    shared->say(end);
    return code;
  };
  ASSERT_EQ(withFault(Fault::None, 0, folder, *shared, run), 0);
  int calls = shared->calls;
  EXPECT_EQ(expected, shared->message);
  ASSERT_GE(calls, 60) << "the shim sees the calls of the journal";
  ASSERT_LE(calls, 400);
  std::printf("a search of %zu evaluations\n", evaluations);

  for (Fault fault : kAllFaults) {
    int refused = 0;
    for (int at = 1; at <= calls; ++at) {
      SCOPED_TRACE(std::string(nameOf(fault)) + " call " + std::to_string(at) +
                   " of " + std::to_string(calls));
      llvm::sys::fs::remove_directories(folder);
      *shared = Shared();
      int code = withFault(fault, at, folder, *shared, run);
      if (kills(fault)) {
        ASSERT_EQ(code, 128 + SIGKILL);
      } else if (code == 0) {
        EXPECT_EQ(expected, shared->message);
      } else {
        ASSERT_EQ(code, 1);
        ++refused;
        EXPECT_THAT(shared->message, HasSubstr(folder));
        EXPECT_THAT(shared->message, HasSubstr("; "));
      }
      if (fault == Fault::Short)
        EXPECT_EQ(code, 0) << shared->message;

      // The next run reads it, and repeats at most what was in flight.
      World next(3, hill);
      std::string end;
      ASSERT_EQ(search(next, folder, end), 0) << end;
      EXPECT_EQ(end, expected);
      EXPECT_LE(shared->begun + next.evaluator.calls.size(), evaluations + 1)
          << "an evaluation that was recorded was made again";
      EXPECT_GE(shared->begun + next.evaluator.calls.size(), evaluations);

      // And the one after it has nothing left to do.
      World last(3, hill);
      ASSERT_EQ(search(last, folder, end), 0) << end;
      EXPECT_EQ(end, expected);
      EXPECT_TRUE(last.evaluator.calls.empty());
      if (testing::Test::HasFailure())
        return;
    }
    std::printf("%s: %d calls, %d refused\n", nameOf(fault), calls, refused);
    if (!kills(fault) && fault != Fault::Short)
      EXPECT_GT(2 * refused, calls) << nameOf(fault);
  }
}

} // namespace
