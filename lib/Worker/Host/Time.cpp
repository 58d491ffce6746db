//===- Time.cpp - How fast is the candidate -------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks: in each, every program is called once, in random order, on the same
// inputs, while all others are stopped. Before a block a few random elements of
// its inputs are redrawn, so no call ever sees inputs that were seen before;
// every output of the candidate is compared with the baseline's of the same
// block. In a few blocks, at secret places, all inputs are new and the output
// is judged against the oracle; these calls must take no longer than others.
//
//===----------------------------------------------------------------------===//

#include "../Random.h"
#include "../Statistics.h"
#include "Session.h"
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sched.h>
#include <unistd.h>

using namespace fastk::worker;

namespace {

/// One program being timed.
struct Contestant {
  const char *name;
  const ProgramImage *image;
  const Program *program;
  std::unique_ptr<Child> child;
  std::vector<OutputSet> outputs; ///< One per input set.
  std::vector<double> ns;
  std::vector<double> childNs;
};

class Timer {
public:
  Timer(Session &session, const std::vector<Difficulty> &difficulty,
        Failure &failure)
      : session(session), job(session.job), verdict(session.verdict),
        difficulty(difficulty), failure(failure), seed(secretSeed()) {}

  bool run();

private:
  bool create();
  bool calibrate();
  bool callOnce(Contestant &contestant, size_t set, CallTime &time);
  bool block(size_t number, bool audit);
  bool compareWithBaseline(size_t set);
  bool auditOutput(size_t set, const Case &trial);
  bool decide(bool final, bool &done);
  void report();
  bool blame(const Contestant &contestant);
  uint64_t random() { return bitsAt(seed, counter++); }

  Session &session;
  const Job &job;
  Verdict &verdict;
  const std::vector<Difficulty> &difficulty;
  Failure &failure;
  uint64_t seed;
  uint64_t counter = 0;

  std::vector<Contestant> contestants;
  Contestant *candidate = nullptr, *baseline = nullptr, *incumbent = nullptr,
             *control = nullptr;
  std::unique_ptr<Child> oracle;
  OutputSet oracleOutputs;
  std::vector<InputSet> sets;
  std::vector<Case> trials;
  std::vector<size_t> auditBlocks;
  bool flush = false;
  bool spin = false;
  double handshakeP90 = 0;
};

} // namespace

