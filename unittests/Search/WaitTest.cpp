//===- WaitTest.cpp - Searches that wait for answers in one run -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run that waits asks again with the journal that it has open. It must come
// to what runs of a process each come to, and write what they write.
//
//===----------------------------------------------------------------------===//

#include "SearchTestUtils.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;

namespace {

using Spool = ScriptedEvaluator::Spool;

class Wait : public testing::Test {
protected:
  Wait() {
    options.rounds = 3;
    options.ideas = 4;
    options.implementations = 2;
    options.roundSweep = 3;
    options.finalSweep = 4;
    options.seed = 11;
    world.evaluator.spool = &spool;
  }

  /// Asks again and again, all in one run. Before each time `answer` may do
  /// what it likes beside answering all.
  SearchResult wait(
      const std::string &directory,
      llvm::function_ref<void(int)> answer = [](int) {}) {
    std::unique_ptr<Journal> journal = world.openJournal(directory, options);
    SearchInput input = world.input(journal.get());
    input.workers = workers;
    for (passes = 1; passes < 200; ++passes) {
      auto result = runSearch(input, options);
      if (!result) {
        ADD_FAILURE() << llvm::toString(result.takeError());
        return SearchResult();
      }
      if (result->end != SearchEnd::Pending)
        return std::move(*result);
      spool.answered.insert(spool.written.begin(), spool.written.end());
      answer(passes);
      input.begun = result->begun;
      EXPECT_EQ(llvm::toString(journal->goOn()), "");
    }
    ADD_FAILURE() << "pending for ever";
    return SearchResult();
  }
  /// The same by runs of their own.
  SearchResult runAgain(const std::string &directory) {
    for (int pass = 1; pass < 200; ++pass) {
      SearchResult result =
          world.search(options, world.openJournal(directory, options).get());
      if (result.end != SearchEnd::Pending)
        return result;
      spool.answered.insert(spool.written.begin(), spool.written.end());
    }
    ADD_FAILURE() << "pending for ever";
    return SearchResult();
  }

