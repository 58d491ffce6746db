//===- InspectTest.cpp - Programs under CUPTI and compute-sanitizer -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Inspect/Sanitizer.h"
#include "Cuda/Inspect/Trace.h"
#include "NeedsGpu.h"
#include "fastk/Cuda/Nvrtc.h"
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

using namespace fastk;
using namespace fastk::worker;
using namespace fastk::worker::test;
namespace fs = std::filesystem;

/// out[i] = in[i + shift] + ws[i] for 64 words, one of each a thread.
static SoloRun addRun(int shift, bool zeroedWorkspace) {
  SoloRun run;
  run.image = ".version 8.0\n.target sm_80\n.address_size 64\n"
              ".visible .entry add(.param .u64 in, .param .u64 out,\n"
              "                    .param .u64 ws) {\n"
              ".reg .u64 %a<5>;\n.reg .u32 %r<4>;\n"
              "ld.param.u64 %a1, [in];\nld.param.u64 %a2, [out];\n"
              "ld.param.u64 %a3, [ws];\nmov.u32 %r1, %tid.x;\n"
              "mul.wide.u32 %a4, %r1, 4;\nadd.u64 %a1, %a1, %a4;\n"
              "add.u64 %a2, %a2, %a4;\nadd.u64 %a3, %a3, %a4;\n"
              "ld.global.u32 %r2, [%a1+" +
              std::to_string(4 * shift) +
              "];\nld.global.u32 %r3, [%a3];\nadd.u32 %r2, %r2, %r3;\n"
              "st.global.u32 [%a2], %r2;\nret;\n}\n";
  run.plan.workspaces = {{256, zeroedWorkspace}};
  Launch launch;
  launch.kernel = "add";
  launch.block = {64, 1, 1};
  launch.arguments = {BufferRef{BufferRef::Space::Input, 0, 0},
                      BufferRef{BufferRef::Space::Output, 0, 0},
                      BufferRef{BufferRef::Space::Workspace, 0, 0}};
  run.plan.steps = {launch};
  run.inputBytes = run.outputBytes = {256};
  return run;
}

namespace {
class Inspect : public testing::Test {
protected:
  Inspect() : folder(1 << 20), file(folder.path() + "/run") {}
  void write(const SoloRun &run) {
    static const char input[256] = {1, 2, 3};
    EXPECT_EQ(
        writeSoloRun(file, run, [](size_t) -> const void * { return input; }),
        "");
  }
  /// Empty where it is not installed.
  std::string findSanitizer() {
    std::string sanitizer = cuda::findComputeSanitizer();
    if (sanitizer.empty()) {
      printf("needs compute-sanitizer, which is not installed\n");
      EXPECT_FALSE(std::getenv("FASTK_REQUIRE_SANITIZER"));
    }
    return sanitizer;
  }
  /// Of a tool on the run; nothing where it is not installed.
  std::optional<SanitizerResult>
  judge(const std::string &tool, const SoloRun &run, double seconds = 120) {
    std::string sanitizer = findSanitizer();
    if (sanitizer.empty())
      return std::nullopt;
    write(run);
    return runSanitizer(sanitizer, tool, folder, file, seconds);
  }
  ScratchFolder folder;
  std::string file;
};
} // namespace

TEST_F(Inspect, CuptiSeesWhatThePlanLaunches) {
  NEEDS_GPU();
  SoloRun run = addRun(0, true);
  run.cupti = cuda::findCupti();
  if (run.cupti.empty()) {
    printf("needs CUPTI, which was not found\n");
    return;
  }
  run.calls = 3;
  write(run);
  std::error_code error;
  std::string self = fs::read_symlink("/proc/self/exe", error).string();
  EXPECT_EQ(runTool({self, soloFlag, file}, folder.path(), 60).exitCode, 0);
  std::optional<SoloReply> reply = readSoloReply(file);
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->error, "");
  ASSERT_EQ(reply->calls.size(), 3u);
  for (const TracedCall &call : reply->calls) {
    ASSERT_EQ(call.activities.size(), 2u);
    EXPECT_FALSE(call.activities[0].isKernel);
    EXPECT_EQ(call.activities[1].name, "add");
    EXPECT_GT(busyNs(call), 0);
    EXPECT_GE(call.eventNs + 2e3, spanNs(call));
    EXPECT_GE(call.hostNs * 1.02 + 2e3, call.eventNs);
  }
  TracedProgram program = {run.plan, reply->calls, 1e6};
  EXPECT_EQ(distrustTrace(program, program, 10e3), "");
  LaunchPlan other = run.plan;
  other.steps.push_back(other.steps[0]);
  EXPECT_NE(distrustTrace({other, reply->calls, 1e6}, program, 10e3)
                .find("CUPTI saw add 1 times, the plan has add 2 times"),
            std::string::npos);
}

