//===- AdmissionTimesTest.cpp - A first measurement of each sample --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdmissionFixture.h"

using namespace fastk;
using testing::HasSubstr;
using worker::Status;

namespace {
class AdmissionTimesTest : public AdmissionTest {
protected:
  families::Evidence admitted() {
    EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Done);
    return llvm::cantFail(families::readEvidence(options.folder));
  }
  /// Answers timed requests, and those that are not.
  void answerTimed(const std::function<worker::Verdict()> &timed) {
    judge.answer = [=](const EvaluationRequest &request) {
      return request.timesBriefly ? timed() : ScriptedJudge::right();
    };
  }
};
} // namespace

TEST_F(AdmissionTimesTest, TheFirstInstanceOfASampleIsTimed) {
  // Half of them are faster, half are slower.
  bool isFast = false;
  answerTimed([&isFast] {
    isFast = !isFast;
    return isFast ? ScriptedJudge::timed(2000, 16000)
                  : ScriptedJudge::timed(8000, 4000);
  });
  families::Evidence read = admitted();
  EXPECT_EQ(judge.asked, 80u);
  EXPECT_EQ(read.timed(), 60u);
  EXPECT_NEAR(read.meanRatio(), 2, 1e-6);
  EXPECT_EQ(describeSpeedup(read), "2.00x");
  ASSERT_TRUE(read.instances[0].times);
  EXPECT_EQ(read.instances[0].times->instanceNs, 2000);
  EXPECT_EQ(read.instances[0].times->defaultNs, 16000);
  EXPECT_EQ(read.instances[0].times->ratio, 8);
  EXPECT_FALSE(read.instances[0].times->belowResolution);
  // The second instance of the same sample.
  EXPECT_FALSE(read.instances[1].times);
  // A slow one is admitted as well.
  ASSERT_TRUE(read.instances[2].times);
  EXPECT_EQ(read.instances[2].times->ratio, 0.5);
  EXPECT_THAT(said, HasSubstr("; 2.00 times the default lowering's speed, the "
                              "mean of 60 that were timed"));
}

TEST_F(AdmissionTimesTest, WithoutTimesItIsAdmittedAsWell) {
  families::Evidence read = admitted();
  EXPECT_EQ(read.timed(), 0u);
  EXPECT_EQ(read.meanRatio(), 0);
  EXPECT_EQ(describeSpeedup(read), "-");
  EXPECT_EQ(evidence().find("\"times\""), std::string::npos);
  EXPECT_EQ(said.find("default lowering"), std::string::npos);
}

TEST_F(AdmissionTimesTest, WhatWasDisturbedIsNoMeasurement) {
  answerTimed([] {
    worker::Verdict verdict = ScriptedJudge::timed(1000, 2000);
    verdict.timing.tooBusy = true;
    return verdict;
  });
  EXPECT_EQ(admitted().timed(), 0u);
}

TEST_F(AdmissionTimesTest, WhatIsBelowTheResolutionSaysSo) {
  answerTimed([] {
    worker::Verdict verdict = ScriptedJudge::timed(1000, 1100);
    verdict.timing.belowResolution = true;
    return verdict;
  });
  families::Evidence read = admitted();
  ASSERT_TRUE(read.instances[0].times);
  EXPECT_TRUE(read.instances[0].times->belowResolution);
}

TEST_F(AdmissionTimesTest, WhatFailsWhenTimedIsJudgedWithoutTimes) {
  const Status statuses[] = {Status::Error,   Status::Refused,
                             Status::Timeout, Status::Impossible,
                             Status::Memory,  Status::Slow};
  size_t timed = 0;
  answerTimed([&] {
    return ScriptedJudge::failed(statuses[timed++ % std::size(statuses)]);
  });
  families::Evidence read = admitted();
  EXPECT_EQ(timed, 60u);
  EXPECT_EQ(judge.asked, 140u);
  EXPECT_EQ(read.instances.size(), 80u);
  EXPECT_EQ(read.timed(), 0u);
}

TEST_F(AdmissionTimesTest, WrongResultsOfTimedCallsRefuse) {
  bool isWrong = false;
  answerTimed([&] {
    isWrong = !isWrong;
    return ScriptedJudge::failed(isWrong ? Status::Wrong : Status::Crash);
  });
  EXPECT_EQ(llvm::cantFail(admit()), AdmitEnd::Refused);
  EXPECT_EQ(judge.asked, 80u);
  EXPECT_THAT(said, HasSubstr("60 of 80 instances are not right"));
}
