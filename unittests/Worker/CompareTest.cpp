//===- CompareTest.cpp - A wrong oracle is found, a right one is not ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is a device's oracle in these tests is a second program of the host.
//
//===----------------------------------------------------------------------===//

#include "Judge/OracleAgreement.h"
#include "NeedsGpu.h"
#include "WorkerHarness.h"
#include "fastk/Cuda/QueryDevice.h"
#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

using namespace fastk::worker;
using namespace fastk::worker::test;

/// Of the oracles of \p job, its own as the host's and \p device's.
static Job comparison(const Job &job, const std::string &device) {
  Job result;
  result.id = "compare";
  result.mode = Mode::Compare;
  result.inputs = job.inputs;
  result.outputs = job.outputs;
  result.kind = job.kind;
  result.reductionLength = job.reductionLength;
  result.oracle.path = device;
  result.hostOracle = job.oracle;
  result.hostCondition = job.condition;
  return result;
}

static Job longProduct() {
  Job job = matmulJob("");
  job.reductionLength = 8192;
  job.inputs[0].shape = {24, 8192};
  job.inputs[1].shape = {8192, 16};
  job.outputs[0].shape = {24, 16};
  job.oracle.path = compile("product.c", "-DT=double");
  job.condition = Program();
  job.condition->path = compile("product.c", "-DMETHOD=CONDITION -DT=double");
  return job;
}

static void expectStatus(const Job &job, Status status, const char *reason) {
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, status) << explain(verdict);
  EXPECT_NE(verdict.reason.find(reason), std::string::npos) << explain(verdict);
}

TEST(Compare, AnotherOrderAgrees) {
  Job job = longProduct();
  expectStatus(comparison(job, job.oracle.path), Status::OK,
               "both oracles agree on");
  expectStatus(
      comparison(matmulJob(""),
                 compile("matmul.c", "-DMETHOD=REVERSED "
                                     "-DOUT=double -fno-signed-zeros "
                                     "-fno-trapping-math -fassociative-math")),
      Status::OK, "both oracles agree on");
  for (const char *op : {"SOFTMAX", "NORM"})
    expectStatus(
        comparison(rowwiseJob(op, ""),
                   compile("rowwise.c",
                           std::string("-fno-signed-zeros -fno-trapping-math "
                                       "-fassociative-math -DT=double "
                                       "-DOP=") +
                               op)),
        Status::OK, "both oracles agree on");
}

/// A program in f32 is within every kernel's bound, and no oracle.
TEST(Compare, ArithmeticInSinglePrecisionIsFound) {
  expectStatus(
      comparison(longProduct(),
                 compile("product.c", "-DMETHOD=SEQUENTIAL -DT=double")),
      Status::Disagreement, "than arithmetic in f64 explains");
}

TEST(Compare, AnotherResultIsFound) {
  // An add whose second operand is ignored.
  Job job = elementwiseJob("ADD", "");
  Job wrong =
      comparison(job, compile("elementwise.c", "-DOP=IGNORES -DT=double"));
  wrong.seed = 4711;
  Verdict verdict = judge(wrong);
  EXPECT_EQ(verdict.status, Status::Disagreement) << explain(verdict);
  EXPECT_NE(verdict.reason.find("on normal, result 0: "), std::string::npos)
      << explain(verdict);
  EXPECT_NE(verdict.reason.find(" on the device and "), std::string::npos);
  EXPECT_EQ(verdict.audit.seed, 4711u);
  // The same draws, the same elements.
  EXPECT_EQ(judge(wrong).reason, verdict.reason);
  // Drawn anew without.
  wrong.seed.reset();
  EXPECT_NE(judge(wrong).audit.seed, 4711u);
}

TEST(Compare, IntegersAreComparedByElements) {
  Job job = elementwiseJob("INT", "");
  expectStatus(comparison(job, compile("elementwise.c", "-DOP=INT")),
               Status::OK, "");
  // One element in 5000 may lie at an edge.
  expectStatus(comparison(job, compile("elementwise.c", "-DOP=INT -DWRONG=17")),
               Status::OK, "");
  Job other = comparison(job, compile("elementwise.c", "-DOP=INT"));
  other.hostOracle->path = compile("elementwise.c", "-DOP=INT -DWRONG=i");
  expectStatus(other, Status::Disagreement, "differ by more than nothing");
}

/// What does not run is no disagreement.
TEST(Compare, WhatCannotBeComparedIsAnError) {
  Job job = comparison(elementwiseJob("ADD", ""),
                       compile("elementwise.c", "-DOP=ADD -DT=double"));
  job.hostOracle->path = "/nowhere/oracle.so";
  expectStatus(job, Status::Error, "the host's oracle: ");
}

/// Nor is it one, or a failure of the machine, where everything overflows.
TEST(Compare, WhereNothingCanBeAskedTheWorkloadIsUnfit) {
  Job job = comparison(elementwiseJob("ADD", ""),
                       compile("elementwise.c", "-DOP=ADD -DT=double"));
  job.hostCondition = Program();
  job.hostCondition->path =
      compile("elementwise.c", "-DOP=OVERFLOWS -DT=double");
  expectStatus(job, Status::Unfit, "of no element can anything be asked");
}

static const char text[] = R"({
  "format": 1, "id": "x", "mode": "compare", "device": "cuda",
  "inputs": [{"type": "f32", "shape": [2, 3]}],
  "outputs": [{"type": "f32", "shape": [2, 3]}],
  "programs": {"oracle": {"code": "ptx", "path": "o",
                 "plan": {"format": 1, "steps": [
                   {"launch": "k", "grid": [1], "block": [32], "arguments": ["in0", "out0"]}]}},
               "host_oracle": {"path": "h"}, "host_condition": {"path": "c"}},
  "kind": "elementwise", "seed": 7})";

