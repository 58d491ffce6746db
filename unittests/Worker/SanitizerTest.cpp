//===- SanitizerTest.cpp - What a tool's end means, without a GPU ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Inspect/Sanitizer.h"
#include "Cuda/Inspect/Cupti.h"
#include "Evaluation.h"
#include "fastk/Cuda/Driver.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace fastk::worker;
namespace fs = std::filesystem;

static const char report[] =
    "========= COMPUTE-SANITIZER\n"
    "========= Error: Race reported between Write access at k+0x10\n"
    "=========     and Read access at k+0x20 [4 hazards]\n"
    "========= \n"
    "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n";

static SanitizerResult meaningOf(int exitCode, bool ran = true,
                                 const std::string &error = "",
                                 const std::string &log = report) {
  ToolEnd end;
  end.exitCode = exitCode;
  std::optional<SoloReply> reply;
  if (ran)
    reply = SoloReply{error, {}};
  return interpret(end, reply, log, 60);
}

TEST(Sanitizer, TheExitCodeDecidesNotTheReport) {
  SanitizerResult result = meaningOf(findingExit);
  EXPECT_EQ(result.kind, SanitizerResult::Finding);
  EXPECT_EQ(result.text,
            "found: Error: Race reported between Write access at k+0x10; and "
            "Read access at k+0x20 [4 hazards]; RACECHECK SUMMARY: 1 hazard "
            "displayed (1 error, 0 warnings)");
  result = meaningOf(0);
  EXPECT_EQ(result.kind, SanitizerResult::Clean);
  EXPECT_EQ(result.text, "ok");
  result =
      meaningOf(findingExit, true, "", "========= ERROR SUMMARY: 0 errors");
  EXPECT_EQ(result.kind, SanitizerResult::Finding);
}

TEST(Sanitizer, AToolThatLosesTrackFindsNothing) {
  // As synccheck ended on an honest kernel with many mbarriers.
  const char *overflow =
      "========= Warning: Detected overflow of tracked cuda::barrier "
      "structures. Results might be incorrect. Try using "
      "--num-cuda-barriers to fix the issue\n"
      "========= Warning: Error buffer overflow has been detected. Some "
      "records have been dropped\n"
      "========= ERROR SUMMARY: 2 errors\n";
  SanitizerResult result = meaningOf(findingExit, true, "", overflow);
  EXPECT_EQ(result.kind, SanitizerResult::Failed);
  EXPECT_EQ(result.text.find("not run: Warning: Detected overflow"), 0u);
  // What it did find stands.
  result = meaningOf(findingExit, true, "",
                     std::string("========= Barrier error detected. Invalid "
                                 "arguments.\n") +
                         overflow);
  EXPECT_EQ(result.kind, SanitizerResult::Finding);
}

