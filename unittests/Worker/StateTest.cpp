//===- StateTest.cpp - What programs keep, change and assume ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerHarness.h"
#include <gtest/gtest.h>

using namespace fastk::worker;
using namespace fastk::worker::test;

namespace {

struct StateProgram {
  const char *name;
  Mode mode;
  Status status;
  /// ProgramRole of the reason.
  const char *reason;
};

class StateTest : public ::testing::TestWithParam<StateProgram> {};

} // namespace

static Job stateJob(const std::string &name, Mode mode) {
  Job job = matmulJob(compile("state.c", "-march=x86-64-v2 -DSTATE=" + name));
  job.mode = mode;
  job.time.threads = 2;
  job.time.screenRatio = 0;
  // A busy machine: five threads share two processors.
  job.limits.wallSeconds = 10;
  return job;
}

TEST_P(StateTest, IsJudged) {
  const StateProgram &program = GetParam();
  Verdict verdict = judge(stateJob(program.name, program.mode));
  EXPECT_EQ(verdict.status, program.status) << explain(verdict);
  EXPECT_NE(verdict.reason.find(program.reason), std::string::npos)
      << explain(verdict);
}

static const StateProgram programs[] = {
    {"HONEST", Mode::Promote, Status::OK, "right"},
    {"FLUSHES_DENORMALS", Mode::Validate, Status::Wrong, "control word"},
    {"FLUSHES_AND_RESTORES", Mode::Evaluate, Status::OK, "right"},
    {"ROUNDS_DOWN", Mode::Validate, Status::Wrong, "control word"},
    {"X87_PRECISION", Mode::Validate, Status::Wrong, "control word"},
    {"FLUSHES_WHEN_LOADED", Mode::Validate, Status::Refused, "control word"},
    {"THREADS_FLUSH", Mode::Validate, Status::Wrong, "a thread of OpenMP"},
    {"THREADS_RESTORE", Mode::Evaluate, Status::OK, "right"},
    {"STATUS_FLAGS", Mode::Validate, Status::OK, "right"},
    {"HALVES", Mode::Validate, Status::Wrong, "with 1 thread"},
    {"PRIVATE_SCRATCH", Mode::Evaluate, Status::OK, "right"},
    {"SHARES", Mode::Validate, Status::OK, "right"},
    {"STACK_LARGE", Mode::Validate, Status::Crash, "stack"},
    {"STACK_WHOLE", Mode::Validate, Status::Crash, "stack"},
    {"STACK_SMALL", Mode::Validate, Status::OK, "right"},
    {"STACK_OF_WORKERS", Mode::Validate, Status::Crash, "stack"},
    {"STACK_OF_WORKERS_SMALL", Mode::Validate, Status::OK, "right"},
    {"STACK_SKIPPED", Mode::Validate, Status::Crash, "stack"},
    {"ONCE_IN_100", Mode::Promote, Status::Wrong, "fails in run"},
    {"OPERANDS_IN_100", Mode::Promote, Status::Wrong, ""},
    {"ALTERNATES", Mode::Promote, Status::OK, "right"},
    {"BEGINS_AS_FF", Mode::Validate, Status::Wrong, ""},
    {"WORKSPACE_FF", Mode::Validate, Status::Wrong, ""},
    {"WORKSPACE_CLEARED", Mode::Validate, Status::OK, "right"},
};

INSTANTIATE_TEST_SUITE_P(
    All, StateTest, ::testing::ValuesIn(programs),
    [](const ::testing::TestParamInfo<StateProgram> &info) {
      return std::string(info.param.name);
    });

/// Red zones are nobody's to use, whatever is left in them.
TEST(State, CanariesCannotBeRestored) {
  Verdict verdict = judge(elementwiseJob(
      "ADD", compile("elementwise.c", "-DOP=ADD -DOVERRUN=1 -DRESTORED")));
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
  EXPECT_NE(verdict.reason.find("wrote outside result 0"), std::string::npos)
      << explain(verdict);
}

/// What a promotion has looked at.
TEST(State, APromotionJudgesEnoughCalls) {
  Verdict verdict = judge(stateJob("HONEST", Mode::Promote));
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_GE(verdict.audit.repeatedCalls, 700);
  EXPECT_GE(verdict.audit.judgedCalls, 700);
  EXPECT_GT(verdict.audit.judgedCalls, verdict.audit.timedOutputsChecked);
  EXPECT_EQ(verdict.audit.bitwiseDeterministic, true);
  EXPECT_LT(verdict.resources.wallSeconds, 20);
}

/// Another order of summation is right, and told; who wants the same bits gets
/// them.
TEST(State, DeterminismCanBeRequired) {
  Job job = stateJob("ALTERNATES", Mode::Promote);
  job.time.maxSeconds = 0.5;
  Verdict verdict = judge(job);
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_EQ(verdict.audit.bitwiseDeterministic, false);
  for (Mode mode : {Mode::Validate, Mode::Promote}) {
    job.mode = mode;
    job.validate.requireDeterministic = true;
    verdict = judge(job);
    EXPECT_EQ(verdict.status, Status::Refused) << explain(verdict);
    EXPECT_NE(verdict.reason.find("not deterministic"), std::string::npos)
        << explain(verdict);
  }
  job = stateJob("HONEST", Mode::Validate);
  job.validate.requireDeterministic = true;
  verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_EQ(verdict.audit.repeatedCalls, 20);
}

static Job rowsJob(const std::string &flags) {
  Job job = largeJob("");
  job.mode = Mode::Evaluate;
  job.inputs[0].shape = job.outputs[0].shape = {1024, 300};
  job.time.screenRatio = 0;
  job.oracle.path = compile("rows.c", "-DT=double");
  job.baseline.path = compile("rows.c", "");
  job.candidate.path = compile("rows.c", flags);
  return job;
}

/// Work that is kept for operands that do not change is of no use, and found.
TEST(State, WorkIsNotKeptBetweenCalls) {
  Verdict verdict = judge(rowsJob("-DKEEPS"));
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
  EXPECT_NE(verdict.reason.find("kept between calls"), std::string::npos)
      << explain(verdict);
  // A machine that is too busy has no ratio.
  if (verdict.timing.speedupOverBaseline)
    EXPECT_LT(verdict.timing.speedupOverBaseline->median, 1.1);

  verdict = judge(rowsJob(""));
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
}

/// Nor is it where other calls are slow, too.
TEST(State, SlowCallsDoNotHideWhatIsKept) {
  Verdict verdict = judge(rowsJob("-DKEEPS -DFORGETS"));
  if (verdict.timing.speedupOverBaseline)
    EXPECT_LT(verdict.timing.speedupOverBaseline->median, 1.1);
  // Few probes may meet too many of the slow calls; nothing is gained then.
  EXPECT_TRUE(verdict.status == Status::Wrong || verdict.status == Status::OK)
      << explain(verdict);
}