TEST(Compare, JobsSurviveBeingWritten) {
  std::string error;
  std::optional<Job> job = parseJob(text, error);
  ASSERT_TRUE(job) << error;
  EXPECT_EQ(job->mode, Mode::Compare);
  ASSERT_TRUE(job->hostOracle && job->hostCondition);
  EXPECT_EQ(job->hostOracle->path, "h");
  EXPECT_EQ(job->seed, 7);
  std::optional<Job> again = parseJob(toJSON(*job), error);
  ASSERT_TRUE(again) << error;
  EXPECT_EQ(toJSON(*again), toJSON(*job));
}

TEST(Compare, JobsOfOtherModesHaveNoHostOracle) {
  auto errorOf = [](std::string changed, const std::string &from,
                    const std::string &to) {
    changed.replace(changed.find(from), from.size(), to);
    std::string error;
    EXPECT_FALSE(parseJob(changed, error));
    return error;
  };
  EXPECT_NE(errorOf(text, "\"compare\"", "\"validate\"").find("baseline"),
            std::string::npos);
  EXPECT_NE(
      errorOf(text, "\"host_oracle\"", "\"baseline\"").find("host_oracle"),
      std::string::npos);
}

/// The edges of results that jump, and what a bug looks like.
TEST(Compare, OnlyWhatIsCertainIsADisagreement) {
  Job job = elementwiseJob("ADD", "");
  constexpr size_t count = 5000;
  job.outputs[0].shape = {int64_t(count)};
  std::vector<double> host(count, 1), device(count, 1), condition(count, 4);
  auto agrees = [&](bool judged, Distribution law = Distribution::Normal) {
    return compareResults(job, 0, law,
                          {device.data(), host.data(),
                           judged ? condition.data() : nullptr})
        .agrees;
  };
  EXPECT_TRUE(agrees(true) && agrees(false));
  // The last places of f64.
  for (size_t i = 0; i < count; ++i)
    device[i] = 1 + 0x1p-50;
  EXPECT_TRUE(agrees(true) && agrees(false));
  // Those of f32, in all elements.
  for (size_t i = 0; i < count; ++i)
    device[i] = 1 + 0x1p-23;
  EXPECT_FALSE(agrees(true));
  // A jump whose condition tells of it, in a few.
  std::fill(device.begin(), device.end(), 1);
  device[17] = 2;
  EXPECT_FALSE(agrees(true));
  EXPECT_TRUE(agrees(false));
  condition[17] = 0x1p24;
  EXPECT_TRUE(agrees(true));
  // Of what overflows on the way nothing is asked.
  device[17] = NAN;
  EXPECT_FALSE(agrees(true));
  condition[17] = INFINITY;
  EXPECT_TRUE(agrees(true));
  // Without conditions half of the elements are no edge.
  std::fill(device.begin(), device.begin() + count / 2, 1.5);
  EXPECT_FALSE(agrees(false));
  EXPECT_TRUE(agrees(false, Distribution::Pareto));
}

/// A GPU's oracle, right and wrong: PTX that adds two operands to f64, or two
/// to their sum.
static std::string additionInPTX(bool isWrong) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry add(.param .u64 x, .param .u64 z, .param .u64 y) {\n"
         ".reg .u64 %a<6>;\n.reg .u32 %r<4>;\n.reg .f32 %f<3>;\n"
         ".reg .f64 %d<4>;\n.reg .pred %p;\n"
         "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"
         "mad.lo.u32 %r1, %r1, 128, %r2;\nsetp.ge.u32 %p, %r1, 5000;\n"
         "@%p ret;\nld.param.u64 %a1, [x];\nld.param.u64 %a2, [z];\n"
         "ld.param.u64 %a3, [y];\nmul.wide.u32 %a4, %r1, 4;\n"
         "mul.wide.u32 %a5, %r1, 8;\nadd.u64 %a1, %a1, %a4;\n"
         "add.u64 %a2, %a2, %a4;\nadd.u64 %a3, %a3, %a5;\n"
         "ld.global.f32 %f1, [%a1];\nld.global.f32 %f2, [%a2];\n"
         "cvt.f64.f32 %d1, %f1;\ncvt.f64.f32 %d2, %f2;\n"
         "add.f64 %d3, %d1, %d2;\n" +
         std::string(isWrong ? "add.f64 %d3, %d3, 0d4000000000000000;\n" : "") +
         "st.global.f64 [%a3], %d3;\nret;\n}\n";
}

TEST(Compare, OraclesOfAGpu) {
  NEEDS_GPU();
  for (bool isWrong : {false, true}) {
    std::string path = ::testing::TempDir() + "fastk-compare.ptx";
    std::ofstream(path) << additionInPTX(isWrong);
    Job job = comparison(elementwiseJob("ADD", ""), path);
    job.device = DeviceKind::Cuda;
    job.oracle.code = Code::PTX;
    Launch launch;
    launch.kernel = "add";
    launch.grid = {40, 1, 1};
    launch.block = {128, 1, 1};
    launch.arguments = {BufferRef{BufferRef::Space::Input, 0, 0},
                        BufferRef{BufferRef::Space::Input, 1, 0},
                        BufferRef{BufferRef::Space::Output, 0, 0}};
    job.oracle.plan.emplace();
    job.oracle.plan->steps = {launch};
    expectStatus(job, isWrong ? Status::Disagreement : Status::OK,
                 isWrong ? "on the device and" : "both oracles agree on");
    std::remove(path.c_str());
  }
}
