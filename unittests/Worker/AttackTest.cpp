//===- AttackTest.cpp - Programs that must be rejected, and why ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerHarness.h"
#include <chrono>
#include <gtest/gtest.h>

using namespace fastk::worker;
using namespace fastk::worker::test;

namespace {

struct Attack {
  const char *name;
  Mode mode;
  Status status;
  /// ProgramRole of the reason.
  const char *reason;
};

class AttackTest : public ::testing::TestWithParam<Attack> {};

} // namespace

static Job attackJob(const std::string &name, Mode mode) {
  Job job = matmulJob(compile("attacks.c", "-DATTACK=" + name));
  job.mode = mode;
  job.limits.wallSeconds = name == "ALLOCATE_SLOWLY" ? 10 : 1;
  job.limits.memoryBytes = int64_t(1) << 28;
  return job;
}

TEST_P(AttackTest, IsRejectedForItsReason) {
  const Attack &attack = GetParam();
  Verdict verdict = judge(attackJob(attack.name, attack.mode));
  EXPECT_EQ(verdict.status, attack.status) << explain(verdict);
  EXPECT_NE(verdict.reason.find(attack.reason), std::string::npos)
      << explain(verdict);
  // Nothing of it is left.
  EXPECT_EQ(verdict.precision, Precision::None);
}

static const Attack attacks[] = {
    {"ZEROS", Mode::Validate, Status::Wrong, "class none"},
    {"ONES", Mode::Validate, Status::Wrong, "class none"},
    {"NOTHING", Mode::Validate, Status::Wrong, "NaN"},
    {"NOT_A_NUMBER", Mode::Validate, Status::Wrong, "NaN"},
    {"TAIL_MISSING", Mode::Validate, Status::Wrong, "largest error"},
    {"RANK_ONE", Mode::Validate, Status::Wrong, "class none"},
    {"STALE_OUTPUT", Mode::Validate, Status::Wrong, "NaN"},
    {"ACCUMULATE", Mode::Validate, Status::Wrong, "NaN"},
    {"STALE_WORKSPACE", Mode::Validate, Status::Wrong, "NaN"},
    {"FLAKY", Mode::Validate, Status::Wrong, "largest error"},
    {"LATE_THREAD", Mode::Validate, Status::Wrong, "NaN"},
    {"PRINT_VERDICT", Mode::Validate, Status::Wrong, "NaN"},
    {"INPUT_WRITE", Mode::Validate, Status::Crash, "wrote to an input"},
    {"INPUT_REMAP", Mode::Validate, Status::Crash, "wrote to an input"},
    {"WRITE_FAR", Mode::Validate, Status::Crash, "outside its buffers"},
    {"WRITE_PAST_END", Mode::Validate, Status::Crash, "outside its buffers"},
    {"WRITE_BEFORE", Mode::Validate, Status::Crash, "outside its buffers"},
    {"READ_PAST_END", Mode::Validate, Status::Crash, "outside its buffers"},
    {"NULL_WRITE", Mode::Validate, Status::Crash, "signal 11"},
    {"SIGNAL_HANDLER", Mode::Validate, Status::Crash, "signal 11"},
    {"EXIT", Mode::Validate, Status::Crash, "code 0"},
    {"ABORT", Mode::Validate, Status::Crash, "signal 6"},
    {"KILL_SELF", Mode::Validate, Status::Crash, "signal 9"},
    {"KILL_PARENT", Mode::Validate, Status::Refused, "'kill'"},
    {"LOOP", Mode::Validate, Status::Timeout, "within 1 s"},
    {"SLEEP_FOREVER", Mode::Validate, Status::Timeout, "within 1 s"},
    {"FORK_BOMB", Mode::Validate, Status::Refused, "'clone'"},
    {"THREAD_BOMB", Mode::Validate, Status::Timeout, "within 1 s"},
    {"ALLOCATE", Mode::Validate, Status::Memory, "107.4 GB"},
    {"ALLOCATE_SLOWLY", Mode::Validate, Status::Memory, "memory_bytes"},
    {"READ_FILE", Mode::Validate, Status::Refused, "'openat'"},
    {"SOCKET", Mode::Validate, Status::Refused, "'socket'"},
    {"EXECUTE", Mode::Validate, Status::Refused, "'execve'"},
    {"PTRACE", Mode::Validate, Status::Refused, "'ptrace'"},
    {"IO_URING", Mode::Validate, Status::Refused, "'io_uring_setup'"},
    {"EXECUTABLE_MEMORY", Mode::Validate, Status::Refused, "'mmap'"},
    {"CONSTRUCTOR", Mode::Validate, Status::Refused, "'socket'"},
    {"CACHE_POINTER", Mode::Evaluate, Status::Wrong, "timed call"},
    {"CACHE_CONTENT", Mode::Evaluate, Status::Wrong, "timed call"},
    {"SKIP_LATER", Mode::Evaluate, Status::Wrong, "timed call"},
    {"TIMED_ONLY", Mode::Evaluate, Status::Wrong, "NaN"},
    {"CLOCK_SET", Mode::Validate, Status::Refused, "'clock_settime'"},
    {"CLOCK_VDSO", Mode::Validate, Status::Refused, "'mprotect'"},
    {"PROC_MEMORY", Mode::Validate, Status::Refused, "'openat'"},
    {"REMOTE_READ", Mode::Validate, Status::Refused, "'process_vm_readv'"},
    {"PIDFD", Mode::Validate, Status::Refused, "'pidfd_open'"},
    {"SHARED_MEMORY", Mode::Validate, Status::Refused, "'shmget'"},
    {"DESCRIPTOR_SCAN", Mode::Validate, Status::Wrong, "NaN"},
};

