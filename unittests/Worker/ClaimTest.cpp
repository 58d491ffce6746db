//===- ClaimTest.cpp - One worker has a job -------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spool/Claim.h"
#include "Spool/OpenJobs.h"
#include "Spool/ProcessIdentity.h"
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fastk::worker;
namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

class Claims : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "fastk-claims-XXXXXX";
    root = mkdtemp(pattern.data());
    job = root / "job-1";
    fs::create_directory(job);
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
  static ClaimTimes atOnce() {
    ClaimTimes times;
    times.look = {};
    return times;
  }
  /// Without a second look, but where \p times say so.
  std::unique_ptr<Claim> take(const ClaimTimes &times = atOnce()) {
    std::string problem;
    std::unique_ptr<Claim> claim = Claim::take(job, unrenewed, problem, times);
    EXPECT_EQ(problem, "");
    return claim;
  }
  /// A claim that somebody else made, so long ago.
  void leave(int number, const std::string &text, milliseconds age = {}) {
    fs::path path = job / ("claim-" + std::to_string(number));
    std::ofstream(path) << text;
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
  }
  static ProcessIdentity elsewhere() {
    ProcessIdentity other = ProcessIdentity::ofThisProcess();
    other.host = "another";
    other.boot = "another";
    return other;
  }

  fs::path root, job;
  UnrenewedClaims unrenewed;
};

TEST_F(Claims, OneAtATime) {
  std::unique_ptr<Claim> first = take();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->earlierDeaths(), 0);
  EXPECT_FALSE(take());
  first.reset();
  EXPECT_TRUE(fs::is_empty(job));
  EXPECT_TRUE(take());
}

/// Of many at the same moment one has it.
TEST_F(Claims, OneOfMany) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> taken = 0, ready = 0, tried = 0;
    std::vector<std::thread> threads;
    constexpr int kThreads = 8;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&] {
        UnrenewedClaims unrenewed;
        ++ready;
        while (ready < kThreads)
          std::this_thread::yield();
        std::string problem;
        std::unique_ptr<Claim> claim = Claim::take(job, unrenewed, problem);
        taken += claim != nullptr;
        for (++tried; tried < kThreads;)
          std::this_thread::yield();
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(taken, 1);
  }
}

TEST_F(Claims, AnAnsweredJobIsNoLongerClaimed) {
  std::ofstream(job / "verdict.json") << "{}";
  EXPECT_FALSE(take());
  EXPECT_FALSE(fs::exists(job / "claim-1"));
}

/// A process of this machine is seen to be gone: nobody waits for its lease.
TEST_F(Claims, OfADeadProcess) {
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    std::string problem;
    std::unique_ptr<Claim> claim = Claim::take(job, unrenewed, problem);
    (void)!write(report[1], claim ? "y" : "n", 1);
    for (;;)
      pause();
  }
  char has = 0;
  ASSERT_EQ(read(report[0], &has, 1), 1);
  ASSERT_EQ(has, 'y');
  EXPECT_FALSE(take());
  kill(pid, SIGKILL);
  // Dead, and not reaped yet, is dead, too.
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT), 0);
  std::unique_ptr<Claim> second = take();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->earlierDeaths(), 1);
  waitpid(pid, nullptr, 0);
  // Given back it is as if the second had never been; answered, all is gone.
  second.reset();
  EXPECT_TRUE(fs::exists(job / "claim-1"));
  EXPECT_FALSE(fs::exists(job / "claim-2"));
  second = take();
  ASSERT_TRUE(second);
  second->settle();
  second.reset();
  EXPECT_TRUE(fs::is_empty(job));
}

/// Another machine's process counts as long as it renews its claim.
TEST_F(Claims, OfAnotherMachine) {
  ClaimTimes times;
  leave(1, elsewhere().toJSON(), times.lease / 2);
  EXPECT_FALSE(take());
  leave(1, elsewhere().toJSON(), times.lease + milliseconds(2000));
  std::unique_ptr<Claim> claim = take();
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->earlierDeaths(), 1);
}

