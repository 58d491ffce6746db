//===- TimingTest.cpp - Times, floors, screens, promotion ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timing/Statistics.h"
#include "WorkerHarness.h"
#include "fastk/Protocol/RecordRules.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace fastk::worker;
using namespace fastk::worker::test;

TEST(Statistics, Quantiles) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({7}, 0.9), 7);
}

TEST(Statistics, PairedRatioCancelsDrift) {
  std::vector<double> slow, fast;
  for (int i = 0; i < 40; ++i) {
    double drift = 1 + i * 0.1;
    slow.push_back(200 * drift);
    fast.push_back(100 * drift * (1 + 0.01 * (i % 3 - 1)));
  }
  Ratio ratio = pairedRatio(slow, fast, 1);
  EXPECT_NEAR(ratio.median, 2, 0.03);
  EXPECT_GT(ratio.low, 1.9);
  EXPECT_LT(ratio.high, 2.1);
  EXPECT_LE(ratio.low, ratio.median);
  EXPECT_LE(ratio.median, ratio.high);
}

/// Beside a load one judgement may be off by more or have no ratio, and says
/// that it was: then there are up to four others.
static Verdict judgeUndisturbed(const Job &job) {
  Verdict verdict = judge(job);
  for (int again = 0; again < 4 && verdict.timing.tooBusy; ++again)
    verdict = judge(job);
  return verdict;
}

TEST(Timing, TheBaselineIsAsFastAsItself) {
  Job job = matmulJob(compile("matmul.c", ""));
  job.mode = Mode::Evaluate;
  Verdict verdict = judgeUndisturbed(job);
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  ASSERT_TRUE(verdict.timing.speedupOverBaseline);
  EXPECT_NEAR(verdict.timing.speedupOverBaseline->median, 1, 0.15);
  EXPECT_GE(verdict.timing.candidate->samples, 7);
  // Blocks that something disturbed are in no time; their results count.
  if (!verdict.timing.tooBusy) {
    EXPECT_EQ(verdict.audit.timedOutputsChecked,
              verdict.timing.candidate->samples +
                  verdict.timing.droppedBlocks.value_or(-1));
  }
  EXPECT_GE(verdict.audit.auditedCalls, 2);
  EXPECT_GT(verdict.timing.handshakeNs, 0);
  EXPECT_LE(verdict.timing.candidate->p10Ns,
            verdict.timing.candidate->medianNs);
  EXPECT_LE(verdict.timing.candidate->medianNs,
            verdict.timing.candidate->p90Ns);
}

TEST(Timing, SlowCandidatesAreDroppedEarly) {
  Job job = matmulJob(compile("attacks.c", "-DATTACK=SLOW"));
  job.mode = Mode::Evaluate;
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Slow) << explain(verdict);
  EXPECT_EQ(verdict.precision, Precision::IEEE);
  // Three pairs of calls, or nine where something disturbed one.
  EXPECT_GE(verdict.timing.candidate->samples, 3);
  EXPECT_LE(verdict.timing.candidate->samples, 9);
  // After one trial, before the others are spent on it.
  EXPECT_EQ(verdict.audit.trials, 1);
  EXPECT_EQ(verdict.errors.size(), 1u);
  EXPECT_EQ(verdict.audit.distributions, std::vector<std::string>{"normal"});
}

/// A screen must not let wrong candidates look merely slow.
TEST(Timing, WrongComesBeforeSlow) {
  Job job = largeJob("-DSLOW -DCOUNT_WRITTEN=8");
  job.mode = Mode::Evaluate;
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
}

TEST(Timing, TheScreenComparesWithTheIncumbent) {
  Job job = largeJob("-DSLOW");
  job.mode = Mode::Evaluate;
  job.incumbent = job.candidate;
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
  job.incumbent = job.baseline;
  verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Slow) << explain(verdict);
  EXPECT_TRUE(verdict.timing.speedupOverIncumbent);
  EXPECT_EQ(verdict.audit.trials, 1);
}

TEST(Timing, LargeTensorsAreEvaluatedOnASubset) {
  Job job = largeJob("");
  job.mode = Mode::Evaluate;
  Verdict verdict = judge(job);
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  const std::vector<std::string> &laws = verdict.audit.distributions;
  EXPECT_EQ(laws.size(), 4u);
  EXPECT_EQ(std::count(laws.begin(), laws.end(), "normal"), 1);
  EXPECT_EQ(std::count(laws.begin(), laws.end(), "breakpoints"), 1);
}

