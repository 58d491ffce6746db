//===- HonestTest.cpp - Right kernels are accepted, in their class ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerHarness.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace fastk::worker;
using namespace fastk::worker::test;

static void expectClass(const Job &job, Precision precision) {
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_EQ(verdict.precision, precision) << explain(verdict);
}

static void expectWrong(const Job &job) {
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
}

/// Whatever the order of summation.
TEST(Honest, MatmulInAnyOrderIsIeee) {
  for (const char *method :
       {"NAIVE", "BLOCKED", "KAHAN", "REVERSED", "PARALLEL", "WORKSPACE"}) {
    SCOPED_TRACE(method);
    expectClass(
        matmulJob(compile("matmul.c", std::string("-DMETHOD=") + method)),
        Precision::IEEE);
  }
}

/// A baseline more exact than the candidate must not make it fail, nor the
/// other way round.
TEST(Honest, ExactBaselineAcceptsPlainSum) {
  Job job = matmulJob(compile("matmul.c", ""));
  job.baseline.path = compile("matmul.c", "-DMETHOD=KAHAN");
  expectClass(job, Precision::IEEE);
}

TEST(Honest, FusedMultiplyAddIsIeee) {
  expectClass(matmulJob(compile("matmul.c", "-ffp-contract=fast -mfma")),
              Precision::IEEE);
}

TEST(Honest, ReducedPrecisionGetsItsClass) {
  Job tf32 = matmulJob(compile("matmul.c", "-DMETHOD=TF32"));
  expectWrong(tf32);
  tf32.acceptedPrecision = Precision::TF32;
  expectClass(tf32, Precision::TF32);

  Job half = matmulJob(compile("matmul.c", "-DMETHOD=HALF"));
  expectWrong(half);
  half.acceptedPrecision = Precision::TF32;
  expectWrong(half);
  half.acceptedPrecision = Precision::Half;
  expectClass(half, Precision::Half);
  // No class forgives a NaN, whatever the magnitudes.
  half.candidate.path = compile("matmul.c", "-DMETHOD=HALF -DNAN_ABOVE=300");
  Verdict verdict = judge(half);
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
  EXPECT_NE(verdict.reason.find("NaN"), std::string::npos) << explain(verdict);

  Job bfloat = matmulJob(compile("matmul.c", "-DMETHOD=BF16"));
  expectWrong(bfloat);
  bfloat.acceptedPrecision = Precision::TF32;
  expectWrong(bfloat);
}

/// Among hundreds of timed calls there are some on which the op is much worse
/// conditioned than on the first trial: they are judged by what they are like.
TEST(Honest, TimedCallsOnHardInputs) {
  Job job = reluNormJob(compile("relu_norm.c", "-DREVERSED"));
  job.mode = Mode::Evaluate;
  job.time.minSamples = 1500;
  job.time.maxSeconds = 20;
  job.time.screenRatio = 0;
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_EQ(verdict.precision, Precision::IEEE) << explain(verdict);

  job.candidate.path = compile("relu_norm.c", "-DSKIPPED");
  verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
}

/// The same for draws in which one operand alone is another: one judgement in
/// twenty refused it there.
TEST(Honest, RedrawnOperandsOnHardInputs) {
  Job job = reluNormJob(compile("relu_norm.c", "-DREVERSED"));
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    expectClass(job, Precision::IEEE);
  }
}

TEST(Honest, Softmax) {
  expectClass(rowwiseJob("SOFTMAX", compile("rowwise.c", "-DOP=SOFTMAX")),
              Precision::IEEE);
  expectClass(rowwiseJob("SOFTMAX",
                         compile("rowwise.c", "-DOP=SOFTMAX -DVARIANT=ONLINE")),
              Precision::IEEE);
}

TEST(Honest, SoftmaxWithoutMaximumOverflows) {
  expectWrong(rowwiseJob("SOFTMAX",
                         compile("rowwise.c", "-DOP=SOFTMAX -DVARIANT=NOMAX")));
}

TEST(Honest, Attention) {
  expectClass(attentionJob(compile("attention.c", "")), Precision::IEEE);
  Job job = attentionJob(compile("attention.c", "-DVARIANT=ONLINE"));
  expectClass(job, Precision::IEEE);
  Verdict verdict = judge(job);
  EXPECT_NE(std::find(verdict.audit.distributions.begin(),
                      verdict.audit.distributions.end(), "query_key_80"),
            verdict.audit.distributions.end());
}

/// Logits around 80 and more: exp of them overflows; whole rows around -80 and
/// less: nothing is left of them, unless the maximum is subtracted.
TEST(Honest, AttentionNeedsTheMaximum) {
  for (const char *variant : {"NOMAX", "FROM_ZERO"}) {
    Verdict verdict = judge(attentionJob(
        compile("attention.c", std::string("-DVARIANT=") + variant)));
    EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
    EXPECT_EQ(verdict.errors.front().precision, Precision::IEEE);
    EXPECT_EQ(verdict.errors.back().distribution, "query_key_80")
        << explain(verdict);
  }
}

