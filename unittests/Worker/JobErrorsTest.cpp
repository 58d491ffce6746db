//===- JobErrorsTest.cpp - Bad jobs are refused, with place and remedy --===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerHarness.h"
#include "fastk/Protocol/Job.h"
#include <gtest/gtest.h>
#include <random>

using namespace fastk::worker;
using namespace fastk::worker::test;

static const std::string valid =
    R"({"format":1,"id":"x","mode":"evaluate",)"
    R"("inputs":[{"type":"f32","shape":[2,3],"distribution":"data","range":[0,1]}],)"
    R"("outputs":[{"type":"f32","shape":[2]}],)"
    R"("programs":{"oracle":{"path":"o","workspace_bytes":0},)"
    R"("baseline":{"path":"b"},"candidate":{"path":"c"}},)"
    R"("kind":"reduction","reduction_length":3,"accepted_precision":"ieee",)"
    R"("validate":{"trials":3,"competitors":true},)"
    R"("time":{"threads":1,"min_samples":7,"max_seconds":2.0,)"
    R"("screen_ratio":1.3,"cache":"cold"},"floor_ns":0.5,)"
    R"("limits":{"wall_seconds":1,"memory_bytes":1073741824,"threads":4,)"
    R"("file_bytes":0}})";

static std::string errorOf(const std::string &from, const std::string &to) {
  std::string text = valid;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  std::string error;
  EXPECT_FALSE(parseJob(text, error)) << text;
  return error;
}

TEST(JobErrors, TheJobItselfIsValid) {
  std::string error;
  EXPECT_TRUE(parseJob(valid, error)) << error;
}

TEST(JobErrors, NameThePlaceAndTheRemedy) {
  struct {
    const char *from, *to, *place, *remedy;
  } cases[] = {
      {R"("format":1)", R"("format":2)", "$.format", "format 1"},
      {R"("format":1,)", "", "$.format", "add it"},
      {R"("format":1)", R"("format":"1")", "$.format", "an integer"},
      {R"("mode":"evaluate")", R"("mode":"run")", "$.mode", "validate"},
      {R"("type":"f32","shape":[2,3])", R"("type":"f8","shape":[2,3])",
       "$.inputs[0].type", "bf16"},
      {"[2,3]", "[2,0]", "$.inputs[0].shape[1]", "from 1 up"},
      {"[2,3]", "[2,-1]", "$.inputs[0].shape[1]", "from 1 up"},
      {"[2,3]", "[2,1.5]", "$.inputs[0].shape[1]", "from 1 up"},
      {"[2,3]", "[1048576,1048576,2]", "$.inputs[0].shape", "split"},
      {"[2,3]", "[18446744073709551615]", "$.inputs[0].shape[0]", "from 1 up"},
      {R"("shape":[2]})", R"("shape":[2],"range":[0,1]})", "$.outputs[0]",
       "remove it"},
      {"[0,1]", "[1,0]", "$.inputs[0].range", "low <= high"},
      {"[0,1]", R"([0,1],"special":3)", "$.inputs[0].special", "integers"},
      {"[0,1]", "[0]", "$.inputs[0].range", "low <= high"},
      {R"("distribution":"data")", R"("distribution":"index")",
       "$.inputs[0].distribution", "integers"},
      {R"("outputs":[{"type":"f32","shape":[2]}])", R"("outputs":[])",
       "$.outputs", "at least one"},
      {R"("candidate":{"path":"c"})", R"("candidat":{"path":"c"})",
       "$.programs.candidate", "add it"},
      {R"({"path":"c"})", R"({"path":""})", "$.programs.candidate.path",
       "shared object"},
      {R"({"path":"c"})", R"({"path":"c","args":1})", "$.programs.candidate",
       "remove it"},
      {R"("workspace_bytes":0)", R"("workspace_bytes":-1)",
       "$.programs.oracle.workspace_bytes", "from 0"},
      {R"("kind":"reduction")", R"("kind":"sum")", "$.kind", "pooling"},
      {R"("reduction_length":3)", R"("reduction_length":0)",
       "$.reduction_length", "from 1"},
      {R"("floor_ns":0.5)", R"("profile":{"when":"required"})",
       "$.profile.when", "never, installed"},
      {R"("floor_ns":0.5)", R"("sanitizer":{"when":"often"})",
       "$.sanitizer.when", "installed, required, never"},
      {R"("floor_ns":0.5)", R"("sanitizer":{"seconds":0})",
       "$.sanitizer.seconds", "1"},
      {R"("floor_ns":0.5)", R"("sanitizer":{"tool":"memcheck"})", "$.sanitizer",
       "remove it"},
      {R"("floor_ns":0.5)", R"("delays":{"when":"often"})", "$.delays.when",
       "installed, required, never"},
      {R"("floor_ns":0.5)", R"("delays":{"schedules":0})", "$.delays.schedules",
       "from 1"},
      {R"("floor_ns":0.5)", R"("delays":{"rules":1})", "$.delays.rules",
       "true or false"},
      {R"("accepted_precision":"ieee")", R"("accepted_precision":"none")",
       "$.accepted_precision", "half"},
      {R"("trials":3)", R"("trials":0)", "$.validate.trials", "from 1"},
      {R"("competitors":true)", R"("competitors":1)", "$.validate.competitors",
       "true or false"},
      {R"("max_seconds":2.0)", R"("max_seconds":1e999)", "$", "valid JSON"},
      {R"("max_seconds":2.0)", R"("max_seconds":-1)", "$.time.max_seconds",
       "from"},
      {R"("cache":"cold")", R"("cache":"hot")", "$.time.cache", "warm"},
      {R"("floor_ns":0.5)", R"("floor_ns":null)", "$.floor_ns", "number"},
      {R"("file_bytes":0)", R"("file_bytes":0,"file_bytes":0)", "$",
       "given twice"},
      {R"("id":"x")", R"("id":"x","x":1)", "$", "unknown field 'x'"},
      {R"("id":"x")", R"("id":"x","device":"tpu")", "$.device", "cuda"},
      {R"("id":"x")", R"("id":"x","device":"cuda")", "$.programs",
       "code of ptx, cubin or cuda"},
      {R"({"path":"c"})", R"({"path":"c","code":"elf"})",
       "$.programs.candidate.code", "ptx"},
      {R"({"path":"c"})", R"({"path":"c","code":"cuda"})",
       "$.programs.candidate.plan", "docs/formats/plan.md"},
      {R"({"path":"c"})", R"({"path":"c","code":"ptx","plan":{"format":2}})",
       "$.programs.candidate.plan: $.format", "format"},
      {R"({"path":"c"})",
       R"({"path":"c","plan":{"format":1,"steps":[{"memset":"out0","bytes":8}]}})",
       "$.programs.candidate.plan", "shared object has none"},
      {R"({"path":"c"})",
       R"({"path":"c","code":"ptx",)"
       R"("plan":{"format":1,"steps":[{"memset":"out0","bytes":8}]}})",
       "$.programs", "the job is for the host"},
  };
  for (const auto &c : cases) {
    std::string error = errorOf(c.from, c.to);
    EXPECT_EQ(error.find(c.place), 0u) << error;
    EXPECT_NE(error.find(c.remedy), std::string::npos) << error;
  }
}