TEST_F(Inspect, EveryToolPassesAnHonestProgram) {
  NEEDS_GPU();
  for (const char *tool : sanitizerTools)
    if (std::optional<SanitizerResult> result = judge(tool, addRun(0, true))) {
      EXPECT_EQ(result->kind, SanitizerResult::Clean) << tool;
      EXPECT_EQ(result->text, "ok") << tool;
    }
}

TEST_F(Inspect, AWordBehindAnOperandIsFound) {
  NEEDS_GPU();
  if (std::optional<SanitizerResult> result =
          judge("memcheck", addRun(1, true))) {
    EXPECT_EQ(result->kind, SanitizerResult::Finding) << result->text;
    EXPECT_EQ(result->text.find("found: Invalid __global__ read"), 0u)
        << result->text;
  }
}

TEST_F(Inspect, AReadOfWhatNobodyWroteIsFound) {
  NEEDS_GPU();
  if (std::optional<SanitizerResult> result =
          judge("initcheck", addRun(0, false))) {
    EXPECT_EQ(result->kind, SanitizerResult::Finding) << result->text;
    EXPECT_EQ(result->text.find("found: Uninitialized __global__"), 0u)
        << result->text;
  }
}

TEST_F(Inspect, WhatDoesNotRunIsNoFinding) {
  NEEDS_GPU();
  SoloRun run = addRun(0, true);
  run.image = "no program";
  if (std::optional<SanitizerResult> result = judge("memcheck", run)) {
    EXPECT_EQ(result->kind, SanitizerResult::Failed) << result->text;
    EXPECT_EQ(result->text.find("not run: "), 0u) << result->text;
  }
}

TEST_F(Inspect, AToolThatIsStoppedSaysSo) {
  NEEDS_GPU();
  if (std::optional<SanitizerResult> result =
          judge("memcheck", addRun(0, true), 0.05)) {
    EXPECT_EQ(result->kind, SanitizerResult::Stopped);
    EXPECT_EQ(result->text, "not run to its end: stopped after 0.05 s");
  }
}

TEST_F(Inspect, ToolsSideBySideSayWhatTheySayAlone) {
  NEEDS_GPU();
  std::string sanitizer = findSanitizer();
  if (sanitizer.empty())
    return;
  std::vector<SanitizerTask> tasks;
  for (const char *tool : sanitizerTools)
    tasks.push_back({tool, 120, true});
  for (size_t atOnce : {1, 3, 4}) {
    write(addRun(0, true));
    for (const auto &result :
         runSanitizers(sanitizer, folder, file, tasks, atOnce)) {
      ASSERT_TRUE(result);
      EXPECT_EQ(result->text, "ok");
    }
    // memcheck alone finds it; the others say nothing or nothing bad.
    write(addRun(1, true));
    auto found = runSanitizers(sanitizer, folder, file, tasks, atOnce);
    ASSERT_TRUE(found[0]);
    EXPECT_EQ(found[0]->kind, SanitizerResult::Finding) << found[0]->text;
    for (size_t i = 1; i < found.size(); ++i)
      EXPECT_TRUE(!found[i] || found[i]->kind == SanitizerResult::Clean)
          << tasks[i].tool << ": " << found[i]->text;
  }
}

TEST_F(Inspect, AnOpinionEndsNobody) {
  NEEDS_GPU();
  std::string sanitizer = findSanitizer();
  if (sanitizer.empty())
    return;
  write(addRun(1, true));
  auto found =
      runSanitizers(sanitizer, folder, file,
                    {{"memcheck", 120, false}, {"initcheck", 120, true}}, 1);
  ASSERT_TRUE(found[0] && found[1]);
  EXPECT_EQ(found[0]->kind, SanitizerResult::Finding) << found[0]->text;
}
