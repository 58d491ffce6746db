//===- JobTest.cpp - Jobs survive being written and read ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/Job.h"
#include <gtest/gtest.h>

using namespace fastk::worker;

static const char minimal[] = R"({
  "format": 1, "id": "x", "mode": "evaluate",
  "inputs": [{"type": "f32", "shape": [2, 3]}],
  "outputs": [{"type": "f16", "shape": []}],
  "programs": {"oracle": {"path": "o"}, "baseline": {"path": "b"},
               "candidate": {"path": "c"}},
  "kind": "reduction"})";

TEST(Job, DefaultsAreTheDocumentedOnes) {
  std::string error;
  std::optional<Job> job = parseJob(minimal, error);
  ASSERT_TRUE(job) << error;
  EXPECT_EQ(job->mode, Mode::Evaluate);
  EXPECT_EQ(job->inputs[0].elements(), 6);
  EXPECT_EQ(job->inputs[0].bytes(), 24);
  EXPECT_EQ(job->inputs[0].role, Role::Data);
  EXPECT_EQ(job->outputs[0].elements(), 1);
  EXPECT_FALSE(job->incumbent);
  EXPECT_EQ(job->reductionLength, 1);
  EXPECT_EQ(job->acceptedPrecision, Precision::IEEE);
  EXPECT_EQ(job->validate.trials, 3);
  EXPECT_TRUE(job->validate.competitors);
  EXPECT_FALSE(job->validate.requireDeterministic);
  EXPECT_FALSE(job->validate.full);
  EXPECT_EQ(job->time.threads, 0);
  EXPECT_EQ(job->time.minSamples, 7);
  EXPECT_EQ(job->time.maxSeconds, 2);
  EXPECT_EQ(job->time.screenRatio, 1.3);
  EXPECT_EQ(job->time.cache, Cache::Cold);
  EXPECT_EQ(job->floorNs, 0);
  EXPECT_EQ(job->sanitizer.when, SanitizerOptions::When::Installed);
  EXPECT_EQ(job->sanitizer.seconds, 60);
  EXPECT_EQ(job->delays.when, SanitizerOptions::When::Installed);
  EXPECT_EQ(job->delays.seconds, 5);
  EXPECT_EQ(job->delays.schedules, 400);
  EXPECT_TRUE(job->delays.rules);
  EXPECT_EQ(job->profile.when, ProfileOptions::When::Never);
  EXPECT_EQ(job->limits.memoryBytes, int64_t(4) << 30);
}

TEST(Job, PromotionAsksForMore) {
  std::string text = minimal, error;
  text.replace(text.find("evaluate"), 8, "promote");
  std::optional<Job> job = parseJob(text, error);
  ASSERT_TRUE(job) << error;
  EXPECT_EQ(job->validate.trials, 10);
  EXPECT_EQ(job->time.maxSeconds, 5);
}

/// A job for a GPU: every program has its code's kind and a plan.
TEST(Job, RoundTripForAGPU) {
  Job job;
  job.id = "gpu";
  job.device = DeviceKind::Cuda;
  job.outputs = {{ElementType::F32, {8}, Role::Data, {}}};
  LaunchPlan plan;
  plan.workspaces = {{4096, true}};
  Launch launch;
  launch.kernel = "k";
  launch.grid = {2, 1, 1};
  launch.arguments = {BufferRef{BufferRef::Space::Output, 0, 0}};
  plan.steps = {launch};
  auto program = [&](const char *path, Code code) {
    Program result;
    result.path = path;
    result.code = code;
    result.plan = plan;
    return result;
  };
  job.oracle = program("oracle.ptx", Code::PTX);
  job.baseline = program("baseline.cubin", Code::Cubin);
  job.candidate = program("candidate.cu", Code::CUDA);
  job.sanitizer = {SanitizerOptions::When::Required, 12.5};
  job.delays = {SanitizerOptions::When::Never, 2.5, 77, false};
  job.profile = {ProfileOptions::When::Installed, 7};
  job.validate.full = true;
  std::string error, text = toJSON(job);
  std::optional<Job> read = parseJob(text, error);
  ASSERT_TRUE(read) << error << "\n" << text;
  EXPECT_EQ(toJSON(*read), text);
  EXPECT_EQ(read->sanitizer.when, SanitizerOptions::When::Required);
  EXPECT_EQ(read->sanitizer.seconds, 12.5);
  EXPECT_EQ(read->delays.when, SanitizerOptions::When::Never);
  EXPECT_EQ(read->delays.seconds, 2.5);
  EXPECT_EQ(read->delays.schedules, 77);
  EXPECT_FALSE(read->delays.rules);
  EXPECT_EQ(read->profile.when, ProfileOptions::When::Installed);
  EXPECT_EQ(read->profile.seconds, 7);
  EXPECT_TRUE(read->validate.full);
  EXPECT_EQ(read->device, DeviceKind::Cuda);
  EXPECT_EQ(read->oracle.code, Code::PTX);
  EXPECT_EQ(read->baseline.code, Code::Cubin);
  EXPECT_EQ(read->candidate.code, Code::CUDA);
  ASSERT_TRUE(read->candidate.plan);
  EXPECT_EQ(toJSON(*read->candidate.plan), toJSON(plan));
}

