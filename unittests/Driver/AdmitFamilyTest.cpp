//===- AdmitFamilyTest.cpp - Families are admitted on evidence ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdmissionFixture.h"
#include <set>

using namespace fastk;
using testing::HasSubstr;

namespace {
using AdmitFamilyTest = AdmissionTest;
} // namespace

TEST_F(AdmitFamilyTest, EvidenceNamesEachInstance) {
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Done);
  families::Evidence read =
      llvm::cantFail(families::readEvidence(options.folder));
  // Every third workload has a second instance, with other choices.
  EXPECT_EQ(read.samples().size(), 60u);
  ASSERT_EQ(read.instances.size(), 80u);
  EXPECT_EQ(judge.asked, 80u);
  EXPECT_EQ(read.instances[0].sample, read.instances[1].sample);
  EXPECT_NE(read.instances[0].program, read.instances[1].program);
  EXPECT_NE(read.instances[1].sample, read.instances[2].sample);
  std::set<std::string> keys;
  for (const auto &each : read.instances) {
    keys.insert(each.workload);
    EXPECT_EQ(each.precision, "ieee");
    EXPECT_THAT(each.about, HasSubstr("; A "));
  }
  EXPECT_EQ(keys.size(), 60u);
  EXPECT_EQ(read.device, "NVIDIA H200");
  EXPECT_EQ(read.compiler, "13.0");
  EXPECT_EQ(read.driver, "13.1");
  EXPECT_EQ(read.target, "cuda:sm_90a");
  EXPECT_THAT(said, HasSubstr("is admitted: 80 instances of 60 workloads are "
                              "right on NVIDIA H200, with NVRTC 13.0"));
}

TEST_F(AdmitFamilyTest, TheSameSeedGivesTheSameEvidence) {
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Done);
  std::string first = evidence();
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Done);
  EXPECT_EQ(evidence(), first);
  options.seed = 1;
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Done);
  EXPECT_NE(evidence(), first);
}

TEST_F(AdmitFamilyTest, OnlyWorkloadsThatItTakesAreSampled) {
  writeFamily("M == 1 && K > 4000");
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Done);
  families::Evidence read =
      llvm::cantFail(families::readEvidence(options.folder));
  EXPECT_EQ(read.samples().size(), 60u);
  EXPECT_GT(read.samples().back(), 500u);
}

TEST_F(AdmitFamilyTest, ALooserClassIsAdmittedByWhatItAloneServes) {
  writeFamily("A_BITS == 16 || ACCEPTS_TF32");
  options.precision = Precision::tf32;
  judge.answer = [&](const EvaluationRequest &asked) {
    EXPECT_EQ(asked.acceptedPrecision, Precision::tf32);
    worker::Verdict verdict = ScriptedJudge::right();
    verdict.precision = worker::Precision::TF32;
    return verdict;
  };
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Done);
  EXPECT_THAT(said, HasSubstr("is admitted in class tf32: 80 instances"));
  families::Evidence read =
      llvm::cantFail(families::readEvidence(options.folder, "tf32"));
  EXPECT_EQ(read.samples().size(), 60u);
  for (const auto &each : read.instances) {
    EXPECT_EQ(each.precision, "tf32");
    EXPECT_THAT(each.about, HasSubstr(" f32"));
  }
  families::Family family =
      llvm::cantFail(families::readFamily(options.folder));
  auto stands = [&](Precision accepts) {
    auto found =
        standingEvidence(family, accepts, "13.0", &session.getContext());
    return found ? "" : llvm::toString(found.takeError());
  };
  EXPECT_EQ(stands(Precision::tf32), "");
  EXPECT_THAT(stands(Precision::ieee), HasSubstr("not admitted"));
}

TEST_F(AdmitFamilyTest, WhatIsServedAnywayIsNoEvidenceOfALooserClass) {
  options.precision = Precision::tf32;
  EXPECT_THAT(problemOfAdmission(),
              HasSubstr("none is one that it takes: it is served in class "
                        "ieee, and is evidence of that"));
}

TEST_F(AdmitFamilyTest, OneWrongInstanceRefuses) {
  judge.answer = [&](const EvaluationRequest &) {
    return judge.asked == 41 ? ScriptedJudge::failed(worker::Status::Crash)
                             : ScriptedJudge::right();
  };
  write("evidence.json", "of before");
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Refused);
  EXPECT_EQ(evidence(), "");
  // The others are judged all the same.
  EXPECT_EQ(judge.asked, 80u);
  EXPECT_THAT(said, HasSubstr("toy is not admitted: 1 of 80 instances are not "
                              "right\n  sample 55 of seed 0 ("));
  EXPECT_THAT(said, HasSubstr(") with TILE 16: crash: as told\n"));
}

TEST_F(AdmitFamilyTest, PendingAnswersAreNoEvidence) {
  judge.answer = [&](const EvaluationRequest &) {
    return judge.asked > 10 ? std::optional(ScriptedJudge::right())
                            : std::nullopt;
  };
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Pending);
  EXPECT_EQ(evidence(), "");
  EXPECT_THAT(said, HasSubstr("10 pending, 70 answered"));
  EXPECT_THAT(said, HasSubstr("answer with `a judge`"));
}

TEST_F(AdmitFamilyTest, WhatCannotBeToldApartIsReplaced) {
  std::string unfit;
  judge.answer = [&](const EvaluationRequest &request) {
    std::string key = LoweringOp(request.workload).getKey().str();
    if (judge.asked == 1)
      unfit = key;
    return key == unfit ? ScriptedJudge::failed(worker::Status::Unfit)
                        : ScriptedJudge::right();
  };
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Done);
  families::Evidence read =
      llvm::cantFail(families::readEvidence(options.folder));
  EXPECT_EQ(read.samples().size(), 60u);
  // Samples 1 and 2 are of types that it does not take.
  EXPECT_EQ(read.samples().front(), 3u);
  EXPECT_THAT(said, HasSubstr(") is left out: as told"));
}

TEST_F(AdmitFamilyTest, AStopEndsIt) {
  request.stopRequested = [&] { return judge.asked > 5; };
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Interrupted);
  EXPECT_LT(judge.asked, 10u);
  EXPECT_EQ(evidence(), "");
}
