//===- Time.cpp - The calls that are timed --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clock.h"
#include "Statistics.h"
#include "Timer.h"
#include <algorithm>
#include <numeric>

using namespace fastk::worker;

bool Timer::create() {
  // Promotion carries the A/A control: the baseline against itself.
  std::vector<ProgramRole> parts = {ProgramRole::Candidate,
                                    ProgramRole::Baseline};
  if (job.incumbent)
    parts.push_back(ProgramRole::Incumbent);
  if (job.mode == Mode::Promote)
    parts.push_back(ProgramRole::Control);
  for (ProgramRole part : parts)
    timedPrograms.push_back({part, nullptr, {}, {}, {}});
  for (TimedProgram &timedProgram : timedPrograms)
    (timedProgram.part == ProgramRole::Candidate   ? candidate
     : timedProgram.part == ProgramRole::Baseline  ? baseline
     : timedProgram.part == ProgramRole::Incumbent ? incumbent
                                                   : control) = &timedProgram;

  size_t setCount = device.rotatingSets(3, parts);

  auto placementOf = [](size_t set) {
    return set % 2 ? Placement::Start : Placement::End;
  };
  sets.resize(setCount);
  for (size_t s = 0; s < setCount; ++s) {
    if (!evaluation.spare.empty()) {
      sets[s] = std::move(evaluation.spare.back());
      evaluation.spare.pop_back();
    } else if (!(sets[s] = device.createOperands(failure))) {
      return false;
    }
    trials.push_back({Distribution::Normal, int64_t(s), random(), 1});
    device.fill(*sets[s], trials[s], placementOf(s));
  }
  evaluation.spare.clear();
  for (TimedProgram &timedProgram : timedPrograms) {
    timedProgram.program =
        device.start(timedProgram.part, int64_t(setCount), verdict, failure);
    if (!timedProgram.program)
      return blame(timedProgram);
    timedProgram.outputs.resize(setCount);
    for (size_t s = 0; s < setCount; ++s) {
      std::unique_ptr<Results> &outputs = timedProgram.outputs[s];
      if (!(outputs = device.createResults(timedProgram.part, failure)))
        return false;
      device.place(*outputs, placementOf(s));
      device.poison(*outputs);
      if (!timedProgram.program->map(uint32_t(s), sets[s].get(), outputs.get(),
                                     failure))
        return blame(timedProgram);
    }
  }
  if (job.condition && (!(condition = device.start(ProgramRole::Condition, 2,
                                                   verdict, failure)) ||
                        !(conditionOutputs = device.createResults(
                              ProgramRole::Condition, failure))))
    return false;
  oracle = device.start(ProgramRole::Oracle, 2, verdict, failure);
  return oracle &&
         (oracleOutputs = device.createResults(ProgramRole::Oracle, failure));
}

bool Timer::blame(const TimedProgram &timedProgram) {
  if (&timedProgram != candidate)
    failure = {Status::Error, failure.reason};
  return false;
}

/// A kernel that does nothing; null: it cannot be called.
std::unique_ptr<ProgramInstance> Timer::startEmpty() {
  std::unique_ptr<ProgramInstance> empty =
      device.start(ProgramRole::Empty, 1, verdict, failure);
  if (!empty || !empty->map(0, nullptr, nullptr, failure))
    return nullptr;
  return empty;
}

/// What it costs to call a kernel that does nothing.
bool Timer::calibrate() {
  std::unique_ptr<ProgramInstance> empty = startEmpty();
  if (!empty)
    return false;
  // Beside a load the empty kernel may wait longer than the candidate, which
  // must not be called impossible for it.
  std::vector<double> ns, quiet, own;
  for (int i = 0; i < 25 || (quiet.size() < 10 && i < 200); ++i) {
    CallTime time;
    if (!empty->call(0, 10, time, failure, true))
      return false;
    if (i < 5)
      continue;
    ns.push_back(time.ns);
    own.push_back(time.ownNs());
    if (!device.isDisturbed(time))
      quiet.push_back(time.ns);
  }
  verdict.timing.handshakeNs = quantile(quiet.size() < 10 ? own : quiet, 0.5);
  handshakeP90 = quantile(ns, 0.9);
  return true;
}

