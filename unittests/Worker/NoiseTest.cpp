//===- NoiseTest.cpp - What disturbs a measurement is in no number -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/GpuNeighbours.h"
#include "Host/HostLoad.h"
#include "Timing/NoiseRules.h"
#include "WorkerHarness.h"
#include "fastk/Protocol/RecordRules.h"
#include <cmath>
#include <csignal>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk::worker;
using namespace fastk::worker::test;

namespace {

/// A program that keeps every processor of this process busy, until the end of
/// the object or for a minute.
class ProcessorLoad {
public:
  explicit ProcessorLoad(int each = 1) {
    cpu_set_t all;
    sched_getaffinity(0, sizeof(all), &all);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      for (int i = 0; i < each && CPU_ISSET(cpu, &all); ++i)
        if (pid_t pid = fork(); pid > 0)
          children.push_back(pid);
        else if (pid == 0)
          spin(cpu);
  }
  ~ProcessorLoad() {
    for (pid_t pid : children) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }

private:
  [[noreturn]] static void spin(int cpu) {
    alarm(60);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
    for (volatile unsigned i = 0;; i = i + 1)
      ;
  }
  std::vector<pid_t> children;
};

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

/// The candidate takes half the baseline's time, whose threads wait for each
/// other.
Job contendedJob(Mode mode, long length) {
  std::string work = "-DLENGTH=" + std::to_string(length);
  Job job;
  job.id = "test";
  job.mode = mode;
  job.kind = Kind::Elementwise;
  job.reductionLength = 1;
  job.inputs = {{ElementType::F32, {4096}, Role::Data, {}}};
  job.outputs = {{ElementType::F32, {4096}, Role::Data, {}}};
  job.oracle.path =
      compile("contended.c", "-DT=double -DBARRIERS=0 -DLENGTH=1");
  job.baseline.path = compile("contended.c", "-DBARRIERS=40 " + work);
  job.candidate.path = compile("contended.c", "-DBARRIERS=0 -DLENGTH=" +
                                                  std::to_string(length / 2));
  job.time.maxSeconds = 0.5;
  job.validate.trials = 1;
  job.time.threads = 2;
  job.limits.wallSeconds = 10;
  return job;
}

} // namespace

//===----------------------------------------------------------------------===//
// Which blocks count
//===----------------------------------------------------------------------===//

static const BlockNoise quiet = {false, 0, 2}, shared = {true, 1, 2},
                        alone = {true, 0, 2}, others = {false, 1, 2};

TEST(NoiseRules, ABlockIsDroppedAsAWhole) {
  EXPECT_EQ(keptBlocks({quiet, shared, others, alone, quiet}, 1),
            std::vector<bool>({true, false, false, false, true}));
  EXPECT_EQ(keptOf({1, 2, 3}, {true, false, true}),
            std::vector<double>({1, 3}));
}

/// Who makes its own threads wait where it is slow would otherwise choose which
/// of its calls count.
TEST(NoiseRules, WhatTheCandidateSuffersAloneIsItsOwn) {
  std::vector<BlockNoise> blocks(40, quiet);
  for (int i = 0; i < 20; ++i)
    blocks[size_t(i)] = alone;
  EXPECT_EQ(keptBlocks(blocks, 1), std::vector<bool>(40, true));
  // What trusted programs suffer is dropped all the same.
  blocks[30] = others;
  EXPECT_FALSE(keptBlocks(blocks, 1)[30]);
}

TEST(NoiseRules, LongerCallsAreDisturbedMoreOften) {
  std::vector<BlockNoise> blocks(40, quiet);
  for (int i = 0; i < 20; ++i)
    blocks[size_t(i)] = alone;
  blocks[30] = blocks[31] = others;
  EXPECT_TRUE(keptBlocks(blocks, 1)[0]);
  EXPECT_FALSE(keptBlocks(blocks, 10)[0]);
}

TEST(NoiseRules, MostIsMoreThanChance) {
  EXPECT_TRUE(isSurelyMost(200, 200));
  EXPECT_TRUE(isSurelyMost(140, 200));
  EXPECT_FALSE(isSurelyMost(130, 200));
  EXPECT_FALSE(isSurelyMost(60, 200));
  EXPECT_TRUE(isSurelyMost(24, 24));
  EXPECT_FALSE(isSurelyMost(20, 24));
  EXPECT_FALSE(isSurelyMost(0, 0));
}