TEST(Job, RoundTrip) {
  Job job;
  job.id = "all fields \xff\"";
  job.mode = Mode::Promote;
  job.inputs = {{ElementType::I64, {5}, Role::Index, {{0, 4}}},
                {ElementType::BF16, {}, Role::Positive, {{0.5, 2}}},
                {ElementType::I1, {3, 4}, Role::Mask, {}}};
  job.inputs[0].special = -100;
  job.outputs = {{ElementType::F64, {1, 2, 3}, Role::Data, {}}};
  auto program = [](const char *path, int64_t workspaceBytes) {
    Program result;
    result.path = path;
    result.workspaceBytes = workspaceBytes;
    return result;
  };
  job.oracle = program("o.so", 1);
  job.baseline = program("b.so", 2);
  job.incumbent = program("i.so", 3);
  job.candidate = program("c.so", 4);
  job.kind = Kind::Attention;
  job.reductionLength = 77;
  job.acceptedPrecision = Precision::Half;
  job.condition = program("k.so", 5);
  job.conditionOfTF32 = true;
  job.validate = {4, false};
  job.time = {3, 9, 0.25, 1.5, Cache::Warm};
  job.floorNs = 12.5;
  job.limits = {1.5, int64_t(1) << 28, 7, 8};
  std::string error, text = toJSON(job);
  std::optional<Job> read = parseJob(text, error);
  ASSERT_TRUE(read) << error << "\n" << text;
  EXPECT_EQ(toJSON(*read), text);
  EXPECT_EQ(read->inputs[0].range->second, 4);
  EXPECT_EQ(read->inputs[0].special, -100);
  EXPECT_EQ(read->inputs[1].role, Role::Positive);
  EXPECT_EQ(read->incumbent->workspaceBytes, 3);
  EXPECT_EQ(read->time.cache, Cache::Warm);
}

TEST(Job, ForAGPU) {
  std::string error;
  std::optional<LaunchPlan> plan = parseLaunchPlan(
      R"({"format":1,"steps":[{"launch":"k","grid":[8],"block":[32],
          "arguments":["out0",{"f32":1e-5},{"i64":-9007199254740993}]}]})",
      error);
  ASSERT_TRUE(plan) << error;
  Job job;
  job.id = "softmax";
  job.device = DeviceKind::Cuda;
  job.machine = "NVIDIA H200";
  job.outputs = {{ElementType::F32, {4}, Role::Data, {}}};
  job.oracle = {"oracle.ptx", 0, Code::PTX, plan};
  job.baseline = {"baseline.cubin", 0, Code::Cubin, plan};
  job.candidate = {"candidate.cu", 0, Code::CUDA, plan};
  std::string text = toJSON(job);
  std::optional<Job> read = parseJob(text, error);
  ASSERT_TRUE(read) << error << "\n" << text;
  EXPECT_EQ(toJSON(*read), text);
  EXPECT_EQ(read->device, DeviceKind::Cuda);
  EXPECT_EQ(read->machine, "NVIDIA H200");
  EXPECT_EQ(read->candidate.code, Code::CUDA);
  EXPECT_EQ(toJSON(*read->candidate.plan), toJSON(*plan));
}
