//===- BatchTest.cpp - Searches whose evaluations are answered later ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchTestUtils.h"
#include "gmock/gmock.h"
#include <random>

using namespace fastk;
using namespace fastk::test;

namespace {

using Spool = ScriptedEvaluator::Spool;

SearchOptions smallOptions() {
  SearchOptions options;
  options.rounds = 3;
  options.ideas = 4;
  options.implementations = 2;
  options.roundSweep = 3;
  options.finalSweep = 4;
  options.seed = 11;
  return options;
}

std::unique_ptr<World> makeWorld(Spool &spool) {
  auto world = std::make_unique<World>(20, hill);
  world->proposer.repairTo = [](std::string program) {
    return program.find("mended") == std::string::npos ? program + " mended"
                                                       : ok(800, program);
  };
  world->evaluator.spool = &spool;
  return world;
}

/// Runs until nothing is pending. Between two runs `answer` sees the jobs that
/// wait.
std::string
runToTheEnd(Spool &spool, const MemoryFolder &folder,
            const SearchOptions &options,
            llvm::function_ref<void(std::vector<std::string>)> answer,
            int *passes = nullptr) {
  for (int pass = 1; pass < 1000; ++pass) {
    auto world = makeWorld(spool);
    SearchResult result =
        world->search(options, world->openJournal(folder.str(), options).get());
    if (result.end != SearchEnd::Pending) {
      EXPECT_TRUE(result.winner) << result.noWinnerReason;
      EXPECT_EQ(result.counts.pending, 0);
      if (passes)
        *passes = pass;
      return summary(*world, result);
    }
    EXPECT_FALSE(result.winner);
    EXPECT_GT(result.counts.pending, 0);
    std::vector<std::string> waiting = spool.unanswered();
    EXPECT_EQ(waiting.size(), static_cast<size_t>(result.counts.pending));
    answer(waiting);
  }
  ADD_FAILURE() << "pending for ever";
  return "";
}

void answerAll(Spool &spool, const std::vector<std::string> &jobs) {
  spool.answered.insert(jobs.begin(), jobs.end());
}

TEST(Batch, ARoundIsAskedForAtOnce) {
  Spool spool;
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  auto world = makeWorld(spool);
  SearchResult result =
      world->search(options, world->openJournal(folder.str(), options).get());
  EXPECT_EQ(result.end, SearchEnd::Pending);
  // Four ideas, two realisations each.
  EXPECT_EQ(result.counts.pending, 8);
  EXPECT_EQ(spool.written.size(), 8u);
  // One of them shows that the inputs tell right from wrong.
  EXPECT_EQ(spool.firstOfBatch, 1);
  EXPECT_THAT(result.noWinnerReason, testing::HasSubstr("pending"));
}

// However few answers come at a time, the search comes to the same end, asks
// for the same jobs, and for none twice.
TEST(Batch, PartialAnswersLeadToTheSameEnd) {
  SearchOptions options = smallOptions();
  Spool whole;
  MemoryFolder wholeFolder;
  int passes = 0;
  std::string expected = runToTheEnd(
      whole, wholeFolder, options,
      [&](std::vector<std::string> jobs) { answerAll(whole, jobs); }, &passes);
  EXPECT_LT(passes, 40);
  std::mt19937 random(5);
  for (int trial = 0; trial < 5; ++trial) {
    Spool spool;
    MemoryFolder folder;
    std::string end =
        runToTheEnd(spool, folder, options, [&](std::vector<std::string> jobs) {
          std::shuffle(jobs.begin(), jobs.end(), random);
          jobs.resize(1 + random() % jobs.size());
          answerAll(spool, jobs);
        });
    EXPECT_EQ(end, expected);
    EXPECT_EQ(spool.written, whole.written);
  }
}

// A journal that lost its end, as by a kill, finds the jobs and their answers.
TEST(Batch, CutJournalsWriteNoJobTwice) {
  SearchOptions options = smallOptions();
  Spool whole;
  MemoryFolder wholeFolder;
  std::string expected = runToTheEnd(
      whole, wholeFolder, options,
      [&](std::vector<std::string> jobs) { answerAll(whole, jobs); });
  std::string text = readAll(wholeFolder.file("journal.jsonl"));
  for (size_t at = 0; at < text.size(); at += 997) {
    Spool spool = whole;
    MemoryFolder folder;
    llvm::sys::fs::create_directories(folder.file("programs"));
    // Programs of the kept lines are needed; the proposers give the others.
    auto world = makeWorld(spool);
    world->search(options, world->openJournal(folder.str(), options).get());
    writeAll(folder.file("journal.jsonl"), text.substr(0, at));
    EXPECT_EQ(runToTheEnd(spool, folder, options,
                          [](std::vector<std::string> jobs) {
                            ADD_FAILURE() << "asked again: " << jobs.front();
                          }),
              expected)
        << at;
    EXPECT_EQ(spool.written, whole.written);
  }
}

TEST(Batch, BudgetsAreKept) {
  for (int64_t limit : {2, 3, 7, 12}) {
    Spool spool;
    MemoryFolder folder;
    SearchOptions options = smallOptions();
    options.budget.evaluations = limit;
    for (int pass = 0; pass < 100; ++pass) {
      auto world = makeWorld(spool);
      SearchResult result = world->search(
          options, world->openJournal(folder.str(), options).get());
      EXPECT_LE(spool.written.size(), static_cast<size_t>(limit));
      if (result.end != SearchEnd::Pending) {
        EXPECT_EQ(result.end, SearchEnd::Budget);
        EXPECT_LE(result.counts.evaluations, limit);
        break;
      }
      answerAll(spool, spool.unanswered());
    }
    EXPECT_TRUE(spool.unanswered().empty());
  }
}

// The incumbent of a batch is the best from before it: beating that one does
// not make a new best of a variant that is slower than another of its batch.
TEST(Batch, TheFastestOfABatchIsBest) {
  Spool spool;
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  options.rounds = 2;
  options.ideas = 3;
  options.implementations = 1;
  // Round 1: 900 each. Round 2: 300, then 500.
  auto program = [](int idea, int p) {
    return ok(idea < 3 ? 900 : idea == 3 ? 300 : 500, std::to_string(idea));
  };
  for (int pass = 0; pass < 100; ++pass) {
    World world(6, program);
    world.proposer.sweeps = false;
    world.evaluator.spool = &spool;
    SearchResult result =
        world.search(options, world.openJournal(folder.str(), options).get());
    if (result.end == SearchEnd::Pending) {
      answerAll(spool, spool.unanswered());
      continue;
    }
    ASSERT_TRUE(result.winner);
    EXPECT_EQ(result.winner->variant.program, ok(300, "3"));
    EXPECT_EQ(result.counts.promotions, 1);
    break;
  }
}

// A winner of the bank goes with the first round.
TEST(Batch, SeedsGoWithTheFirstRound) {
  Spool spool;
  MemoryFolder folder;
  SearchOptions options = smallOptions();
  auto world = makeWorld(spool);
  SearchSeed seed;
  seed.idea = {"bank/winner", IdeaCategory::Compute, "known", "Known."};
  seed.variant = world->proposer.make(99, 1);
  seed.variant.program = ok(450, "seed");
  world->seeds = {seed};
  SearchResult result =
      world->search(options, world->openJournal(folder.str(), options).get());
  EXPECT_EQ(result.counts.pending, 9);
  EXPECT_TRUE(spool.written.count("evaluate " + ok(450, "seed")));
}

} // namespace