INSTANTIATE_TEST_SUITE_P(All, AttackTest, ::testing::ValuesIn(attacks),
                         [](const ::testing::TestParamInfo<Attack> &info) {
                           return std::string(info.param.name);
                         });

/// The twin without the attack passes the same way.
TEST(AttackTwin, HonestIsAccepted) {
  for (Mode mode : {Mode::Validate, Mode::Evaluate}) {
    Verdict verdict = judge(attackJob("HONEST", mode));
    EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
    EXPECT_EQ(verdict.precision, Precision::IEEE);
  }
}

/// What a thread writes after the kernel has returned does not count.
TEST(AttackTwin, WorkAfterTheReturnIsFound) {
  Verdict verdict = judge(attackJob("LATE_HALF", Mode::Evaluate));
  // On a busy machine the thread may not get a processor while it is watched:
  // then its part is wrong, or it is found writing when the buffers have gone.
  bool found = false;
  for (const char *reason : {"after it returned", "largest error", "outlived"})
    found |= verdict.reason.find(reason) != std::string::npos;
  EXPECT_TRUE(found) << explain(verdict);
  EXPECT_EQ(verdict.precision, Precision::None);
}

/// A kernel may have threads of its own; it has to wait for them.
TEST(AttackTwin, WaitingForAThreadIsAccepted) {
  Job job = attackJob("HELPED", Mode::Evaluate);
  job.time.screenRatio = 0;
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
}

/// A thread that gives memory back has glibc look for a setting of the system,
/// which is not the kernel's doing.
TEST(AttackTwin, FreeingInAThreadIsAccepted) {
  Job job = elementwiseJob("ADD", compile("freeing.c", ""));
  job.mode = Mode::Validate;
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
}

/// Other processes are out of sight even while the program is loaded, when it
/// may still open files.
TEST(AttackTwin, OtherProcessesCannotBeLookedInto) {
  Verdict verdict = judge(attackJob("CONSTRUCTOR_LOOKS", Mode::Validate));
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
}

/// A library's clock_gettime is not the worker's, nor that of its process.
TEST(AttackTwin, InterposingTheClockGainsNothing) {
  Verdict verdict = judge(attackJob("CLOCK_INTERPOSED", Mode::Evaluate));
  EXPECT_EQ(verdict.status, Status::Slow) << explain(verdict);
  // Its clock says 0, and it sleeps for 20 ms: less where it waited for a
  // processor, which a screen takes off.
  EXPECT_GT(verdict.timing.candidate->medianNs, 5e6);
}

