//===- AdmitFamilyErrorsTest.cpp - Admissions that cannot be made ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdmissionFixture.h"

using namespace fastk;
using testing::AllOf;
using testing::HasSubstr;

namespace {
using AdmitFamilyErrorsTest = AdmissionTest;
} // namespace

TEST_F(AdmitFamilyErrorsTest, AFamilyThatTakesNothing) {
  writeFamily("M == 12345");
  EXPECT_THAT(problemOfAdmission(),
              AllOf(HasSubstr("none is one that it takes: it is a toy "
                              "(M == 12345)"),
                    HasSubstr("widen its requirements")));
}

TEST_F(AdmitFamilyErrorsTest, AJudgeThatFailsIsAskedAgainAndThenTold) {
  int repeated = 0;
  judge.answer = [&](const EvaluationRequest &request) {
    repeated = std::max(repeated, request.failures);
    return ScriptedJudge::failed(worker::Status::Error);
  };
  EXPECT_THAT(problemOfAdmission(),
              AllOf(HasSubstr("sample 0 of seed 0 ("),
                    HasSubstr("could not be judged, through no fault of the "
                              "family: as told")));
  EXPECT_EQ(judge.asked, 3u);
  EXPECT_EQ(repeated, 2);
  EXPECT_EQ(evidence(), "");
}

/// It would go on for ever.
TEST_F(AdmitFamilyErrorsTest, AFamilyNoneOfWhoseWorkloadsCanBeJudged) {
  judge.answer = [](const EvaluationRequest &) {
    return ScriptedJudge::failed(worker::Status::Unfit);
  };
  EXPECT_THAT(problemOfAdmission(),
              AllOf(HasSubstr("none of 200 samples in a row can be judged"),
                    HasSubstr("for this reason: as told;")));
  EXPECT_EQ(judge.asked, 200u);
  EXPECT_EQ(evidence(), "");
}

TEST_F(AdmitFamilyErrorsTest, EvidenceIsOfOneMachine) {
  judge.answer = [&](const EvaluationRequest &) {
    worker::Verdict verdict = ScriptedJudge::right();
    if (judge.asked == 5)
      verdict.gpu->compiler = "12.9";
    return verdict;
  };
  EXPECT_THAT(problemOfAdmission(),
              AllOf(HasSubstr("was judged on NVIDIA H200 with NVRTC 12.9, and "
                              "others on NVIDIA H200 with NVRTC 13.0"),
                    HasSubstr("let one answer all")));
}

TEST_F(AdmitFamilyErrorsTest, AVerdictSaysWhatCompiled) {
  judge.answer = [&](const EvaluationRequest &) {
    worker::Verdict verdict = ScriptedJudge::right();
    verdict.gpu.reset();
    return verdict;
  };
  EXPECT_THAT(problemOfAdmission(),
              HasSubstr("its verdict does not say on which GPU"));
}

TEST_F(AdmitFamilyErrorsTest, AVerdictIsOfTheSamePrelude) {
  for (const char *prelude : {"", "another"}) {
    judge.answer = [&](const EvaluationRequest &) {
      worker::Verdict verdict = ScriptedJudge::right();
      verdict.gpu->prelude = prelude;
      return verdict;
    };
    EXPECT_THAT(problemOfAdmission(),
                AllOf(HasSubstr("sample 0 of seed 0 ("),
                      HasSubstr("of a worker with another prelude than this "
                                "fastk's (docs/cuda.md), or of an earlier one"),
                      HasSubstr("take an empty spool")));
    EXPECT_EQ(evidence(), "");
  }
}
