//===- ToolTest.cpp - fastk-worker as a command -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerHarness.h"
#include "fastk/Cuda/Driver.h"
#include <chrono>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fastk::worker;
using namespace fastk::worker::test;

TEST(Tool, HelpTeaches) {
  Output output = runWorker("", "--help");
  EXPECT_EQ(output.code, 0);
  for (const char *part : {"fastk_kernel", "oracle", "candidate", "EXIT CODES",
                           "docs/formats/job.md"})
    EXPECT_NE(output.out.find(part), std::string::npos) << part;
}

TEST(Tool, UnknownOptionsAreRefused) {
  Output output = runWorker("", "--verdict");
  EXPECT_EQ(output.code, 1);
  EXPECT_NE(output.err.find("unknown option '--verdict'"), std::string::npos);
}

TEST(Tool, CalibrationNeedsAGPU) {
  std::string none;
  if (fastk::cuda::Driver::get(none))
    return;
  Output output = runWorker("", "--calibrate");
  EXPECT_EQ(output.code, 1);
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(output.err,
            "fastk-worker: error: cannot calibrate: " + none + "\n");
}

TEST(Tool, EmptyInputIsRefused) {
  Output output = runWorker("");
  EXPECT_EQ(output.code, 1);
  EXPECT_EQ(output.out, "");
}

/// Exactly one line, one document.
TEST(Tool, OneVerdictOnStdout) {
  Output output = runWorker(toJSON(reduceJob(compile("reduce.c", ""))));
  EXPECT_EQ(output.code, 0);
  EXPECT_EQ(std::count(output.out.begin(), output.out.end(), '\n'), 1);
  EXPECT_EQ(output.out.back(), '\n');
}

TEST(Tool, ProgramsThatDoNotLoad) {
  Job job = reduceJob("/nonexistent.so");
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Error) << explain(verdict);
  EXPECT_NE(verdict.reason.find("/nonexistent.so"), std::string::npos);

  job.candidate.path = FASTK_TEST_INPUTS "/reduce.c";
  verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Refused) << explain(verdict);
  EXPECT_NE(verdict.reason.find("cannot be loaded"), std::string::npos);

  job.candidate.path = compile("reduce.c", "-Dfastk_kernel=other");
  verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Refused) << explain(verdict);
  EXPECT_NE(verdict.reason.find("does not export 'fastk_kernel'"),
            std::string::npos);
}

/// Interrupted, it takes its children along and writes nothing.
TEST(Tool, SignalsEndEverything) {
  Job job = matmulJob(compile("attacks.c", "-DATTACK=LOOP"));
  job.limits.wallSeconds = 60;
  std::string base = ::testing::TempDir() + "fastk-signal";
  std::ofstream(base + ".in") << toJSON(job);
  pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    freopen((base + ".in").c_str(), "r", stdin);
    freopen((base + ".out").c_str(), "w", stdout);
    execl(FASTK_WORKER, "fastk-worker", nullptr);
    _exit(127);
  }
  // Until its three programs run.
  std::string children = "/proc/" + std::to_string(pid) + "/task/" +
                         std::to_string(pid) + "/children";
  std::vector<pid_t> programs;
  for (int i = 0; i < 6000 && programs.size() < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    programs.clear();
    std::ifstream list(children);
    for (pid_t child; list >> child;)
      programs.push_back(child);
  }
  ASSERT_EQ(programs.size(), 3u);
  kill(pid, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM);
  for (pid_t program : programs) {
    bool gone = false;
    for (int i = 0; i < 6000 && !gone; ++i) {
      // A zombie that nobody reaps yet is gone, too.
      std::ifstream stat("/proc/" + std::to_string(program) + "/stat");
      std::string number, name, state;
      gone = !(stat >> number >> name >> state) || state == "Z";
      if (!gone)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(gone) << program;
  }
  std::ifstream out(base + ".out");
  EXPECT_EQ(out.peek(), std::ifstream::traits_type::eof());
  std::remove((base + ".in").c_str());
  std::remove((base + ".out").c_str());
}