TEST(NoiseRules, AThreadThatCameInBetweenCounts) {
  RunDelays before = {{1, 100}, {2, 50}}, after = {{1, 130}, {2, 50}, {3, 70}};
  EXPECT_EQ(longestWait(before, after), 70u);
  EXPECT_EQ(longestWait(before, before), 0u);
  EXPECT_EQ(longestWait({}, {}), 0u);
}

/// Strangers are those that neither belong to us nor wait for us; where our own
/// number is not on the GPU's list, the list is of another namespace.
TEST(GpuNeighbours, OnlyStrangersDisturb) {
  pid_t self = getpid(), parent = getppid();
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  EXPECT_TRUE(strangersAmong({self, parent, child}).empty());
  EXPECT_TRUE(strangersAmong({}).empty());
  // Process 2 is the kernel's own.
  constexpr pid_t stranger = 2;
  if (describeProcess(stranger) == "kthreadd (process 2)") {
    EXPECT_EQ(strangersAmong({child, stranger, self}),
              std::vector<pid_t>({stranger}));
    EXPECT_TRUE(strangersAmong({child, stranger}).empty());
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  // One that has ended is none.
  EXPECT_TRUE(strangersAmong({self, child}).empty());
}

//===----------------------------------------------------------------------===//
// What makes a record
//===----------------------------------------------------------------------===//

static TimingReport goodTimes() {
  TimingReport timing;
  timing.candidate = Timing{100e3, 95e3, 110e3, 20};
  timing.baseline = Timing{200e3, 190e3, 220e3, 20};
  timing.speedupOverBaseline = Ratio{2, 1.98, 2.02};
  timing.aaRatio = Ratio{1, 0.995, 1.004};
  return timing;
}

TEST(RecordRules, NarrowTimesMakeARecord) {
  EXPECT_EQ(noiseProblem(goodTimes()), "");
}

TEST(RecordRules, TheControlIsNarrowAndContainsOne) {
  // It overlaps 1 ± 2 %, which is not enough.
  for (Ratio control : {Ratio{1, 0.7, 1.3}, Ratio{1.01, 0.99, 1.05},
                        Ratio{1.018, 1.017, 1.019}, Ratio{0.98, 0.979, 0.982},
                        Ratio{1.1, 1.05, 1.2}, Ratio{NAN, NAN, NAN}}) {
    TimingReport timing = goodTimes();
    timing.aaRatio = control;
    EXPECT_TRUE(contains(noiseProblem(timing), "timed against itself"))
        << control.low << " " << control.high;
  }
  // Two processes of one program lie elsewhere in memory: seen on an H200.
  TimingReport timing = goodTimes();
  timing.aaRatio = Ratio{0.9897, 0.9883, 0.9903};
  EXPECT_EQ(noiseProblem(timing), "");
}

TEST(RecordRules, TheGainIsNarrow) {
  TimingReport timing = goodTimes();
  timing.speedupOverBaseline = Ratio{2, 1.8, 2.3};
  EXPECT_TRUE(contains(noiseProblem(timing), "its gain is known to ±12.5 %"));
  timing.speedupOverBaseline = Ratio{2, 1.95, 2.05};
  EXPECT_EQ(noiseProblem(timing), "");
}

TEST(RecordRules, SevenSamplesAreNoRecord) {
  TimingReport timing = goodTimes();
  timing.candidate->samples = 7;
  EXPECT_TRUE(
      contains(noiseProblem(timing), "7 undisturbed samples, of 16 needed"));
  timing.candidate->samples = 16;
  EXPECT_EQ(noiseProblem(timing), "");
  // A minute of calls is enough, but seven are never.
  timing.candidate = Timing{2e9, 1.9e9, 2.1e9, 7};
  timing.baseline = Timing{4e9, 3.8e9, 4.2e9, 7};
  EXPECT_EQ(samplesForRecord(timing), 8);
  EXPECT_NE(noiseProblem(timing), "");
  timing.candidate->samples = 8;
  EXPECT_EQ(noiseProblem(timing), "");
}

/// Contention stops the threads of the baseline at its barriers: half of its
/// calls take nine times as long, the fast tenth does not.
TEST(RecordRules, FastCallsAndMedianAgree) {
  TimingReport timing = goodTimes();
  timing.candidate = Timing{100e3, 98e3, 120e3, 60};
  timing.baseline = Timing{1538e3, 169e3, 3000e3, 60};
  timing.speedupOverBaseline = Ratio{15.38, 15.2, 15.6};
  EXPECT_TRUE(contains(noiseProblem(timing), "its fast calls gained 1.72"));
  // Of a call that is little but its handshake, less is asked.
  timing = goodTimes();
  timing.candidate = Timing{4e3, 3e3, 5e3, 500};
  timing.baseline = Timing{8e3, 7.2e3, 9e3, 500};
  EXPECT_NE(noiseProblem(timing), "");
  timing.handshakeNs = 1.5e3;
  EXPECT_EQ(noiseProblem(timing), "");
}

/// In pairs it is the faster one, by the medians the slower one, or the
/// reverse: that is no gain.
TEST(RecordRules, MediansSayTheSame) {
  TimingReport timing = goodTimes();
  timing.candidate = Timing{100e3, 95e3, 110e3, 20};
  timing.baseline = Timing{99e3, 98e3, 110e3, 20};
  timing.speedupOverBaseline = Ratio{1.05, 1.03, 1.07};
  EXPECT_TRUE(mediansContradict(timing));
  EXPECT_TRUE(contains(noiseProblem(timing),
                       "in pairs gained 1.05 times (1.03 to 1.07), and the "
                       "medians of all calls say 0.99 times"));
  timing.baseline->medianNs = 101e3;
  EXPECT_FALSE(mediansContradict(timing));
  EXPECT_EQ(noiseProblem(timing), "");
  timing.speedupOverBaseline = Ratio{0.97, 0.96, 0.98};
  EXPECT_TRUE(mediansContradict(timing));
  // Nothing is sure in pairs: nothing to contradict.
  timing.speedupOverBaseline = Ratio{1, 0.98, 1.02};
  EXPECT_FALSE(mediansContradict(timing));
}

TEST(RecordRules, ABusyMachineIsSaidFirst) {
  TimingReport timing;
  timing.tooBusy = true;
  timing.disturbedBy = "load average 4.1";
  EXPECT_EQ(noiseProblem(timing), "the machine is too busy: load average 4.1");
}

//===----------------------------------------------------------------------===//
// Beside a load
//===----------------------------------------------------------------------===//

/// Whatever else the machine does, what is recorded is right; else the verdict
/// says what the machine was busy with.
TEST(Noise, NoRecordBesideALoad) {
  ProcessorLoad load;
  Verdict verdict = judge(contendedJob(Mode::Promote, 200'000));
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  ASSERT_TRUE(verdict.timing.droppedBlocks);
  std::string problem = noiseProblem(verdict.timing);
  RecordProperty("problem", problem);
  if (problem.empty()) {
    ASSERT_TRUE(verdict.timing.speedupOverBaseline);
    EXPECT_GT(verdict.timing.speedupOverBaseline->median, 1.7);
    EXPECT_LT(verdict.timing.speedupOverBaseline->median, 2.6);
  }
  if (verdict.timing.tooBusy) {
    EXPECT_FALSE(verdict.timing.speedupOverBaseline);
    EXPECT_TRUE(contains(problem, "other programs took")) << problem;
    EXPECT_TRUE(contains(problem, "for a processor")) << problem;
  }
}

/// Calls longer than the scheduler's slice are all disturbed: no number.
TEST(Noise, LongCallsBesideALoadAreTooBusy) {
  ProcessorLoad load(2);
  Verdict verdict = judge(contendedJob(Mode::Promote, 600'000));
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_TRUE(verdict.timing.tooBusy);
  EXPECT_GT(verdict.timing.droppedBlocks, 0);
  EXPECT_FALSE(verdict.timing.speedupOverBaseline);
  EXPECT_TRUE(contains(verdict.reason, "too busy to time it"))
      << verdict.reason;
  EXPECT_TRUE(contains(verdict.timing.disturbedBy, "load average"));
}

/// A first measurement says what may be tried next, however busy the machine.
TEST(Noise, AFirstMeasurementBesideALoadHasNumbers) {
  ProcessorLoad load(2);
  // Each call is longer than a turn of the scheduler.
  Job job = contendedJob(Mode::Evaluate, 6'000'000);
  job.time.maxSeconds = 0.5;
  Verdict verdict = judge(job);
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_TRUE(verdict.timing.tooBusy);
  EXPECT_TRUE(verdict.timing.speedupOverBaseline);
}

/// While the worker polls, the empty kernel may wait for its processor: what it
/// waits is no cost of a call, and a short candidate none that does no work.
TEST(Noise, NothingIsImpossibleBesideALoad) {
  ProcessorLoad load(2);
  Job job = contendedJob(Mode::Evaluate, 4'000);
  job.time.threads = 1;
  job.floorNs = 1;
  for (int i = 0; i < 3; ++i) {
    Verdict verdict = judge(job);
    EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
  }
}