/// A file server that stood still had all workers miss their renewals. They
/// renew when it is back, and none of them has died.
TEST_F(Claims, AServerThatStoodStill) {
  ClaimTimes times;
  times.look = milliseconds(200);
  milliseconds stall = times.lease + milliseconds(2000);
  leave(1, elsewhere().toJSON(), stall);
  EXPECT_FALSE(take(times));
  std::this_thread::sleep_for(times.look);
  // Its worker was a moment slower than this one; then it stands still again.
  leave(1, elsewhere().toJSON());
  EXPECT_FALSE(take(times));
  leave(1, elsewhere().toJSON(), stall + milliseconds(1));
  EXPECT_FALSE(take(times));
  // Nobody renews any more.
  std::this_thread::sleep_for(times.look);
  std::unique_ptr<Claim> claim = take(times);
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->earlierDeaths(), 1);
  EXPECT_TRUE(unrenewed.empty());
}

/// Whoever died while writing a claim has it for the lease.
TEST_F(Claims, HalfWritten) {
  ClaimTimes times;
  for (const char *text :
       {"", "{\"format\": 1, \"ho", "[]", "{\"format\": 2}"}) {
    leave(1, text);
    EXPECT_FALSE(take()) << text;
    leave(1, text, times.lease + milliseconds(2000));
    EXPECT_TRUE(take()) << text;
  }
}

TEST_F(Claims, AreRenewed) {
  ClaimTimes times{milliseconds(20), milliseconds(5000), {}};
  std::unique_ptr<Claim> claim = take(times);
  ASSERT_TRUE(claim);
  fs::file_time_type old =
      fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(job / "claim-1", old);
  for (int i = 0; i < 500 && fs::last_write_time(job / "claim-1") == old; ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GT(fs::last_write_time(job / "claim-1"), old);
}

/// Containers of one machine have process numbers of their own: what is not
/// seen is not taken for dead.
TEST_F(Claims, OfAnotherContainer) {
  ProcessIdentity other = ProcessIdentity::ofThisProcess();
  other.processes = "pid:[1]";
  other.started = "1";
  leave(1, other.toJSON());
  EXPECT_EQ(other.isAlive(), std::nullopt);
  EXPECT_FALSE(take());
}

/// The kernel's own folder takes no file, not even root's.
TEST_F(Claims, NowhereToWrite) {
  std::string problem;
  EXPECT_FALSE(Claim::take("/proc/self", unrenewed, problem));
  EXPECT_EQ(problem.find("cannot claim the job: "), 0u) << problem;
  EXPECT_NE(problem.find("it is left until its folder can be written to"),
            std::string::npos)
      << problem;
}

TEST_F(Claims, ProcessesAreTold) {
  ProcessIdentity self = ProcessIdentity::ofThisProcess();
  EXPECT_EQ(self.isAlive(), true);
  std::optional<ProcessIdentity> read = ProcessIdentity::parse(self.toJSON());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->isAlive(), true);
  EXPECT_EQ(read->host, self.host);
  // The number was given to another process since.
  read->started += "1";
  EXPECT_EQ(read->isAlive(), false);
}

/// Every job is the own share of one worker, and no share is empty.
TEST_F(Claims, JobsAreDealtOut) {
  fs::remove(job);
  constexpr unsigned kJobs = 64, kWorkers = 4;
  for (unsigned i = 0; i < kJobs; ++i) {
    char name[64];
    snprintf(name, sizeof name, "job-%026d%06x", 0, i * 2654435U % 0xFFFFFF);
    fs::create_directory(root / name);
    std::ofstream(root / name / "job.json") << "{";
  }
  std::set<fs::path> first;
  for (unsigned share = 0; share < kWorkers; ++share) {
    OpenJobs jobs(root, share, kWorkers);
    EXPECT_FALSE(jobs.refresh());
    std::vector<fs::path> order = jobs.inOrder();
    ASSERT_EQ(order.size(), kJobs);
    first.insert(order.front());
  }
  EXPECT_EQ(first.size(), kWorkers);
}

} // namespace