/// What a subset may miss, promotion does not.
TEST(Timing, PromotionOfLargeTensorsRunsEverything) {
  Job job = largeJob("");
  job.mode = Mode::Promote;
  job.validate.trials = 10;
  job.time.maxSeconds = 0.5;
  Verdict verdict = judge(job);
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_EQ(verdict.audit.distributions.size(), 16u);
  EXPECT_EQ(verdict.audit.trials, 10 + 2 * 15);

  job = largeJob("-DWRONG_ON_EQUAL");
  job.mode = Mode::Promote;
  verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
  EXPECT_EQ(verdict.errors.back().distribution, "equal");
}

TEST(Timing, FasterThanTheFloorIsImpossible) {
  Job job = matmulJob(compile("matmul.c", ""));
  job.mode = Mode::Evaluate;
  job.floorNs = 1e9;
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Impossible) << explain(verdict);
  job.floorNs = 1;
  verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
}

/// The floor is reached with the handshake alone. Beside a load one judgement
/// may say nothing.
TEST(Timing, TheHandshakeIsNoWork) {
  // A call that is hardly more than it: in longer ones a quarter of it may be
  // less than what two calls of one program differ by, and nothing is said.
  Job job = elementwiseJob("ADD", compile("elementwise.c", "-DOP=ADD"));
  job.mode = Mode::Evaluate;
  Verdict verdict;
  for (int i = 0; i < 5 && verdict.status != Status::Impossible; ++i) {
    job.floorNs = 1;
    verdict = judge(job);
    ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
    double withoutSome =
        verdict.timing.candidate->medianNs - verdict.timing.handshakeNs / 4;
    job.floorNs = withoutSome / 0.97;
    verdict = judge(job);
  }
  EXPECT_EQ(verdict.status, Status::Impossible) << explain(verdict);
}

TEST(Timing, TheIncumbentIsTimedBeside) {
  Job job = matmulJob(compile("matmul.c", ""));
  job.mode = Mode::Evaluate;
  job.incumbent.emplace().path = compile("attacks.c", "-DATTACK=SLOW");
  Verdict verdict = judge(job);
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  ASSERT_TRUE(verdict.timing.speedupOverIncumbent);
  EXPECT_GT(verdict.timing.speedupOverIncumbent->low, 10);
  EXPECT_GT(verdict.timing.incumbent->medianNs, 20e6);
}

TEST(Timing, PromotionRepeatsAndControls) {
  Job job = matmulJob(compile("matmul.c", "-DMETHOD=PARALLEL"));
  job.mode = Mode::Promote;
  job.validate.trials = 10;
  job.time.maxSeconds = 1;
  Verdict verdict = judge(job);
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_GE(verdict.audit.trials, 20);
  EXPECT_EQ(verdict.audit.bitwiseDeterministic, true);
  // Beside other programs there are no times, and it says so.
  if (verdict.timing.tooBusy) {
    EXPECT_TRUE(noiseProblem(verdict.timing).find("other programs") !=
                std::string::npos);
    return;
  }
  ASSERT_TRUE(verdict.timing.aaRatio);
  EXPECT_NEAR(verdict.timing.aaRatio->median, 1, 0.15);
}

/// The control is called as often as the baseline, which takes longer with
/// every call here: what a program has in the caches depends on that.
TEST(Timing, TheControlIsCalledAsOften) {
  Job job = elementwiseJob("ADD", compile("elementwise.c", "-DOP=ADD"));
  job.baseline.path = compile("growing.c", "");
  job.mode = Mode::Promote;
  job.validate.trials = 10;
  job.time.maxSeconds = 1;
  Verdict verdict = judgeUndisturbed(job);
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  ASSERT_TRUE(verdict.timing.aaRatio);
  EXPECT_NEAR(verdict.timing.aaRatio->median, 1, 0.05);
}

TEST(Timing, WarmAndCold) {
  Job job = matmulJob(compile("matmul.c", ""));
  job.mode = Mode::Evaluate;
  job.time.cache = Cache::Warm;
  job.time.threads = 1;
  Verdict verdict = judge(job);
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_EQ(verdict.timing.cache, Cache::Warm);
  EXPECT_EQ(verdict.timing.threads, 1);
}
