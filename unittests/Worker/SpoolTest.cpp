//===- SpoolTest.cpp - A folder of jobs is answered ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerHarness.h"
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/file.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fastk::worker;
using namespace fastk::worker::test;
namespace fs = std::filesystem;

namespace {

class Spool : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "fastk-spool-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }

  /// Writes a job with its programs beside it, as a search does.
  void add(const std::string &name, Job job) {
    fs::create_directory(folder + "/" + name);
    job.id = name;
    auto take = [&](Program &program, const char *as) {
      fs::copy_file(program.path, folder + "/" + name + "/" + as);
      program.path = as;
    };
    take(job.oracle, "oracle.so");
    take(job.baseline, "baseline.so");
    take(job.candidate, "candidate.so");
    write(name, toJSON(job));
  }
  void write(const std::string &name, const std::string &text) {
    fs::create_directory(folder + "/" + name);
    std::ofstream(folder + "/" + name + "/job.json") << text;
  }
  Job right() { return reduceJob(compile("reduce.c", "")); }
  Output run() { return runWorker("", "--spool " + folder); }
  bool isAnswered(const std::string &name) {
    return fs::exists(folder + "/" + name + "/verdict.json");
  }
  std::string textOf(const std::string &name) {
    std::ifstream stream(folder + "/" + name + "/verdict.json");
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
  }
  Verdict verdictOf(const std::string &name) {
    std::string error;
    std::optional<Verdict> verdict = parseVerdict(textOf(name), error);
    EXPECT_TRUE(verdict) << name << ": " << error;
    return verdict ? *verdict : Verdict();
  }

  std::string folder;
};

} // namespace

TEST_F(Spool, AnswersEveryOpenJob) {
  add("job-1", right());
  add("job-2", reduceJob(compile("reduce.c", "-DT=double")));
  add("job-3", right());
  write("other", "not a job of the spool");
  std::ofstream(folder + "/job-3/verdict.json") << "kept";
  Output output = run();
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "");
  Verdict verdict = verdictOf("job-1");
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_EQ(verdict.id, "job-1");
  // Writes doubles where floats belong.
  EXPECT_EQ(verdictOf("job-2").status, Status::Wrong);
  EXPECT_EQ(textOf("job-3"), "kept");
  EXPECT_FALSE(isAnswered("other"));
  EXPECT_NE(output.err.find("[2/2, "), std::string::npos) << output.err;
  EXPECT_NE(output.err.find("a minute]"), std::string::npos) << output.err;
  // A second time there is nothing to do.
  std::string before = textOf("job-1");
  EXPECT_EQ(run().code, 0);
  EXPECT_EQ(textOf("job-1"), before);
}

TEST_F(Spool, ABadJobStopsNoOther) {
  write("job-a", "{\"format\": 1");
  Job missing = right();
  add("job-b", missing);
  fs::remove(folder + "/job-b/baseline.so");
  add("job-c", right());
  Output output = run();
  EXPECT_EQ(output.code, 1) << output.err;
  EXPECT_FALSE(isAnswered("job-a"));
  EXPECT_NE(output.err.find("job-a/job.json: $: not valid JSON"),
            std::string::npos)
      << output.err;
  Verdict without = verdictOf("job-b");
  EXPECT_EQ(without.status, Status::Error);
  EXPECT_NE(without.reason.find("baseline"), std::string::npos)
      << without.reason;
  EXPECT_EQ(verdictOf("job-c").status, Status::OK);
}

/// Killed at any moment, what was answered stays, and the next run goes on.
TEST_F(Spool, AKilledWorkerLosesOneJob) {
  add("job-1", right());
  add("job-2", right());
  Job hanging = matmulJob(compile("attacks.c", "-DATTACK=LOOP"));
  hanging.limits.wallSeconds = 60;
  add("job-3", hanging);
  for (int signal : {SIGKILL, SIGTERM}) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      freopen("/dev/null", "w", stderr);
      execl(FASTK_WORKER, "fastk-worker", "--spool", folder.c_str(), nullptr);
      _exit(127);
    }
    for (int i = 0; i < 1000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      // Not before it is at the hanging job, at least once.
      if (signal == SIGTERM ? i > 20
                            : isAnswered("job-1") && isAnswered("job-2"))
        break;
      if (signal == SIGKILL && i == 300)
        break; // The hanging one came first.
    }
    kill(pid, signal);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_FALSE(isAnswered("job-3"));
  }
  for (const char *name : {"job-1", "job-2"})
    if (isAnswered(name)) {
      EXPECT_EQ(verdictOf(name).status, Status::OK);
    }
  hanging.limits.wallSeconds = 0.2;
  fs::remove_all(folder + "/job-3");
  add("job-3", hanging);
  Output output = run();
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(verdictOf("job-1").status, Status::OK);
  EXPECT_EQ(verdictOf("job-2").status, Status::OK);
  EXPECT_EQ(verdictOf("job-3").status, Status::Timeout);
}

/// What another worker has begun is left to it.
TEST_F(Spool, WorkersShareAFolder) {
  add("job-1", right());
  int fd = open((folder + "/job-1/job.json").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::ofstream(folder + "/job-1/verdict.json") << "of the other";
    close(fd);
  });
  Output output = run();
  other.join();
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(textOf("job-1"), "of the other");
  EXPECT_NE(output.err.find("waiting for 1 jobs"), std::string::npos)
      << output.err;
}

TEST_F(Spool, WrongFoldersAreNamed) {
  Output output = runWorker("", "--spool " + folder + "/none");
  EXPECT_EQ(output.code, 1);
  EXPECT_NE(output.err.find("/none: No such file"), std::string::npos)
      << output.err;
}
