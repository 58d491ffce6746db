//===- PhasesTest.cpp - The seconds of phases add up ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "Clock.h"
#include "WorkerHarness.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace fastk::worker;

static void spin(double seconds) {
  uint64_t begin = clockNs();
  while (double(clockNs() - begin) * 1e-9 < seconds) {
  }
}

TEST(Phases, InnerOnesAreTakenOutOfOuterOnes) {
  uint64_t begin = clockNs();
  std::vector<PhaseTime> phases;
  {
    PhaseLog log;
    for (int i = 0; i < 2; ++i) {
      Phase outer("outer");
      spin(0.002);
      {
        Phase inner("inner");
        spin(0.004);
        Phase::wasSpentOn("part", 0.001);
        Phase::wasSpentBeside("elsewhere", 100);
      }
    }
    phases = log.take();
  }
  double wall = double(clockNs() - begin) * 1e-9, sum = 0;
  ASSERT_EQ(phases.size(), 5u);
  const char *names[] = {"other", "outer", "inner", "part", "elsewhere"};
  double least[] = {0, 0.004, 0.006, 0.002, 200};
  int64_t counts[] = {1, 2, 2, 2, 2};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(phases[i].name, names[i]);
    EXPECT_EQ(phases[i].count, counts[i]) << names[i];
    EXPECT_GE(phases[i].seconds, least[i] * 0.999) << names[i];
    EXPECT_EQ(phases[i].isBeside, i == 4);
    if (i < 4)
      sum += phases[i].seconds;
  }
  EXPECT_GE(sum, 0.012);
  EXPECT_LE(sum, wall);
}

TEST(Phases, WithoutALogNothingHappens) {
  Phase phase("nobody asks");
  Phase::wasSpentOn("part", 1);
  PhaseLog log;
  EXPECT_EQ(log.take().size(), 1u);
}

TEST(Phases, ThoseOfAVerdictAreItsSeconds) {
  Job job = test::matmulJob(test::compile("matmul.c", ""));
  std::set<std::string> names;
  // Once in some times no other program comes between the two clocks' ends.
  bool isWhole = false;
  double sum = 0, wall = 0;
  for (int attempt = 0; attempt < 5 && !isWhole; ++attempt) {
    Verdict verdict = test::judge(job);
    wall = verdict.resources.wallSeconds;
    sum = 0;
    for (const PhaseTime &phase : verdict.phases) {
      names.insert(phase.name);
      if (!phase.isBeside)
        sum += phase.seconds;
    }
    isWhole = std::fabs(sum - wall) <= 1e-3 + 0.01 * wall;
  }
  EXPECT_TRUE(isWhole) << sum << " s of " << wall << " s";
  for (const char *name : {"oracle", "baseline", "candidate", "draw", "judge"})
    EXPECT_EQ(names.count(name), 1u) << name;
}
