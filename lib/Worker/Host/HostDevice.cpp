//===- HostDevice.cpp - Programs and clocks of this machine ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDevice.h"
#include "../Phases.h"
#include "Timing/Statistics.h"
#include "fastk/System/AvailableMemory.h"
#include <algorithm>
#include <map>
#include <sched.h>
#include <unistd.h>
#include <utility>

using namespace fastk;
using namespace fastk::worker;

/// Processors this process may use.
static int64_t processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
}

static int64_t lastLevelCache() {
  int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : int64_t(64) << 20;
}

namespace {

/// A program in a child process.
class HostProgram : public ProgramInstance {
public:
  HostProgram(const char *name, std::unique_ptr<Child> child, int64_t threads,
              bool maySpin, bool cold)
      : name(name), child(std::move(child)), threads(threads), maySpin(maySpin),
        cold(cold) {}

  std::string setTurn(uint32_t turn) override {
    const int64_t counts[] = {threads, 1, mostThreads(threads)};
    int64_t count = counts[turn % 3];
    child->setThreads(count);
    return count == threads ? ""
                            : ", with " + std::to_string(count) +
                                  (count == 1 ? " thread" : " threads");
  }

  /// More than there are processors for.
  static int64_t mostThreads(int64_t threads) { return 2 * threads + 1; }

  bool map(uint32_t slot, const Operands *operands, const Results *results,
           Failure &failure) override {
    std::vector<const SharedBuffer *> all, own;
    if (operands)
      for (const SharedBuffer &buffer :
           static_cast<const HostOperands *>(operands)->buffers)
        all.push_back(&buffer);
    std::vector<const SharedBuffer *> given = all;
    if (results) {
      const auto *set = static_cast<const HostResults *>(results);
      for (const SharedBuffer &buffer : set->buffers)
        own.push_back(&buffer);
      all.insert(all.end(), own.begin(), own.end());
      all.push_back(&set->workspace);
    }
    watches[slot] = ResultWatch(own);
    decoys[slot] = OperandTripwires(std::move(given), cold);
    return child->map(slot, all, failure);
  }

  bool unmap(uint32_t slot, Failure &failure) override {
    // A thread that goes on may also die of the buffers being taken away.
    bool unmapped = child->unmap(slot, failure);
    if (!unmapped && failure.status == Status::Crash)
      failure.reason += "; between calls: of a thread that outlived its call, "
                        "or of memory that the kernel destroyed";
    if (!checkLate(slot, failure) || !unmapped)
      return false;
    watches.erase(slot);
    decoys.erase(slot);
    return true;
  }

  bool call(uint32_t slot, double timeoutSeconds, CallTime &time,
            Failure &failure, bool timed) override {
    // Working ahead pays where the clock counts.
    OperandTripwires *hidden = timed ? &decoys[slot] : nullptr;
    if (hidden)
      hidden->set();
    if (!child->call(slot, timeoutSeconds, time, failure, timed && maySpin,
                     &watches[slot], hidden)) {
      if (hidden)
        hidden->reveal();
      return false;
    }
    if (watches[slot].wroteOutside())
      return blame(failure);
    // Threads that go on writing show themselves when they are let.
    if (calls++ < lingering &&
        (!child->linger(0.005, failure) || !checkLate(slot, failure)))
      return false;
    // Results of earlier calls, which nobody has touched since.
    for (const auto &entry : watches)
      if (entry.first != slot && !checkLate(entry.first, failure))
        return false;
    return true;
  }

  Resources finish() override { return child->finish(); }

private:
  bool checkLate(uint32_t slot, Failure &failure) {
    return !watches[slot].changedSinceStop() || blame(failure);
  }

  bool blame(Failure &failure) {
    failure = {Status::Wrong,
               std::string("the ") + name +
                   " wrote results before its kernel was called or after it "
                   "returned: work that no clock saw"};
    return false;
  }

  /// So many calls are followed by a moment in which nothing may happen.
  static constexpr int lingering = 2;

  const char *name;
  std::unique_ptr<Child> child;
  /// Of OpenMP, as it is timed.
  int64_t threads;
  int calls = 0;
  /// There is a processor that the program does not use.
  bool maySpin;
  /// Calls are timed on operands that are in no cache.
  bool cold;
  /// By slot.
  std::map<uint32_t, ResultWatch> watches;
  std::map<uint32_t, OperandTripwires> decoys;
};

} // namespace