  World world{20, hill};
  Spool spool;
  SearchOptions options;
  int passes = 0;
  unsigned workers = 0;
};

TEST_F(Wait, ComesToWhatRunsOfTheirOwnComeTo) {
  MemoryFolder waited, again;
  SearchResult one = wait(waited.str());
  EXPECT_GT(passes, 3);
  EXPECT_TRUE(one.winner) << one.noWinnerReason;
  // Nothing of it was there before.
  EXPECT_EQ(one.counts.replayed, 0);
  std::set<std::string> written = spool.written;
  std::string first = summary(world, one);
  spool = Spool();
  EXPECT_EQ(summary(world, runAgain(again.str())), first);
  EXPECT_EQ(spool.written, written);
}

/// Every second answer is of a GPU that is held back by a third: what is
/// decided is decided by ratios to the baseline of the same job.
TEST_F(Wait, TimesOfSlowerGpusAreNotCompared) {
  MemoryFolder usual, mixed;
  SearchResult one = wait(usual.str());
  ASSERT_TRUE(one.winner) << one.noWinnerReason;
  std::set<std::string> written = spool.written;
  spool = Spool();
  int jobs = 0, slow = 0;
  world.evaluator.alter = [&](worker::Verdict &verdict,
                              const EvaluationRequest &) {
    if (++jobs % 2 == 0)
      return;
    ++slow;
    for (std::optional<worker::Timing> *timing :
         {&verdict.timing.candidate, &verdict.timing.baseline})
      **timing = {(*timing)->medianNs * 1.5, (*timing)->p10Ns * 1.5,
                  (*timing)->p90Ns * 1.5, (*timing)->samples};
  };
  SearchResult other = wait(mixed.str());
  ASSERT_TRUE(other.winner) << other.noWinnerReason;
  EXPECT_GT(slow, 5);
  EXPECT_EQ(other.winner->variant.program, one.winner->variant.program);
  EXPECT_EQ(other.winner->verdict.timing.speedupOverBaseline->median,
            one.winner->verdict.timing.speedupOverBaseline->median);
  // The same was asked for, all the way.
  EXPECT_EQ(spool.written, written);
}

/// The journal of a run that waited is one like any other.
TEST_F(Wait, WritesNothingTwice) {
  MemoryFolder folder;
  SearchResult one = wait(folder.str());
  std::string before = readAll(folder.file("journal.jsonl"));
  size_t calls = world.evaluator.calls.size();
  int asked = world.proposer.asked;
  SearchResult other =
      world.search(options, world.openJournal(folder.str(), options).get());
  EXPECT_EQ(summary(world, other), summary(world, one));
  EXPECT_EQ(readAll(folder.file("journal.jsonl")), before);
  EXPECT_EQ(world.evaluator.calls.size(), calls);
  EXPECT_EQ(world.proposer.asked, asked);
  EXPECT_EQ(other.counts.replayed, other.counts.evaluations);
}

/// Proposers are asked once, however often the search is gone through.
TEST_F(Wait, ProposersAreAskedOnce) {
  MemoryFolder folder;
  options.rounds = 1;
  wait(folder.str());
  EXPECT_EQ(world.proposer.asked, 1);
}

/// What was asked for in time counts, whenever its answer comes.
TEST_F(Wait, MinutesEndNothingThatWasAskedFor) {
  MemoryFolder folder;
  options.budget.minutes = 10;
  SearchResult result = wait(folder.str(), [&](int pass) {
    // The first round's answers are late by far.
    if (pass == 1)
      world.evaluator.now += 11 * 60;
  });
  EXPECT_EQ(result.end, SearchEnd::Budget) << result.detail;
  EXPECT_TRUE(result.isOutOfTime);
  // All eight of the round, and the promotion of the best.
  EXPECT_EQ(result.counts.evaluations, 9);
  EXPECT_TRUE(result.winner) << result.noWinnerReason;
  // What was waited counts.
  EXPECT_GE(result.runSeconds, 660);
}

/// Where workers are shared, minutes are what they are at work for this search.
TEST_F(Wait, MinutesOfWorkers) {
  options.budget.minutes = 1;
  options.rounds = 10;
  world.evaluator.alter = [](worker::Verdict &verdict,
                             const EvaluationRequest &request) {
    verdict.resources.wallSeconds = request.promote ? 10 : 4;
  };
  int64_t before = 0;
  for (unsigned workers : {1, 3}) {
    MemoryFolder folder;
    spool = Spool();
    this->workers = workers;
    SearchResult result = wait(folder.str(), [&](int) {
      // Others' evaluations take the clock's time.
      world.evaluator.now += 1000;
    });
    EXPECT_TRUE(result.winner) << result.noWinnerReason;
    EXPECT_GT(result.workerSeconds, 0.5 * 60 * workers);
    EXPECT_LE(result.workerSeconds, 1.25 * 60 * workers + 10);
    EXPECT_GT(result.counts.evaluations, before);
    before = result.counts.evaluations;
  }
}

/// Noise spoils a promotion: that this run has measured it already does not
/// make it one of an earlier run, which would be made again without end.
TEST_F(Wait, NoiseComesToAnEnd) {
  MemoryFolder folder;
  options.budget.minutes = 1000;
  world.evaluator.alter = [](worker::Verdict &verdict,
                             const EvaluationRequest &request) {
    if (request.promote)
      verdict.timing.aaRatio = worker::Ratio{1.5, 1.2, 1.9};
  };
  SearchResult result = wait(folder.str());
  EXPECT_NE(result.end, SearchEnd::Pending);
  EXPECT_FALSE(result.winner);
  EXPECT_TRUE(result.unproven);
  EXPECT_LE(result.counts.promotions, 3 * options.promotions);
}

} // namespace
