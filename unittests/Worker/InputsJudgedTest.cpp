//===- InputsJudgedTest.cpp - What is drawn, judged by elements -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a result is right depends on its own condition, or on the rule for NaN
// and infinities.
//
//===----------------------------------------------------------------------===//

#include "WorkerHarness.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace fastk::worker;
using namespace fastk::worker::test;

static std::string method(const char *name) {
  return compile("product.c", std::string("-DMETHOD=") + name);
}

static Job longProduct(const char *name) {
  Job job = matmulJob(method(name));
  job.candidate.workspaceBytes = 0;
  job.reductionLength = 8192;
  job.inputs[0].shape = {24, 8192};
  job.inputs[1].shape = {8192, 16};
  job.outputs[0].shape = {24, 16};
  job.oracle.path = compile("product.c", "-DT=double");
  job.baseline.path = compile("product.c", "");
  job.condition = Program();
  job.condition->path = compile("product.c", "-DMETHOD=CONDITION -DT=double");
  job.nonFinite = NonFinite::Any;
  return job;
}

/// Any order of summation, and three terms of FP16, are `ieee`; an infinity may
/// become NaN in a compensated sum.
TEST(InputsJudged, LongSumsAreIeee) {
  for (const char *name : {"PLAIN", "SEQUENTIAL", "KAHAN", "HALFX3"}) {
    SCOPED_TRACE(name);
    Verdict verdict = judge(longProduct(name));
    EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
    EXPECT_EQ(verdict.precision, Precision::IEEE) << explain(verdict);
    EXPECT_TRUE(verdict.audit.leftOut.empty())
        << ::testing::PrintToString(verdict.audit.leftOut);
    EXPECT_EQ(std::count(verdict.audit.distributions.begin(),
                         verdict.audit.distributions.end(), "nonfinite"),
              1);
  }
}

/// Three terms of BF16 are not, whatever K: the trial of few terms shows it.
TEST(InputsJudged, RoundedOperandsAreFound) {
  Verdict verdict = judge(longProduct("BF16X3"));
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
  ASSERT_FALSE(verdict.errors.empty());
  EXPECT_EQ(verdict.errors.front().precision, Precision::IEEE);
  const std::string &law = verdict.errors.back().distribution;
  EXPECT_TRUE(law == "one_hot" || law == "few_nonzero") << explain(verdict);
}

/// What no NaN reaches stays right.
TEST(InputsJudged, NonfiniteOperandsSpoilNothingElse) {
  Verdict verdict = judge(longProduct("NAN_IS_0"));
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
  ASSERT_FALSE(verdict.errors.empty());
  EXPECT_EQ(verdict.errors.back().distribution, "nonfinite")
      << explain(verdict);
}
