//===- Timer.h - How fast is the candidate ----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
// Blocks: in each, every program is called once, in random order, on the same
// inputs, while all others are stopped. Before a block all inputs are drawn
// anew, so nothing that was kept of an earlier call is of use in a sample;
// every output of the candidate is compared with the baseline's of the same
// block. In a few blocks, at secret places, the output is judged against the
// oracle. Probes, at secret places between blocks, are no samples: few inputs
// have changed since the block before. Whoever takes them for unchanged is
// wrong there, and whoever is faster there keeps work between calls.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_TIMING_TIMER_H
#define FASTK_LIB_WORKER_TIMING_TIMER_H

#include "Evaluation.h"
#include "NoiseRules.h"
#include "Values/Random.h"

namespace fastk::worker {

/// One program being timed.
struct TimedProgram {
  ProgramRole part;
  std::unique_ptr<ProgramInstance> program;
  std::vector<std::unique_ptr<Results>> outputs; ///< One per set of operands.
  std::vector<CallTime> times;
  /// Of times, the clock of record.
  std::vector<double> ns;
};

/// One call, and whether the device said right after it that it was disturbed.
struct TimedCall {
  CallTime time;
  bool isDisturbed = false;
};

/// The timing of one candidate. Time.cpp makes the calls, TimeProbe.cpp
/// those that are no samples, TimeChecks.cpp checks what they gave,
/// TimeDecision.cpp what the samples mean.
class Timer {
public:
  Timer(Evaluation &evaluation, const std::vector<ErrorContext> &difficulty,
        Failure &failure)
      : evaluation(evaluation), device(evaluation.device),
        job(evaluation.device.job), verdict(evaluation.verdict),
        difficulty(difficulty), failure(failure), seed(secretSeed()) {}

  bool run();

private:
  bool create();
  std::unique_ptr<ProgramInstance> startEmpty();
  bool calibrate();
  bool callOnce(TimedProgram &timedProgram, size_t set, CallTime &time,
                bool timed = true);
  bool callAll(size_t set, std::vector<TimedCall> &calls);
  bool block(size_t number, bool audit);
  Trial drawAnew(size_t set);
  bool callBoth(size_t set);
  bool probe(size_t set);
  bool compareOften();
  bool compareWithBaseline(size_t set, const Trial &trial);
  bool isNearBaseline(size_t output, size_t set);
  bool callCondition(const Operands &operands);
  bool callOracle(const Operands &operands, Results &outputs);
  bool auditOutput(size_t set, const Trial &trial);
  bool decide(bool &done);
  /// Enough undisturbed blocks, or as many as the longest time allows.
  bool mayEnd(double seconds, bool done) const;
  /// Of the blocks that count; where too few do, of all.
  std::vector<bool> counted() const;
  void describeNoise();
  bool checkFloor();
  bool compareWithEmpty(double boundNs, bool &isBelow);
  bool checkClocks();
  bool checkAudited();
  bool looksKept() const;
  void report();
  bool reject(Status status, const char *text);
  bool blame(const TimedProgram &timedProgram);
  uint64_t random() { return bitsAt(seed, counter++); }

  Evaluation &evaluation;
  Device &device;
  const Job &job;
  Verdict &verdict;
  const std::vector<ErrorContext> &difficulty;
  Failure &failure;
  uint64_t seed;
  uint64_t counter = 0;

  std::vector<TimedProgram> timedPrograms;
  TimedProgram *candidate = nullptr, *baseline = nullptr, *incumbent = nullptr,
               *control = nullptr;
  std::unique_ptr<ProgramInstance> oracle, condition;
  std::unique_ptr<Results> oracleOutputs, conditionOutputs;
  /// For the slope on the inputs of a call; made when first needed.
  std::unique_ptr<Operands> moved;
  std::unique_ptr<Results> otherOracle;
  std::vector<std::unique_ptr<Operands>> sets;
  std::vector<Trial> trials;
  /// Of the probes: the candidate's time by the baseline's.
  std::vector<double> probeRatios;
  double handshakeP90 = 0;
  /// Of each block, and which of them count by the last report().
  std::vector<BlockNoise> noise;
  std::vector<bool> kept;
  /// Of kept.
  size_t samples = 0;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_TIMING_TIMER_H