/// Bytes of memory the machine can still give.
static int64_t availableMemory() {
  std::ifstream info("/proc/meminfo");
  std::string word;
  int64_t kilobytes = 0;
  while (info >> word)
    if (word == "MemAvailable:" && info >> kilobytes)
      return kilobytes * 1024;
  return int64_t(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

bool Timer::create() {
  // Promotion carries the A/A control: the baseline against itself.
  contestants.push_back(
      {"candidate", &session.candidate, &job.candidate, nullptr, {}, {}, {}});
  contestants.push_back(
      {"baseline", &session.baseline, &job.baseline, nullptr, {}, {}, {}});
  if (job.incumbent)
    contestants.push_back({"incumbent",
                           &session.incumbent,
                           &*job.incumbent,
                           nullptr,
                           {},
                           {},
                           {}});
  if (job.mode == Mode::Promote)
    contestants.push_back(
        {"control", &session.baseline, &job.baseline, nullptr, {}, {}, {}});
  for (Contestant &contestant : contestants) {
    std::string name = contestant.name;
    (name == "candidate"   ? candidate
     : name == "baseline"  ? baseline
     : name == "incumbent" ? incumbent
                           : control) = &contestant;
  }

  int64_t bytes = 0;
  for (const Tensor &tensor : job.inputs)
    bytes += tensor.bytes();
  for (const Tensor &tensor : job.outputs)
    bytes += tensor.bytes() * int64_t(contestants.size());
  flush = session.mustFlush();
  size_t setCount = 3;
  while (setCount > 1 && int64_t(setCount) * bytes > availableMemory() / 2)
    --setCount;

  sets.resize(setCount);
  for (size_t s = 0; s < setCount; ++s) {
    if (!session.spare.empty()) {
      sets[s] = std::move(session.spare.back());
      session.spare.pop_back();
    } else if (!session.createInputs(sets[s], failure)) {
      return false;
    }
    trials.push_back({Law::Normal, int64_t(s), random(), 1});
    session.fill(sets[s], trials[s], s % 2 ? Placement::Start : Placement::End);
  }
  for (Contestant &contestant : contestants) {
    contestant.child =
        session.start(contestant.name, contestant.image, contestant.program,
                      int64_t(setCount), failure);
    if (!contestant.child)
      return blame(contestant);
    contestant.outputs.resize(setCount);
    for (size_t s = 0; s < setCount; ++s) {
      if (!session.createOutputs(contestant.outputs[s], *contestant.program,
                                 false, failure))
        return false;
      Session::place(contestant.outputs[s],
                     s % 2 ? Placement::Start : Placement::End);
      Session::poison(contestant.outputs[s]);
      if (!contestant.child->map(
              uint32_t(s), Session::buffersOf(sets[s], contestant.outputs[s]),
              failure))
        return blame(contestant);
    }
  }
  oracle = session.start("oracle", &session.oracle, &job.oracle, 2, failure);
  return oracle &&
         session.createOutputs(oracleOutputs, job.oracle, true, failure);
}

bool Timer::blame(const Contestant &contestant) {
  if (&contestant != candidate)
    failure = {Status::Error, failure.reason};
  return false;
}

/// What it costs to call a kernel that does nothing.
bool Timer::calibrate() {
  cpu_set_t cpus;
  int64_t count =
      sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
  spin = session.threads < count;
  std::unique_ptr<Child> empty =
      session.start("empty kernel", nullptr, nullptr, 1, failure);
  if (!empty || !empty->map(0, {}, failure))
    return false;
  std::vector<double> ns;
  for (int i = 0; i < 25; ++i) {
    CallTime time;
    if (!empty->call(0, 10, time, failure, spin))
      return false;
    if (i >= 5)
      ns.push_back(time.ns);
  }
  verdict.timing.handshakeNs = quantile(ns, 0.5);
  handshakeP90 = quantile(ns, 0.9);
  return true;
}

bool Timer::callOnce(Contestant &contestant, size_t set, CallTime &time) {
  Session::poison(contestant.outputs[set]);
  if (flush)
    for (const SharedBuffer *buffer :
         Session::buffersOf(sets[set], contestant.outputs[set]))
      buffer->flush();
  double limit = &contestant == candidate ? session.wallSeconds : 600;
  if (!contestant.child->call(uint32_t(set), limit, time, failure, spin))
    return blame(contestant);
  std::string damage = session.damage(sets[set], contestant.outputs[set]);
  if (!damage.empty()) {
    failure = {&contestant == candidate ? Status::Wrong : Status::Error,
               std::string("the ") + contestant.name + " " + damage +
                   " in a timed call"};
    return false;
  }
  if (time.childNs > time.ns + 1000) {
    failure = {&contestant == candidate ? Status::Refused : Status::Error,
               std::string("the ") + contestant.name +
                   "'s clock shows more time than passed: it was tampered "
                   "with"};
    return false;
  }
  return true;
}

/// The baseline holds the IEEE class on these inputs, so its output is within
/// a known distance of the oracle's; the candidate's is within another.
bool Timer::compareWithBaseline(size_t set) {
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    const Tensor &tensor = job.outputs[o];
    const SharedBuffer &mine = candidate->outputs[set].buffers[o];
    const SharedBuffer &theirs = baseline->outputs[set].buffers[o];
    bool ok;
    double off = 0;
    if (isFloat(tensor.type)) {
      Measure m = measure(tensor, readerOf(tensor.type, mine.data()),
                          readerOf(tensor.type, theirs.data()));
      Bounds accepted = boundsOf(job, o, job.acceptedPrecision, difficulty[o]);
      Bounds ieee = boundsOf(job, o, Precision::IEEE, difficulty[o]);
      off = m.max;
      ok = m.mismatches == 0 && m.max <= 2 * (accepted.max + ieee.max) &&
           m.frobenius <= 2 * (accepted.frobenius + ieee.frobenius);
    } else {
      ok = compareExact(tensor, mine.data(), theirs.data()).mismatches == 0;
    }
    if (!ok) {
      char text[240];
      snprintf(text, sizeof(text),
               "timed call %lld of the candidate gives a wrong result %zu "
               "(largest error %.3g), though it was right when validated: "
               "work was skipped, cached or finished late",
               (long long)candidate->ns.size(), o, off);
      failure = {Status::Wrong, text};
      return false;
    }
  }
  ++verdict.audit.timedOutputsChecked;
  return true;
}

bool Timer::auditOutput(size_t set, const Case &trial) {
  Session::place(oracleOutputs, Placement::Start);
  Session::poison(oracleOutputs);
  CallTime time;
  if (!oracle->map(0, Session::buffersOf(sets[set], oracleOutputs), failure) ||
      !oracle->call(0, 600, time, failure) || !oracle->unmap(0, failure)) {
    failure.status = Status::Error;
    return false;
  }
  std::vector<Difficulty> own = difficulty;
  for (size_t o = 0; o < job.outputs.size(); ++o)
    own[o].baseline =
        session.measureOutput(o, baseline->outputs[set], oracleOutputs);
  TrialError error;
  error.distribution = "timed";
  error.trial = trial.trial;
  Precision got =
      judgeOutputs(session, candidate->outputs[set], oracleOutputs, own, error);
  if (got > job.acceptedPrecision) {
    verdict.errors.push_back(error);
    failure = {Status::Wrong,
               "an audited timed call of the candidate, on inputs never seen "
               "before, gives a wrong result"};
    return false;
  }
  ++verdict.audit.auditedCalls;
  return true;
}

/// One call of each program.
bool Timer::block(size_t number, bool audit) {
  size_t set = number % sets.size();
  Case trial = trials[set];
  if (audit) {
    trial.seed = random();
    for (size_t i = 0; i < job.inputs.size(); ++i)
      fillInput(job, i, trial, sets[set].buffers[i].data());
  } else {
    uint64_t fresh = random();
    for (size_t i = 0; i < job.inputs.size(); ++i)
      mutate(job, i, trial, fresh, sets[set].buffers[i].data());
  }
  session.rehash(sets[set]);
  std::vector<Contestant *> order;
  for (Contestant &contestant : contestants)
    order.push_back(&contestant);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random() % i]);
  for (Contestant *contestant : order) {
    CallTime time;
    if (!callOnce(*contestant, set, time))
      return false;
    contestant->ns.push_back(time.ns);
    contestant->childNs.push_back(time.childNs);
  }
  return compareWithBaseline(set) && (!audit || auditOutput(set, trial));
}