// The sanitizer brings functions of its own, not found in the table.
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
/// The clock of its own process is a program's to change, and of no use: the
/// worker's counts, and the two are compared.
TEST(AttackTwin, TamperingWithTheClockIsFound) {
  for (auto [name, reason] :
       {std::pair("CLOCK_FROZEN", "less per call than passed"),
        std::pair("CLOCK_OFTEN_FROZEN", "less per call than passed"),
        std::pair("CLOCK_AHEAD", "more time than passed")}) {
    Job job = attackJob(name, Mode::Evaluate);
    job.time.screenRatio = 0;
    Verdict verdict = judge(job);
    // On a busy machine clocks may differ by much. What counts is the worker's,
    // by which it has gained nothing.
    if (verdict.status == Status::OK) {
      ASSERT_TRUE(verdict.timing.speedupOverBaseline);
      EXPECT_LT(verdict.timing.speedupOverBaseline->high, 0.5)
          << explain(verdict);
    } else {
      EXPECT_EQ(verdict.status, Status::Refused) << explain(verdict);
      EXPECT_NE(verdict.reason.find(reason), std::string::npos)
          << explain(verdict);
    }
    // Who does not touch the clock may take as long.
    job.candidate.path = compile("attacks.c", "-DATTACK=SLOW");
    verdict = judge(job);
    EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
  }
}

/// The results of known buffers are written between the worker's message and
/// the call, which then works them out honestly: only the time of the write
/// gives it away.
TEST(AttackTwin, WritingBeforeTheCallIsFound) {
  Job job = attackJob("EARLY_WRITE", Mode::Evaluate);
  job.time.screenRatio = 0;
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
  EXPECT_NE(verdict.reason.find("before its kernel was called"),
            std::string::npos)
      << explain(verdict);
}
#endif

/// A thread that works out the results of known buffers before the kernel is
/// called. Its operands are not what they will be: either it is found, or it
/// has gained nothing.
TEST(AttackTwin, WorkBeforeTheCallGainsNothing) {
  Job job = attackJob("EARLY_THREAD", Mode::Evaluate);
  job.time.screenRatio = 0;
  Verdict verdict = judge(job);
  // Or its thread, which nobody waits for, reads buffers that are gone.
  if (verdict.status == Status::Crash)
    EXPECT_NE(verdict.reason.find("a thread that outlived its call"),
              std::string::npos)
        << explain(verdict);
  else if (verdict.status == Status::OK)
    EXPECT_LT(verdict.timing.speedupOverBaseline->low, 1.05)
        << explain(verdict);
  else
    EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
}

/// Rubbish on every descriptor harms nobody: the verdict is the worker's own.
TEST(AttackTwin, WritingToDescriptorsIsHarmless) {
  Verdict verdict = judge(attackJob("WRITE_DESCRIPTORS", Mode::Validate));
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
}

/// Results kept under a hash of all inputs are of no use: none comes twice.
TEST(AttackTwin, HashedCacheGainsNothing) {
  Job job = attackJob("CACHE_HASH", Mode::Evaluate);
  job.time.screenRatio = 0;
  Verdict verdict = judge(job);
  ASSERT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_LT(verdict.timing.speedupOverBaseline->median, 1.05);
}

/// A write into the unused rest of the last page is found by the canaries.
TEST(AttackTwin, CanariesFindSmallOverruns) {
  Job job =
      elementwiseJob("ADD", compile("elementwise.c", "-DOP=ADD -DOVERRUN=1"));
  Verdict verdict = judge(job);
  EXPECT_EQ(verdict.status, Status::Wrong) << explain(verdict);
  EXPECT_NE(verdict.reason.find("wrote outside result 0"), std::string::npos)
      << explain(verdict);
}

/// Everything this machine offers is in force; what is missing is named.
TEST(AttackTwin, ProtectionsAreListed) {
  Verdict verdict = judge(attackJob("HONEST", Mode::Validate));
  EXPECT_EQ(verdict.protections.size() + verdict.missingProtections.size(),
            15u);
  EXPECT_NE(std::find(verdict.protections.begin(), verdict.protections.end(),
                      "seccomp"),
            verdict.protections.end());
}