TEST(Honest, LayerNorm) {
  expectClass(rowwiseJob("NORM", compile("rowwise.c", "-DOP=NORM")),
              Precision::IEEE);
  expectClass(
      rowwiseJob("NORM", compile("rowwise.c", "-DOP=NORM -DVARIANT=WELFORD")),
      Precision::IEEE);
}

/// E[x^2] - m^2 is right on N(0,1) and nonsense on N(1000, 0.1).
TEST(Honest, LayerNormByMomentsCancels) {
  Verdict verdict = judge(
      rowwiseJob("NORM", compile("rowwise.c", "-DOP=NORM -DVARIANT=MOMENTS")));
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
  // Right where the mean is small.
  EXPECT_EQ(verdict.errors.front().precision, Precision::IEEE);
  EXPECT_NE(verdict.errors.back().distribution, "normal");
}

TEST(Honest, WorthlessRowOperations) {
  for (const char *variant : {"ZEROS", "MEAN"})
    expectWrong(rowwiseJob(
        "SOFTMAX", compile("rowwise.c",
                           std::string("-DOP=SOFTMAX -DVARIANT=") + variant)));
  expectWrong(
      rowwiseJob("NORM", compile("rowwise.c", "-DOP=NORM -DVARIANT=COPY")));
}

TEST(Honest, Elementwise) {
  expectClass(elementwiseJob("GELU", compile("elementwise.c", "-DOP=GELU")),
              Precision::IEEE);
  expectClass(elementwiseJob("ADD", compile("elementwise.c", "-DOP=ADD")),
              Precision::IEEE);
  expectClass(elementwiseJob("HALFADD", compile("elementwise.c",
                                                "-DT=_Float16 -DOP=HALFADD")),
              Precision::IEEE);
}

TEST(Honest, IntegersMustBeEqual) {
  expectClass(elementwiseJob("INT", compile("elementwise.c", "-DOP=INT")),
              Precision::IEEE);
  expectWrong(
      elementwiseJob("INT", compile("elementwise.c", "-DOP=INT -DWRONG=4999")));
}

TEST(Honest, ReductionsInLanes) {
  expectClass(reduceJob(compile("reduce.c", "-DLANES")), Precision::IEEE);
  expectWrong(reduceJob(compile("reduce.c", "-DSAMPLED")));
}

/// A workload whose operand does not matter cannot be judged.
TEST(Honest, IgnoredOperandIsUnfit) {
  Verdict verdict = judge(
      elementwiseJob("IGNORES", compile("elementwise.c", "-DOP=IGNORES")));
  EXPECT_EQ(verdict.status, Status::Unfit) << explain(verdict);
  EXPECT_NE(verdict.reason.find("operand 1"), std::string::npos);
}

/// Where a copy of the input is right on all inputs, a copy proves nothing.
TEST(Honest, CopyIsUnfit) {
  Job job = elementwiseJob("ADD", compile("elementwise.c", "-DOP=ADD"));
  job.inputs[1].range = {{0, 1e-30}};
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Unfit) << explain(verdict);
}

/// The oracle and the baseline must be the same function. Where they are not no
/// machine has failed: it is so on every run.
TEST(Honest, WrongBaselineIsUnfit) {
  Job job = reduceJob(compile("reduce.c", ""));
  job.baseline.path = compile("reduce.c", "-DSAMPLED");
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Unfit) << explain(verdict);
  EXPECT_NE(verdict.reason.find("the baseline disagrees with the oracle"),
            std::string::npos)
      << explain(verdict);
}

TEST(Honest, EveryCompetitorIsRejected) {
  for (const Job &job :
       {matmulJob(compile("matmul.c", "")),
        rowwiseJob("SOFTMAX", compile("rowwise.c", "-DOP=SOFTMAX")),
        rowwiseJob("NORM", compile("rowwise.c", "-DOP=NORM")),
        elementwiseJob("GELU", compile("elementwise.c", "-DOP=GELU")),
        reduceJob(compile("reduce.c", ""))}) {
    Verdict verdict = judge(job);
    EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
    EXPECT_GE(verdict.competitors.size(), 7u);
    for (const Competitor &competitor : verdict.competitors)
      EXPECT_TRUE(competitor.rejected)
          << toString(job.kind) << ": " << competitor.name;
  }
}

/// False alarms are worse than none: fresh seeds, many times.
TEST(Honest, NoFalseAlarms) {
  Job job = reduceJob(compile("reduce.c", "-DLANES"));
  job.validate.trials = 20;
  job.validate.competitors = false;
  for (int i = 0; i < 10; ++i)
    expectClass(job, Precision::IEEE);
}
