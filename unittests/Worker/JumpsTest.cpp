//===- JumpsTest.cpp - Operands on which the baseline is off --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jobs without conditions: where the baseline itself is beyond its bounds by
// bad luck, operands are drawn again, in every trial.
//
//===----------------------------------------------------------------------===//

#include "WorkerHarness.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace fastk::worker;
using namespace fastk::worker::test;

static Job jumpsJob(const std::string &baseline, const std::string &candidate) {
  Job job = elementwiseJob("ADD", compile("jumps.c", candidate));
  job.oracle.path = compile("jumps.c", "-DT=double");
  job.baseline.path = compile("jumps.c", baseline);
  return job;
}

/// What was left out of a law, with the reason; empty where it was drawn.
static std::string leftOut(const Verdict &verdict, const std::string &law) {
  for (const std::string &each : verdict.audit.leftOut)
    if (each.rfind(law + ": ", 0) == 0)
      return each;
  return "";
}

/// One in sixteen sets of operands is such; a job draws about twenty.
TEST(Jumps, OperandsAreDrawnAgain) {
  for (int i = 0; i < 6; ++i) {
    Verdict verdict = judge(jumpsJob("-DODDS=16", "-DODDS=16"));
    EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
    EXPECT_EQ(verdict.precision, Precision::IEEE) << explain(verdict);
  }
}

/// Who is wrong is so on the draws that serve.
TEST(Jumps, WrongProgramsFail) {
  for (const char *wrong :
       {"-DODDS=16 -DWRONG=1e12", "-DODDS=1 -DBEYOND=1e12"}) {
    Verdict verdict = judge(jumpsJob("-DODDS=16", wrong));
    EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
    ASSERT_FALSE(verdict.errors.empty());
    EXPECT_NE(verdict.errors.back().distribution, "normal");
  }
}

/// Where no draw serves nobody is judged, and the verdict says so.
TEST(Jumps, WhatCannotBeDrawnIsNamed) {
  const char *flags = "-DODDS=1 -DBEYOND=1e12";
  Verdict verdict = judge(jumpsJob(flags, flags));
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_NE(leftOut(verdict, "extremes")
                .find("the baseline disagrees with the oracle on 5 draws"),
            std::string::npos)
      << ::testing::PrintToString(verdict.audit.leftOut);
  const auto &drawn = verdict.audit.distributions;
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), "extremes"), 0);
  // All that it does not reach is drawn.
  EXPECT_EQ(leftOut(verdict, "shifted"), "");
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), "shifted"), 1);
}

/// N(0,1) has to serve.
TEST(Jumps, NormalMustBeDrawn) {
  Verdict verdict = judge(jumpsJob("-DODDS=1", "-DODDS=1"));
  EXPECT_EQ(verdict.status, Status::Unfit) << explain(verdict);
  EXPECT_NE(verdict.reason.find("on N(0,1) the baseline disagrees"),
            std::string::npos)
      << explain(verdict);
}