void Timer::report() {
  TimingReport &timing = verdict.timing;
  timing.candidate = summarize(candidate->ns);
  timing.baseline = summarize(baseline->ns);
  timing.speedupOverBaseline =
      pairedRatio(baseline->ns, candidate->ns, random());
  if (incumbent) {
    timing.incumbent = summarize(incumbent->ns);
    timing.speedupOverIncumbent =
        pairedRatio(incumbent->ns, candidate->ns, random());
  }
  if (control)
    timing.aaRatio = pairedRatio(baseline->ns, control->ns, random());
  timing.belowResolution = timing.baseline->medianNs < 5 * timing.handshakeNs;
}

/// Looks at what has been measured so far. \p done: more samples would not
/// change the verdict.
bool Timer::decide(bool final, bool &done) {
  report();
  const TimingReport &timing = verdict.timing;
  char text[240];
  const Contestant *rival = incumbent ? incumbent : baseline;
  double rivalNs = quantile(rival->ns, 0.5);
  size_t samples = candidate->ns.size();
  // With three samples the interval is their range: one disturbed sample does
  // not drop a candidate, nor does one disturbance that hit them all.
  double spentNs = 0;
  for (double ns : candidate->ns)
    spentNs += ns;
  bool isLasting = outlastsDisturbance(spentNs, samples);
  const Ratio &overRival =
      incumbent ? *timing.speedupOverIncumbent : *timing.speedupOverBaseline;
  if (job.mode == Mode::Evaluate && job.time.screenRatio > 0 && samples >= 3 &&
      isLasting && overRival.high * job.time.screenRatio < 1) {
    snprintf(text, sizeof(text),
             "dropped after %zu samples: %.4g us, more than %.3g times the "
             "%s's %.4g us",
             samples, timing.candidate->medianNs * 1e-3, job.time.screenRatio,
             rival->name, rivalNs * 1e-3);
    failure = {Status::Slow, text};
    return false;
  }
  done = false;
  if (int64_t(samples) >= job.time.minSamples &&
      verdict.audit.auditedCalls >= 2) {
    double width = (overRival.high - overRival.low) / (2 * overRival.median);
    double wanted = job.mode == Mode::Promote ? 0.003 : 0.01;
    // Precise enough, or lost for certain.
    done =
        width < wanted || (job.mode == Mode::Evaluate && overRival.high < 0.95);
  }
  if (!final)
    return true;

  // The floor is physics; the handshake is not part of the kernel.
  double net = timing.candidate->medianNs - timing.handshakeNs;
  if (job.floorNs > 0 && net < 0.97 * job.floorNs) {
    snprintf(text, sizeof(text),
             "%.4g us without the handshake is faster than 0.97 of the floor, "
             "%.4g us: no kernel can do the work in that time",
             net * 1e-3, job.floorNs * 1e-3);
    failure = {Status::Impossible, text};
    return false;
  }
  // The clocks of both sides must tell the same story.
  std::vector<double> gaps;
  for (size_t i = 0; i < samples; ++i)
    gaps.push_back(candidate->ns[i] - candidate->childNs[i]);
  double gap = quantile(gaps, 0.5);
  double allowed =
      10 * handshakeP90 + 200e3 + 0.05 * timing.candidate->medianNs;
  if (gap > allowed) {
    snprintf(text, sizeof(text),
             "the candidate's clock shows %.4g us less per call than passed "
             "(%.4g us allowed): it was tampered with",
             gap * 1e-3, allowed * 1e-3);
    failure = {Status::Refused, text};
    return false;
  }
  // Calls on new inputs must take no longer: pairing with the baseline's call
  // on the same inputs takes out what the machine did.
  std::vector<double> audited, others;
  for (size_t i = 0; i < samples; ++i) {
    bool isAudit = std::find(auditBlocks.begin(), auditBlocks.end(), i) !=
                   auditBlocks.end();
    (isAudit ? audited : others).push_back(candidate->ns[i] / baseline->ns[i]);
  }
  if (audited.size() >= 2 && !others.empty()) {
    double least = *std::min_element(audited.begin(), audited.end());
    double usual = quantile(others, 0.5);
    if (least > 2 * usual &&
        least * timing.baseline->medianNs > 5 * timing.handshakeNs) {
      snprintf(text, sizeof(text),
               "calls on inputs never seen before take at least %.3g times as "
               "long as others: results are cached between calls",
               least / usual);
      failure = {Status::Wrong, text};
      return false;
    }
  }
  return true;
}