/// The bytes that the tensors of one trial take at least: operands, and the
/// results that are compared.
static double trialBytes(const Job &job) {
  double bytes = 0;
  for (const Tensor &tensor : job.inputs)
    bytes += double(tensor.bytes());
  for (ProgramRole part :
       {ProgramRole::Oracle, ProgramRole::Condition, ProgramRole::Candidate})
    if (programOf(job, part))
      for (const Tensor &tensor : job.outputs)
        bytes += storesDoubles(part) && isFloat(tensor.type)
                     ? 8 * double(tensor.elements())
                     : double(tensor.bytes());
  return bytes;
}

bool HostDevice::open(Verdict &verdict, Failure &failure) {
  double needed = trialBytes(job), available = double(fastk::availableMemory());
  if (needed > available) {
    failure = {Status::Unfit,
               "a trial takes at least " + fastk::showBytes(needed) +
                   " of memory (operands, and the results of candidate, "
                   "oracle and conditions), and " +
                   fastk::showBytes(available) +
                   " are available: search on a machine with more, or export "
                   "the model with smaller shapes"};
    return false;
  }
  threads = job.time.threads ? job.time.threads : processors();
  verdict.timing.threads = threads;
  verdict.timing.cache = job.time.cache;
  for (auto [part, image] : {std::pair(ProgramRole::Oracle, &oracle),
                             std::pair(ProgramRole::Condition, &condition),
                             std::pair(ProgramRole::Baseline, &baseline),
                             std::pair(ProgramRole::Incumbent, &incumbent),
                             std::pair(ProgramRole::Candidate, &candidate)}) {
    const Program *program = programOf(job, part);
    std::string error;
    if (program && !image->read(program->path, error)) {
      failure = {Status::Error, std::string("the ") + nameOf(part) +
                                    " cannot be read: " + error};
      return false;
    }
  }
  verdict.audit.candidateHash = candidate.hash();
  return true;
}

const ProgramImage *HostDevice::imageOf(ProgramRole part) const {
  switch (part) {
  case ProgramRole::Oracle:
    return &oracle;
  case ProgramRole::Condition:
    return &condition;
  case ProgramRole::Baseline:
  case ProgramRole::Control:
    return &baseline;
  case ProgramRole::Incumbent:
    return &incumbent;
  case ProgramRole::Candidate:
    return &candidate;
  case ProgramRole::Empty:
    return nullptr;
  }
  return nullptr;
}

/// The protections in force, for the verdict.
static void listProtections(uint32_t active, Verdict &verdict) {
  static constexpr std::pair<sandbox::Protection, const char *> names[] = {
      {sandbox::ProtectRlimits, "rlimits"},
      {sandbox::ProtectNoNewPrivileges, "no-new-privileges"},
      {sandbox::ProtectCapabilities, "no-capabilities"},
      {sandbox::ProtectUser, "own-user"},
      {sandbox::ProtectThreads, "thread-limit"},
      {sandbox::ProtectNetwork, "no-network"},
      {sandbox::ProtectLandlock, "landlock"},
      {sandbox::ProtectSeccomp, "seccomp"}};
  for (auto [bit, text] : names)
    (active & bit ? verdict.protections : verdict.missingProtections)
        .push_back(text);
  for (const char *always :
       {"own-process", "sealed-inputs", "guard-pages", "canaries",
        "poisoned-outputs", "scrubbed-environment", "watchdog"})
    verdict.protections.push_back(always);
}

std::string fastk::worker::probeHost(std::vector<std::string> &missing) {
  const Job job;
  ChildOptions options;
  options.memoryBytes = job.limits.memoryBytes;
  options.fileBytes = job.limits.fileBytes;
  Failure failure;
  std::unique_ptr<Child> child =
      Child::start(nameOf(ProgramRole::Empty), nullptr, options, failure);
  if (!child)
    return failure.reason;
  Verdict verdict;
  listProtections(child->protections(), verdict);
  missing = verdict.missingProtections;
  return "";
}

std::unique_ptr<ProgramInstance> HostDevice::start(ProgramRole part,
                                                   int64_t sets,
                                                   Verdict &verdict,
                                                   Failure &failure) {
  Phase phase("start");
  ChildOptions options;
  options.threads = threads;
  options.mostThreads = isTiming ? threads : HostProgram::mostThreads(threads);
  options.threadLimit =
      job.limits.threads ? job.limits.threads : 4 * threads + 8;
  options.memoryBytes = job.limits.memoryBytes;
  options.fileBytes = job.limits.fileBytes;
  const Program *program = programOf(job, part);
  int64_t bytes = program ? program->workspaceBytes : 0;
  for (const Tensor &tensor : job.inputs)
    bytes += tensor.bytes();
  for (const Tensor &tensor : job.outputs)
    bytes += tensor.elements() * 8;
  int64_t count = int64_t(job.inputs.size() + job.outputs.size()) + 1;
  options.bufferBytes = sets * (bytes + count * 4 * int64_t(pageSize));
  std::unique_ptr<Child> child =
      Child::start(nameOf(part), imageOf(part), options, failure);
  if (!child)
    return nullptr;
  if (verdict.protections.empty() && verdict.missingProtections.empty())
    listProtections(child->protections(), verdict);
  return std::make_unique<HostProgram>(nameOf(part), std::move(child), threads,
                                       threads < processors(),
                                       job.time.cache == Cache::Cold);
}