TEST(Sanitizer, AToolThatCannotJudgeFindsNothing) {
  SanitizerResult result = meaningOf(0, false);
  EXPECT_EQ(result.kind, SanitizerResult::Failed);
  EXPECT_EQ(result.text.find("not run: the program was not called: "), 0u);
  result = meaningOf(0, true, "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(result.kind, SanitizerResult::Failed);
  EXPECT_EQ(result.text,
            "not run: cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY");
  result = meaningOf(139);
  EXPECT_EQ(result.kind, SanitizerResult::Failed);
  EXPECT_EQ(result.text.find("not run: exit code 139: Error"), 0u);
  ToolEnd end;
  end.error = "x cannot be started: no";
  result = interpret(end, std::nullopt, "", 60);
  EXPECT_EQ(result.kind, SanitizerResult::Failed);
  EXPECT_EQ(result.text, "not run: x cannot be started: no");
}

TEST(Sanitizer, OutOfTimeIsSaidSo) {
  ToolEnd end;
  end.timedOut = true;
  end.exitCode = 137;
  std::string quiet = "========= COMPUTE-SANITIZER\n=========     at k+0x10 "
                      "in ========= Error: \n========= Warning: slow\n";
  SanitizerResult result = interpret(end, SoloReply(), quiet, 60);
  EXPECT_EQ(result.kind, SanitizerResult::Stopped);
  EXPECT_EQ(result.text, "not run to its end: stopped after 60 s");
}

// What did not look has not found nothing.
TEST(Sanitizer, OnlyAToolThatRanToItsEndIsAProtection) {
  ToolEnd stopped, broken, clean;
  clean.exitCode = 0;
  stopped.timedOut = true;
  broken.exitCode = 139;
  Verdict verdict;
  verdict.gpu.emplace();
  noteSanitizer(verdict, "memcheck", interpret(clean, SoloReply(), "", 60));
  EXPECT_EQ(unseenBySanitizers(verdict), "");
  noteSanitizer(verdict, "initcheck", interpret(stopped, SoloReply(), "", 60));
  noteSanitizer(verdict, "synccheck", interpret(broken, SoloReply(), "", 60));
  noteSanitizer(verdict, "racecheck",
                {SanitizerResult::Failed, "not run: it is not installed"});
  EXPECT_EQ(verdict.protections,
            std::vector<std::string>{"compute-sanitizer-memcheck"});
  EXPECT_EQ(verdict.missingProtections,
            (std::vector<std::string>{"compute-sanitizer-initcheck",
                                      "compute-sanitizer-synccheck",
                                      "compute-sanitizer-racecheck"}));
  EXPECT_EQ(unseenBySanitizers(verdict),
            "; not seen by initcheck (not run to its end: stopped after 60 s), "
            "synccheck (not run: exit code 139: it left no report), racecheck "
            "(not run: it is not installed)");
}

// Tools are slowed down by what they find, too.
TEST(Sanitizer, AFindingBeforeTheTimeIsOutIsOne) {
  ToolEnd end;
  end.timedOut = true;
  SanitizerResult result = interpret(end, std::nullopt, report, 60);
  EXPECT_EQ(result.kind, SanitizerResult::Finding);
  EXPECT_EQ(result.text.find("found, before it was stopped after 60 s: Error: "
                             "Race reported"),
            0u)
      << result.text;
}

// racecheck says so in front of its findings, or instead of them.
TEST(Sanitizer, ALimitOfHazardsIsNoFindingAndNotClean) {
  const std::string limit =
      "========= Warning: Maximum number of hazards reached. Environment "
      "variable NV_COMPUTE_SANITIZER_MAX_RACECHECK_HAZARDS can be used to "
      "increase this count.\n";
  ToolEnd end;
  end.exitCode = 0;
  SanitizerResult result = interpret(end, SoloReply(), limit, 60);
  EXPECT_EQ(result.kind, SanitizerResult::Failed);
  EXPECT_EQ(result.text, "not run: Maximum number of hazards reached");
  end.exitCode = findingExit;
  result = interpret(end, SoloReply(), limit + report, 60);
  EXPECT_EQ(result.kind, SanitizerResult::Finding);
  EXPECT_EQ(result.text, interpret(end, SoloReply(), report, 60).text);
}

TEST(Sanitizer, ReportsArePrintableAndShort) {
  EXPECT_EQ(summaryOf(""), "it left no report");
  EXPECT_EQ(summaryOf("========= \x1b[2J\xff\n"), "?[2J?");
  std::string text = summaryOf(std::string(100000, 'x'));
  EXPECT_EQ(text.size(), 300u);
  EXPECT_EQ(text.substr(297), "...");
}

TEST(Sanitizer, OfTheCommandLineTheRunIsLast) {
  std::vector<std::string> command =
      sanitizerCommand("/s", "racecheck", "/log", "/worker", "/run");
  EXPECT_EQ(command[0], "/s");
  auto at = std::find(command.begin(), command.end(), "--error-exitcode");
  ASSERT_NE(at, command.end());
  EXPECT_EQ(at[1], std::to_string(findingExit));
  EXPECT_EQ(std::vector<std::string>(command.end() - 3, command.end()),
            (std::vector<std::string>{"/worker", soloFlag, "/run"}));
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

/// Whether a process is gone, or a zombie that nobody waits for; a killed one
/// takes a moment.
static bool ends(pid_t pid) {
  for (int i = 0; i < 6000; ++i) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    std::string state = "Z";
    for (std::string word; status >> word;)
      if (word == "State:")
        status >> state;
    if (state == "Z" || state == "X")
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(RunTool, VariablesStandBesideThoseOfTheProcess) {
  ScratchFolder folder(1);
  auto run = [&](const std::string &variable) {
    std::string command =
        "test \"$FASTK_TEST_VARIABLE\" = \"" + variable + "\"";
    return runTool({"/bin/sh", "-c", command}, folder.path(), 10, {}, 0,
                   nullptr, {"FASTK_TEST_VARIABLE=ours"})
        .exitCode;
  };
  unsetenv("FASTK_TEST_VARIABLE");
  EXPECT_EQ(run("ours"), 0);
  setenv("FASTK_TEST_VARIABLE", "theirs", 1);
  EXPECT_EQ(run("theirs"), 0);
  unsetenv("FASTK_TEST_VARIABLE");
}

TEST(RunTool, ExitCodesAndSignals) {
  ScratchFolder folder(0);
  ASSERT_FALSE(folder.path().empty()) << folder.error();
  EXPECT_EQ(runTool({"/bin/sh", "-c", "exit 97"}, folder.path(), 10).exitCode,
            97);
  EXPECT_EQ(
      runTool({"/bin/sh", "-c", "kill -SEGV $$"}, folder.path(), 10).exitCode,
      128 + SIGSEGV);
  ToolEnd end = runTool({"/nonexistent/tool"}, folder.path(), 10);
  EXPECT_EQ(end.error, "/nonexistent/tool cannot be started: No such file or "
                       "directory");
  // Temporary files stay in the folder.
  EXPECT_EQ(runTool({"/bin/sh", "-c", "test \"$TMPDIR\" = \"$PWD\""},
                    folder.path(), 10)
                .exitCode,
            0);
}

TEST(RunTool, ATimeLimitEndsTheWholeGroup) {
  ScratchFolder folder(0);
  auto start = std::chrono::steady_clock::now();
  ToolEnd end =
      runTool({"/bin/sh", "-c", "sleep 300 & echo $! > pid; sleep 300"},
              folder.path(), 2);
  EXPECT_TRUE(end.timedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  pid_t pid = 0;
  std::ifstream(folder.path() + "/pid") >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(ends(pid));
}

TEST(RunTool, WhatIsLeftBehindEndsToo) {
  ScratchFolder folder(0);
  ToolEnd end = runTool({"/bin/sh", "-c", "sleep 300 & echo $! > pid"},
                        folder.path(), 30);
  EXPECT_FALSE(end.timedOut);
  EXPECT_EQ(end.exitCode, 0);
  pid_t pid = 0;
  std::ifstream(folder.path() + "/pid") >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(ends(pid));
}

TEST(RunTool, AScratchFolderIsRemoved) {
  std::string path;
  {
    ScratchFolder folder(1);
    path = folder.path();
    std::ofstream(path + "/run") << "x";
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

//===----------------------------------------------------------------------===//
// Runs as files
//===----------------------------------------------------------------------===//

static SoloRun exampleRun() {
  SoloRun run;
  run.image = ".version 8.0";
  Memset memset;
  memset.target = BufferRef{BufferRef::Space::Output, 0, 0};
  memset.bytes = 16;
  run.plan.steps = {memset};
  run.inputBytes = {3, 5};
  run.outputBytes = {16};
  run.cupti = "/libcupti";
  run.calls = 5;
  run.seconds = 9;
  return run;
}

static const void *inputOf(size_t index) { return index ? "vwxyz" : "abc"; }

TEST(SoloRun, RoundTrip) {
  ScratchFolder folder(0);
  std::string file = folder.path() + "/run", error;
  SoloRun run = exampleRun();
  ASSERT_EQ(writeSoloRun(file, run, inputOf), "");
  std::vector<const char *> inputs;
  std::optional<SoloRun> read = mapSoloRun(file, inputs, error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(read->image, run.image);
  EXPECT_EQ(toJSON(read->plan), toJSON(run.plan));
  EXPECT_EQ(read->inputBytes, run.inputBytes);
  EXPECT_EQ(read->outputBytes, run.outputBytes);
  EXPECT_EQ(read->cupti, run.cupti);
  EXPECT_EQ(read->calls, 5);
  EXPECT_EQ(read->seconds, 9u);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(std::string(inputs[0], 3), "abc");
  EXPECT_EQ(std::string(inputs[1], 5), "vwxyz");
}

TEST(SoloRun, EveryTruncationIsAnError) {
  ScratchFolder folder(0);
  std::string file = folder.path() + "/run", error;
  ASSERT_EQ(writeSoloRun(file, exampleRun(), inputOf), "");
  for (uint64_t size = fs::file_size(file); size-- > 0;) {
    fs::resize_file(file, size);
    std::vector<const char *> inputs;
    error.clear();
    EXPECT_FALSE(mapSoloRun(file, inputs, error)) << size;
    EXPECT_EQ(error.find(file), 0u) << error;
  }
  EXPECT_EQ(writeSoloRun("/nonexistent/run", exampleRun(), inputOf),
            "/nonexistent/run: cannot write: No such file or directory");
}

TEST(SoloRun, RepliesComeBack) {
  ScratchFolder folder(0);
  std::string file = folder.path() + "/run";
  EXPECT_FALSE(readSoloReply(file));
  SoloReply reply;
  TracedCall call;
  call.eventNs = 1.5;
  call.hostNs = 2;
  call.activities = {{true, "k", 1, ~uint64_t(0)}, {false, "", 0, 2}};
  reply.calls = {call, {}};
  std::string text = toJSON(reply);
  std::ofstream(replyPath(file)) << text;
  std::optional<SoloReply> read = readSoloReply(file);
  ASSERT_TRUE(read);
  EXPECT_EQ(toJSON(*read), text);
  std::ofstream(replyPath(file)) << text.substr(0, text.size() - 1);
  EXPECT_FALSE(readSoloReply(file));
}

// The process as it is where there is no GPU: an answer, never a crash.
TEST(SoloRun, WithoutAGPUTheReplySaysSo) {
  std::string none;
  if (fastk::cuda::Driver::get(none))
    return; // There is one: the exploits run it.
  ScratchFolder folder(0);
  std::string file = folder.path() + "/run";
  SoloRun run = exampleRun();
  run.cupti.clear();
  ASSERT_EQ(writeSoloRun(file, run, inputOf), "");
  std::error_code ignored;
  std::string self = fs::read_symlink("/proc/self/exe", ignored).string();
  EXPECT_EQ(runTool({self, soloFlag, file}, folder.path(), 60).exitCode, 0);
  std::optional<SoloReply> reply = readSoloReply(file);
  ASSERT_TRUE(reply);
  EXPECT_NE(reply->error.find("no NVIDIA driver"), std::string::npos)
      << reply->error;
  std::ofstream(file) << "x";
  EXPECT_EQ(runTool({self, soloFlag, file}, folder.path(), 60).exitCode, 0);
  reply = readSoloReply(file);
  ASSERT_TRUE(reply);
  EXPECT_NE(reply->error.find("is cut off"), std::string::npos);
}

TEST(Cupti, WhatIsNotItIsAnError) {
  Cupti cupti;
  std::vector<Activity> activities;
  EXPECT_EQ(cupti.take(activities), "CUPTI was not started");
  EXPECT_EQ(cupti.start("/nonexistent/libcupti.so.13")
                .find("cannot load /nonexistent/libcupti.so.13: "),
            0u);
  EXPECT_EQ(cupti.start("libm.so.6"), "libm.so.6 has no cuptiGetVersion");
}