bool Timer::run() {
  if (!calibrate() || !create())
    return false;
  uint64_t begin = clockNs();
  auto seconds = [&] { return double(clockNs() - begin) * 1e-9; };
  double budget = job.time.maxSeconds;

  // Warm-up: page tables, threads, clocks. Not recorded, but not unchecked:
  // inputs and canaries are.
  for (int round = 0; round < 2; ++round)
    for (Contestant &contestant : contestants) {
      CallTime time;
      if (!callOnce(contestant, size_t(round) % sets.size(), time))
        return false;
      if (round > 0 && seconds() > budget / 4)
        break;
    }

  // Two audits fall among the first samples, then about one in sixteen. All
  // are secret: drawn here, after the candidate was built.
  size_t least = size_t(job.time.minSamples);
  size_t firstAudit = random() % (least - 1);
  size_t secondAudit = firstAudit + 1 + random() % (least - 1 - firstAudit);
  bool done = false;
  for (size_t number = 0;; ++number) {
    bool audit = number == firstAudit || number == secondAudit ||
                 (number >= least && random() % 16 == 0);
    if (audit)
      auditBlocks.push_back(number);
    if (!block(number, audit))
      return false;
    size_t samples = number + 1;
    bool enough = samples >= least;
    // One call so long that the minimum would take many times the budget:
    // three samples must do.
    if (!enough && samples >= 3 && seconds() > 4 * budget &&
        verdict.audit.auditedCalls > 0)
      enough = true;
    bool over = enough && seconds() > budget;
    // Looking costs a bootstrap: not after every small sample.
    if (over || samples == 3 || (samples >= least && samples % 8 == 0) ||
        samples == least) {
      if (!decide(false, done))
        return false;
      if ((enough && done) || over)
        break;
    }
  }
  if (!decide(true, done))
    return false;
  for (Contestant &contestant : contestants)
    session.account(*contestant.child);
  session.account(*oracle);
  return true;
}

bool fastk::worker::timeCandidate(Session &session,
                                  const std::vector<Difficulty> &difficulty,
                                  Failure &failure) {
  return Timer(session, difficulty, failure).run();
}
