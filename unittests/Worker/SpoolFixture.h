//===- SpoolFixture.h - A folder of jobs for a worker -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_WORKER_SPOOLFIXTURE_H
#define FASTK_UNITTESTS_WORKER_SPOOLFIXTURE_H

#include "WorkerHarness.h"
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace fastk::worker::test {

namespace fs = std::filesystem;

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
    std::string job = folder + "/" + name;
    fs::create_directory(job);
    // A worker that stays may be looking.
    std::ofstream(job + "/.job.json") << text;
    fs::rename(job + "/.job.json", job + "/job.json");
  }
  /// A verdict on a job of that name, in a spool of its own.
  std::string record(const std::string &name, double seconds) {
    std::string recorded = folder + "/recorded";
    fs::create_directories(recorded + "/" + name);
    Verdict verdict;
    verdict.id = name;
    verdict.status = Status::Wrong;
    verdict.reason = "as recorded";
    verdict.resources.wallSeconds = seconds;
    std::ofstream(recorded + "/" + name + "/verdict.json")
        << toJSON(verdict) << "\n";
    return recorded;
  }
  /// Starts the worker; what it says goes to a file.
  pid_t startWorker(const std::vector<std::string> &options,
                    const std::string &log = "/dev/null") {
    std::vector<std::string> words = {"fastk-worker", "--spool", folder};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = fork();
    EXPECT_GE(pid, 0);
    if (pid == 0) {
      freopen(log.c_str(), "w", stderr);
      execv(FASTK_WORKER, arguments.data());
      _exit(127);
    }
    return pid;
  }
  /// Whether a file comes to be within a minute.
  static bool appears(const std::string &path) {
    for (int i = 0; i < 6000 && !fs::exists(path); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return fs::exists(path);
  }
  /// The same of a text in a file.
  static bool appearsIn(const std::string &path, const std::string &said) {
    for (int look = 0; look < 3000; ++look) {
      std::stringstream text;
      text << std::ifstream(path).rdbuf();
      if (text.str().find(said) != std::string::npos)
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
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

} // namespace fastk::worker::test

#endif // FASTK_UNITTESTS_WORKER_SPOOLFIXTURE_H