/// No prefix of a job is a job.
TEST(JobErrors, EveryTruncationIsAnError) {
  for (size_t length = 0; length < valid.size(); ++length) {
    std::string error;
    EXPECT_FALSE(parseJob(valid.substr(0, length), error)) << length;
    EXPECT_FALSE(error.empty());
  }
}

/// Random damage never crashes, and an error always says something.
TEST(JobErrors, MutationsNeverCrash) {
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = valid;
    for (unsigned k = random() % 4 + 1; k > 0; --k) {
      size_t at = random() % text.size();
      switch (random() % 4) {
      case 0:
        text[at] = char(random());
        break;
      case 1:
        text.erase(at, random() % 8 + 1);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 20));
        break;
      default:
        text[at] = "{}[]\",:0123456789-eE.ntf"[random() % 23];
      }
      if (text.empty())
        text = " ";
    }
    std::string error;
    std::optional<Job> job = parseJob(text, error);
    ASSERT_EQ(!job, !error.empty()) << text;
    if (!job)
      continue;
    // What is accepted is understood: it reads the same again.
    ++accepted;
    std::string again = toJSON(*job);
    std::optional<Job> second = parseJob(again, error);
    ASSERT_TRUE(second) << error << "\n" << text;
    ASSERT_EQ(toJSON(*second), again);
  }
  EXPECT_GT(accepted, 100);
}

TEST(JobErrors, DeepNestingIsRefused) {
  std::string error;
  EXPECT_FALSE(parseJob(std::string(1000000, '['), error));
  EXPECT_FALSE(error.empty());
}

TEST(JobErrors, TheToolSaysSoOnStderr) {
  Output output = runWorker("{\"format\":1}");
  EXPECT_EQ(output.code, 1);
  EXPECT_EQ(output.out, "");
  EXPECT_NE(output.err.find("error: stdin: $.id: is missing"),
            std::string::npos)
      << output.err;
}
