//===- JobTest.cpp - Jobs survive being written and read ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Worker/Job.h"
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
  EXPECT_EQ(job->time.threads, 0);
  EXPECT_EQ(job->time.minSamples, 7);
  EXPECT_EQ(job->time.maxSeconds, 2);
  EXPECT_EQ(job->time.screenRatio, 1.3);
  EXPECT_EQ(job->time.cache, Cache::Cold);
  EXPECT_EQ(job->floorNs, 0);
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

TEST(Job, RoundTrip) {
  Job job;
  job.id = "all fields \xff\"";
  job.mode = Mode::Promote;
  job.inputs = {{ElementType::I64, {5}, Role::Index, {{0, 4}}},
                {ElementType::BF16, {}, Role::Positive, {{0.5, 2}}},
                {ElementType::I1, {3, 4}, Role::Mask, {}}};
  job.outputs = {{ElementType::F64, {1, 2, 3}, Role::Data, {}}};
  job.oracle = {"o.so", 1};
  job.baseline = {"b.so", 2};
  job.incumbent = Program{"i.so", 3};
  job.candidate = {"c.so", 4};
  job.kind = Kind::Attention;
  job.reductionLength = 77;
  job.acceptedPrecision = Precision::Half;
  job.validate = {4, false};
  job.time = {3, 9, 0.25, 1.5, Cache::Warm};
  job.floorNs = 12.5;
  job.limits = {1.5, int64_t(1) << 28, 7, 8};
  std::string error, text = toJSON(job);
  std::optional<Job> read = parseJob(text, error);
  ASSERT_TRUE(read) << error << "\n" << text;
  EXPECT_EQ(toJSON(*read), text);
  EXPECT_EQ(read->inputs[0].range->second, 4);
  EXPECT_EQ(read->inputs[1].role, Role::Positive);
  EXPECT_EQ(read->incumbent->workspaceBytes, 3);
  EXPECT_EQ(read->time.cache, Cache::Warm);
}

TEST(Job, RoundTripOfAJobForAGPU) {
  std::string text = R"({
  "format": 1, "id": "x", "mode": "evaluate", "device": "cuda",
  "inputs": [{"type": "f32", "shape": [2, 3]}],
  "outputs": [{"type": "f32", "shape": []}],
  "programs": {
    "oracle": {"code": "ptx", "path": "oracle.ptx",
               "plan": {"format": 1, "steps": [
                 {"launch": "sum", "grid": [1, 1, 1], "block": [32, 1, 1],
                  "arguments": ["in0", "out0"]}]}},
    "baseline": {"code": "cubin", "path": "b.cubin",
                 "plan": {"format": 1, "workspaces": [{"bytes": 8}], "steps": [
                   {"memset": "ws0", "bytes": 8, "value": 0}]}},
    "candidate": {"code": "cuda", "path": "kernel.cu",
                  "plan": {"format": 1, "steps": [
                    {"memset": "out0", "bytes": 4, "value": 1}]}}},
  "kind": "reduction"})";
  std::string error;
  std::optional<Job> job = parseJob(text, error);
  ASSERT_TRUE(job) << error;
  EXPECT_EQ(job->device, DeviceKind::Cuda);
  EXPECT_EQ(job->oracle.code, Code::PTX);
  EXPECT_EQ(job->baseline.code, Code::Cubin);
  EXPECT_EQ(job->candidate.code, Code::CUDA);
  ASSERT_EQ(job->oracle.plan->steps.size(), 1u);
  EXPECT_EQ(std::get<Launch>(job->oracle.plan->steps[0]).kernel, "sum");
  EXPECT_EQ(job->baseline.plan->workspaces[0].bytes, 8);
  std::string written = toJSON(*job);
  std::optional<Job> read = parseJob(written, error);
  ASSERT_TRUE(read) << error << "\n" << written;
  EXPECT_EQ(toJSON(*read), written);
}