bool Timer::callOnce(TimedProgram &timedProgram, size_t set, CallTime &time,
                     bool timed) {
  Results &outputs = *timedProgram.outputs[set];
  device.poison(outputs);
  if (timed)
    device.flush(*sets[set], outputs);
  double limit = &timedProgram == candidate ? evaluation.wallSeconds : 600;
  if (!timedProgram.program->call(uint32_t(set), limit, time, failure, timed))
    return blame(timedProgram);
  const char *name = nameOf(timedProgram.part);
  std::string damage = device.damage(*sets[set], outputs);
  if (!damage.empty()) {
    failure = {&timedProgram == candidate ? Status::Wrong : Status::Error,
               std::string("the ") + name + " " + damage + " in a timed call"};
    return false;
  }
  std::string distrust = timed ? device.distrust(time) : std::string();
  if (!distrust.empty()) {
    failure = {&timedProgram == candidate ? Status::Refused : Status::Error,
               std::string("the ") + name + distrust};
    return false;
  }
  return true;
}

/// One call of each program, in random order. \p calls: as timedPrograms.
bool Timer::callAll(size_t set, std::vector<TimedCall> &calls) {
  std::vector<size_t> order(timedPrograms.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random() % i]);
  calls.resize(order.size());
  for (size_t each : order) {
    if (!callOnce(timedPrograms[each], set, calls[each].time))
      return false;
    // A device knows of its last call alone.
    calls[each].isDisturbed = device.isDisturbed(calls[each].time);
  }
  return true;
}

/// A sample of each program, on operands drawn anew.
bool Timer::block(size_t number, bool audit) {
  size_t set = number % sets.size();
  Trial trial = drawAnew(set);
  std::vector<TimedCall> calls;
  if (!callAll(set, calls))
    return false;
  BlockNoise suffered;
  for (size_t i = 0; i < calls.size(); ++i) {
    TimedProgram &timedProgram = timedPrograms[i];
    timedProgram.times.push_back(calls[i].time);
    timedProgram.ns.push_back(calls[i].time.ns);
    if (&timedProgram == candidate) {
      suffered.candidate = calls[i].isDisturbed;
    } else {
      ++suffered.trustedCalls;
      suffered.trusted += calls[i].isDisturbed;
    }
  }
  noise.push_back(suffered);
  if (!compareWithBaseline(set, trial) || (audit && !auditOutput(set, trial)))
    return false;
  ++verdict.audit.timedOutputsChecked;
  verdict.audit.auditedCalls += audit;
  return true;
}

bool Timer::run() {
  device.beginTiming();
  if (!calibrate() || !create())
    return false;
  device.settle();
  uint64_t begin = clockNs();
  auto seconds = [&] { return double(clockNs() - begin) * 1e-9; };
  double budget = job.time.maxSeconds;

  // Warm-up: page tables, threads, clocks. Not recorded, but not unchecked:
  // inputs and canaries are.
  for (size_t round = 0; round == 0 || (round < 2 && seconds() < budget / 4);
       ++round)
    for (TimedProgram &timedProgram : timedPrograms) {
      CallTime time;
      if (!callOnce(timedProgram, round % sets.size(), time))
        return false;
    }

  // Two audits fall among the first samples, then about one in sixteen. All
  // are secret: drawn here, after the candidate was built.
  size_t least = size_t(job.time.minSamples);
  size_t firstAudit = random() % (least - 1);
  size_t secondAudit = firstAudit + 1 + random() % (least - 1 - firstAudit);
  size_t untilProbe = random() % 3;
  bool done = false;
  size_t nextLook = least;
  for (size_t number = 0;; ++number) {
    bool audit = number == firstAudit || number == secondAudit ||
                 (number >= least && random() % 16 == 0);
    if (!block(number, audit))
      return false;
    if (untilProbe-- == 0) {
      if (!probe(number % sets.size()))
        return false;
      untilProbe = random() % (number < least ? 3 : 12);
    }
    // Looking costs a bootstrap of all samples so far: rarer as they get more,
    // so that most of the time goes into samples.
    size_t calls = number + 1;
    bool looks =
        calls == 3 || calls >= nextLook || (calls < 64 && seconds() > budget);
    if (looks) {
      nextLook = std::max(least, calls + std::max<size_t>(8, calls / 8));
      if (!decide(done))
        return false;
      if (mayEnd(seconds(), done))
        break;
    }
  }
  describeNoise();
  if (!checkFloor() || !checkClocks() || !checkAudited() ||
      (job.mode == Mode::Promote && !compareOften()))
    return false;
  // What timed calls have left shows itself when their buffers go.
  for (size_t s = 0; s < sets.size(); ++s)
    if (!candidate->program->unmap(uint32_t(s), failure))
      return blame(*candidate);
  for (TimedProgram &timedProgram : timedPrograms)
    evaluation.account(*timedProgram.program);
  evaluation.account(*oracle);
  if (condition)
    evaluation.account(*condition);
  return true;
}

bool fastk::worker::timeCandidate(Evaluation &evaluation,
                                  const std::vector<ErrorContext> &difficulty,
                                  Failure &failure) {
  return Timer(evaluation, difficulty, failure).run();
}