size_t HostDevice::rotatingSets(size_t wanted,
                                const std::vector<ProgramRole> &parts) {
  int64_t bytes = 0;
  for (const Tensor &tensor : job.inputs)
    bytes += tensor.bytes();
  for (ProgramRole part : parts) {
    bytes += workspaceBytesOf(job, part);
    for (const Tensor &tensor : job.outputs)
      bytes += tensor.bytes();
  }
  while (wanted > 1 && int64_t(wanted) * bytes > fastk::availableMemory() / 2)
    --wanted;
  return wanted;
}

void HostDevice::flush(const Operands &operands, const Results &results) {
  Phase phase("flush");
  int64_t footprint = 0;
  for (const Tensor &tensor : job.inputs)
    footprint += tensor.bytes();
  for (const Tensor &tensor : job.outputs)
    footprint += tensor.bytes();
  // What exceeds the caches evicts itself.
  if (job.time.cache != Cache::Cold ||
      footprint > std::max(alwaysFlushedBytes, 4 * lastLevelCache()))
    return;
  for (const SharedBuffer &buffer :
       static_cast<const HostOperands &>(operands).buffers)
    buffer.flush();
  const auto &set = static_cast<const HostResults &>(results);
  for (const SharedBuffer &buffer : set.buffers)
    buffer.flush();
  set.workspace.flush();
}

void HostDevice::settle() { load = HostLoad(); }

bool HostDevice::isDisturbed(const CallTime &time) {
  // Less is what it takes to wake up beside the worker, which runs until the
  // call begins: 5 or 65 us on an EPYC, and calls of both kinds take as long. A
  // program that takes a processor has it for a slice of the scheduler, which
  // is 700 us and more.
  constexpr double unavoidableNs = 150e3, share = 0.02;
  return time.waitedNs > unavoidableNs + share * time.ns;
}

std::string
HostDevice::describeDisturbance(const std::vector<CallTime> &times) {
  double waited = 0, passed = 0;
  for (const CallTime &time : times) {
    // It may have begun before the call.
    waited += std::min(time.waitedNs, time.ns);
    passed += time.ns;
  }
  char text[120];
  snprintf(text, sizeof(text),
           "calls waited %.0f %% of their time for a processor",
           passed > 0 ? 100 * waited / passed : 0);
  std::string others = load.describe();
  return others + (others.empty() ? "" : ", ") + text;
}

std::string HostDevice::distrust(const CallTime &time) {
  if (time.otherNs <= time.ns + 1000)
    return {};
  return "'s clock shows more time than passed: it was tampered with";
}

/// What the child's clock does not show of a call: waking up on both sides, but
/// for what is known that the worker or the program waited for a processor. On
/// a busy machine that takes now microseconds, now a turn of the scheduler.
static double gapOf(const std::vector<CallTime> &times, double share) {
  std::vector<double> gaps;
  for (const CallTime &time : times)
    gaps.push_back(std::max(time.ns - time.otherNs - time.waitedNs, 0.0));
  return quantile(gaps, share);
}

std::string HostDevice::distrust(const std::vector<CallTime> &times,
                                 const std::vector<CallTime> &trusted,
                                 double handshakeP90) {
  std::vector<double> ns;
  for (const CallTime &time : times)
    ns.push_back(time.ns);
  double gap = gapOf(times, 0.5);
  // On a busy machine waking up takes long, for the baseline as well, and the
  // medians of few calls differ by chance.
  double allowed = 10 * handshakeP90 + 200e3 + 0.05 * quantile(ns, 0.5) +
                   3 * std::max(0.0, gapOf(trusted, 0.75));
  if (gap <= allowed)
    return {};
  char text[200];
  snprintf(text, sizeof(text),
           "'s clock shows %.4g us less per call than passed (%.4g us "
           "allowed): it was tampered with",
           gap * 1e-3, allowed * 1e-3);
  return text;
}
