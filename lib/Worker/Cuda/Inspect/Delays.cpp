//===- Delays.cpp - The same operands on many schedules -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The candidate is right, timed, and may have been looked at by
// compute-sanitizer. Now its PTX gets delays (DelayPTX.h) and is called on one
// set of operands under hundreds of schedules. A program whose warps wait for
// each other gives the same bits on all of them; one that is right by chance
// gives others, or none.
//
//===----------------------------------------------------------------------===//

#include "Clock.h"
#include "Cuda/Child/CudaChild.h"
#include "Cuda/CudaDevice.h"
#include "Evaluation.h"
#include "Phases.h"
#include "Process/RunTool.h"
#include "Schedules.h"
#include "Values/Random.h"
#include "fastk/Cuda/Nvrtc.h"
#include <algorithm>
#include <cstring>

using namespace fastk;
using namespace fastk::worker;
using cuda::Schedule;

namespace {

/// Schedules that are run however long they take.
constexpr int64_t fewestSchedules = 50;
/// So many times more, in so many times the seconds, where racecheck doubts a
/// program that it cannot follow.
constexpr int64_t moreForDoubts = 4, secondsForDoubts = 2;
/// Beyond so many times the seconds even the fewest are not run.
constexpr double patience = 3;
/// How much longer than without delays a call may take, about.
constexpr double mostDelayNs = 20e6;
/// As elsewhere: these programs are ours.
constexpr double trustedSeconds = 600;
/// Calls without delays, to learn whether bits repeat.
constexpr int plainCalls = 8;

/// One candidate under delays.
class DelayRuns {
public:
  DelayRuns(CudaDevice &device, GpuSession &session, const LaunchPlan &plan,
            GpuReport &report, bool isDoubted, bool mayDiffer)
      : device(device), session(session), plan(plan), report(report),
        isDoubted(isDoubted), mayDiffer(mayDiffer) {}

  /// False with a failure of the candidate's or of ours. Sets the report's
  /// `delays`; it begins with "not run" where nothing is known.
  /// \p program: the candidate as it was judged.
  bool run(const std::string &program, const DelayedImage &image,
           Verdict &verdict, Failure &failure);

private:
  bool call(const Schedule &schedule, Failure &failure);
  bool callTrusted(ProgramRole part, std::unique_ptr<Results> &into,
                   Failure &failure);
  bool callOnce(ProgramInstance &running, const Results &into,
                Failure &failure);
  bool learn(uint64_t plain, Failure &failure);
  bool runPlain(const std::string &program, uint64_t &bits, Failure &failure);
  bool runBuild(const DelayedBuild &each, uint64_t plain, Failure &failure);
  bool runSchedules(Failure &failure);
  bool keepsClass(bool &isRight, Failure &failure);
  bool isSame(bool &same, Failure &failure);
  bool find(const Schedule &schedule, int64_t number, const std::string &what,
            Failure &failure);
  std::string kindsOf(const Schedule &schedule);

  CudaDevice &device;
  GpuSession &session;
  const LaunchPlan &plan;
  GpuReport &report;
  const bool isDoubted, mayDiffer;
  /// At hand; and the share of schedules and seconds that each has.
  const DelayedBuild *build = nullptr;
  size_t builds = 1;
  std::unique_ptr<CudaChild> child;
  std::unique_ptr<Operands> operands;
  std::unique_ptr<Results> results, oracle, condition;
  uint64_t seed = 0;
  double limitSeconds = 10;
  CallTime time;
  /// Of the build at hand without delays: the bits, whether any repeat, the
  /// shortest call.
  uint64_t hash = 0;
  bool isRepeatable = true;
  double plainNs = 0;
  /// What a call takes longer where every place waits one nanosecond.
  double dearNs = 1;
  /// The bounds of results that do not repeat and have no conditions.
  Bounds rows;
};

} // namespace

/// One call of a program on its own: a trusted one, or the candidate as it is.
bool DelayRuns::callOnce(ProgramInstance &running, const Results &into,
                         Failure &failure) {
  CallTime ignored;
  double seconds = &into == results.get() ? limitSeconds : trustedSeconds;
  return running.map(0, operands.get(), &into, failure) &&
         running.call(0, seconds, ignored, failure) &&
         running.unmap(0, failure);
}

bool DelayRuns::call(const Schedule &schedule, Failure &failure) {
  std::string_view bytes(reinterpret_cast<const char *>(&schedule),
                         sizeof(schedule));
  return child->set(build->variable, bytes, failure) &&
         child->call(0, limitSeconds, time, failure, /*timed=*/false);
}

bool DelayRuns::callTrusted(ProgramRole part, std::unique_ptr<Results> &into,
                            Failure &failure) {
  into = device.createResults(part, failure);
  Verdict ignored;
  std::unique_ptr<ProgramInstance> running =
      into ? device.start(part, 1, ignored, failure) : nullptr;
  if (!running)
    return false;
  device.poison(*into);
  return callOnce(*running, *into, failure);
}

/// Calls without delays: their bits and their time; then what delays cost.
/// \p plain: the bits of the candidate as it was judged.
bool DelayRuns::learn(uint64_t plain, Failure &failure) {
  for (int i = 0; i < plainCalls; ++i) {
    if (!call(Schedule(), failure))
      return false;
    uint64_t got = device.hashOf(*results);
    if (i == 0)
      hash = got;
    isRepeatable &= got == hash;
    plainNs = i == 0 ? time.ns : std::min(plainNs, time.ns);
  }
  // The assembler may round differently; a race that is always lost now must
  // not be what the others are compared with.
  bool isRight = true;
  if (hash != plain && !keepsClass(isRight, failure))
    return false;
  if (!isRight) {
    failure.status = Status::Wrong;
    failure.reason = "the candidate gives results beyond its class when its "
                     "warps are held back by no more than places to wait at";
    return false;
  }
  Schedule some;
  some.warps = some.blocks = some.places = some.visits = ~uint32_t(0);
  some.threshold = 65536 / 16;
  some.nanoseconds = 255;
  if (!call(some, failure))
    return false;
  // A delay has its own cost: 16 of 16 places, 128 ns each.
  dearNs = std::max((time.ns - plainNs) * 16 / 128, 1.0);
  return true;
}

/// Whether the last results are right in the accepted class. False with a
/// failure, where a trusted program failed.
bool DelayRuns::keepsClass(bool &isRight, Failure &failure) {
  if (device.job.condition && !condition &&
      !callTrusted(ProgramRole::Condition, condition, failure))
    return false;
  if (!oracle && !callTrusted(ProgramRole::Oracle, oracle, failure))
    return false;
  isRight =
      worker::keepsClass(device, *results, *oracle, condition.get(), rows);
  return true;
}

/// Who comes first may decide what atomics add up to, in a program that is
/// right. Without any, other bits are a race.
bool DelayRuns::isSame(bool &same, Failure &failure) {
  same = device.hashOf(*results) == hash;
  if (same || (isRepeatable && !mayDiffer))
    return true;
  isRepeatable = false;
  return keepsClass(same, failure);
}

/// Which kinds of places suffice, each alone, to show it again.
std::string DelayRuns::kindsOf(const Schedule &schedule) {
  std::string text;
  Failure ignored;
  for (uint32_t kind = 0; kind < cuda::delayKinds; ++kind) {
    if (build->byKind[kind] == 0)
      continue;
    Schedule alone = schedule;
    alone.kinds = 1u << kind;
    for (int i = 0; i < 5 && child; ++i) {
      bool same = false;
      if (!call(alone, ignored) || !isSame(same, ignored))
        return text;
      if (same)
        continue;
      text += (text.empty() ? "" : ", ") +
              std::string(cuda::nameOf(cuda::DelayKind(kind)));
      break;
    }
  }
  return text;
}

bool DelayRuns::find(const Schedule &schedule, int64_t number,
                     const std::string &what, Failure &failure) {
  char text[200];
  snprintf(text, sizeof(text), "in schedule %lld of seed %llx (%s)",
           static_cast<long long>(number + 1),
           static_cast<unsigned long long>(seed), describe(schedule).c_str());
  report.delays = "found: " + what + " " + text;
  failure.reason =
      "the candidate " + what + " when its warps are held back, " + text;
  return false;
}

/// The bits of the candidate as it was judged.
bool DelayRuns::runPlain(const std::string &program, uint64_t &bits,
                         Failure &failure) {
  device.fill(*operands, {Distribution::Normal, 0, secretSeed(), 1},
              Placement::End);
  device.poison(*results);
  child =
      CudaChild::start(session, ProgramRole::Candidate, program, plan, failure);
  if (!child || !callOnce(*child, *results, failure))
    return false;
  bits = device.hashOf(*results);
  child.reset();
  return true;
}

bool DelayRuns::run(const std::string &program, const DelayedImage &image,
                    Verdict &verdict, Failure &failure) {
  const Job &job = device.job;
  limitSeconds = job.limits.wallSeconds > 0 ? job.limits.wallSeconds : 10;
  if (verdict.timing.baseline && job.limits.wallSeconds <= 0)
    limitSeconds =
        std::max(limitSeconds, 20e-9 * verdict.timing.baseline->medianNs);
  // Delays are ours: they must not be what a limit is reached by.
  limitSeconds += 1;
  seed = secretSeed();
  operands = device.createOperands(failure);
  results = operands ? device.createResults(ProgramRole::Candidate, failure)
                     : nullptr;
  uint64_t plain = 0;
  if (!results || !runPlain(program, plain, failure))
    return false;
  // These operands are one more trial of N(0, 1).
  for (const TrialError &error : verdict.errors)
    if (error.distribution == "normal") {
      rows.max = std::max(rows.max, error.bound);
      rows.frobenius = std::max(rows.frobenius, error.boundFrobenius);
    }
  builds = image.builds.size();
  for (const DelayedBuild &each : image.builds)
    if (!runBuild(each, plain, failure))
      return false;
  report.delays = isRepeatable ? "ok" : "ok: bits differ, within its class";
  if (isRepeatable)
    return true;
  verdict.audit.bitwiseDeterministic = false;
  if (!job.validate.requireDeterministic)
    return true;
  failure = {Status::Refused,
             "the candidate is not deterministic: held back, its warps give "
             "other bits, though within its class, and the job requires the "
             "same"};
  return false;
}

/// \p plain: as learn()'s.
bool DelayRuns::runBuild(const DelayedBuild &each, uint64_t plain,
                         Failure &failure) {
  build = &each;
  // One at a time has memory for its copies.
  child.reset();
  child = CudaChild::start(session, ProgramRole::Candidate, each.cubin, plan,
                           failure);
  if (!child || !child->map(0, operands.get(), results.get(), failure))
    return false;
  if (!learn(plain, failure)) {
    report.delays = "not run: " + failure.reason;
    if (failure.status == Status::Timeout || failure.status == Status::Crash) {
      failure.status = Status::Wrong;
      failure.reason += ", when its warps are held back for less than 1 us";
    }
    return false;
  }
  return runSchedules(failure);
}

/// Those of the build at hand.
bool DelayRuns::runSchedules(Failure &failure) {
  const Job &job = device.job;
  uint64_t begin = clockNs();
  int64_t more = isDoubted ? moreForDoubts : 1;
  auto shareOf = [&](int64_t all) {
    return (all * more + int64_t(builds) - 1) / int64_t(builds);
  };
  int64_t most = shareOf(job.delays.schedules);
  int64_t fewest = std::min(shareOf(fewestSchedules), most);
  double seconds = job.delays.seconds *
                   double(isDoubted ? secondsForDoubts : 1) / double(builds);
  double slowest = 0;
  for (int64_t i = 0; i < most; ++i) {
    double spent = double(clockNs() - begin) * 1e-9;
    if (spent > (i < fewest ? patience : 1) * seconds)
      break;
    // All builds together go through all kinds.
    int64_t number = report.schedules++;
    Schedule schedule = scheduleOf(seed, number, dearNs, mostDelayNs);
    if (!call(schedule, failure)) {
      if (failure.status == Status::Timeout) {
        failure.status = Status::Wrong;
        return find(schedule, number,
                    "does not end: it waits for what only came in time",
                    failure);
      }
      std::string reason = failure.reason;
      if (failure.status == Status::Crash)
        find(schedule, number, "crashes", failure);
      failure.reason += ": " + reason;
      return false;
    }
    slowest = std::max(slowest, time.ns);
    if (plainNs > 0)
      report.delaySlowdown = std::max(report.delaySlowdown, slowest / plainNs);
    std::string damage = device.damage(*operands, *results);
    bool same = false;
    if (!isSame(same, failure))
      return false;
    if (damage.empty() && same)
      continue;
    failure.status = Status::Wrong;
    find(schedule, number,
         !damage.empty() ? damage
         : isRepeatable  ? "gives other results"
                         : "gives results beyond its class",
         failure);
    if (std::string kinds = kindsOf(schedule); !kinds.empty()) {
      failure.reason += "; delays at " + kinds + " alone suffice";
      report.delays += "; at " + kinds;
    }
    return false;
  }
  return true;
}

void CudaDevice::beginAssembling() {
  std::string ptxas = cuda::findPtxas();
  if (job.delays.when == SanitizerOptions::When::Never || ptxas.empty())
    return;
  const Image &image = images[ProgramRole::Candidate];
  AssemblerRules rules;
  rules.multiprocessors = gpu->device.multiprocessors;
  auto volume = [](const Dim3 &dim) { return dim[0] * dim[1] * dim[2]; };
  for (const PlanStep &step : image.plan.steps)
    if (const auto *launch = std::get_if<Launch>(&step)) {
      rules.launches.push_back(
          {launch->kernel, volume(launch->block), volume(launch->grid)});
      rules.blocksWait |= launch->cooperative;
    }
  assembly = std::make_unique<DelayAssembly>(image.ptx, ptxas, gpu->device.arch,
                                             rules);
}

bool CudaDevice::delay(Verdict &verdict,
                       const std::optional<SanitizerResult> &opinion,
                       Failure &failure) {
  GpuReport &report = *verdict.gpu;
  using When = SanitizerOptions::When;
  auto without = [&](const std::string &why) {
    report.delays = "not run: " + why;
    if (job.delays.when == When::Required) {
      failure = {Status::Error,
                 "delays are required, but were not run: " + why};
      return false;
    }
    // Nobody has looked into what racecheck doubts. What it did not see is a
    // missing protection, as of every tool.
    bool isDoubted = opinion && opinion->kind == SanitizerResult::Finding;
    if (isDoubted)
      failure = {Status::Wrong,
                 "compute-sanitizer's racecheck " + opinion->text};
    return !isDoubted;
  };
  if (job.delays.when == When::Never)
    return without("the job asks for none");
  if (!assembly)
    return without("ptxas was not found; install a CUDA toolkit, or name one "
                   "by FASTK_CUDA_PATH");
  const Image &image = images[ProgramRole::Candidate];
  DelayedImage delayed;
  {
    Phase phase("assemble delays");
    delayed = assembly->wait();
  }
  Phase::wasSpentBeside("assemble delays", assembly->seconds());
  if (!delayed.error.empty())
    return without(delayed.error);
  report.delayPlaces = delayed.places;
  report.possibleDelayPlaces = delayed.possible;
  report.delayBuilds = int64_t(delayed.builds.size());
  Phase phase("delays");
  DelayRuns runs(*this, *gpu, image.plan, report, opinion.has_value(),
                 cuda::hasAtomics(image.ptx, launchedKernels(image.plan)));
  bool isRight = runs.run(image.bytes, delayed, verdict, failure);
  // What could not be started says nothing of the candidate.
  if (!isRight &&
      (failure.status == Status::Memory || failure.status == Status::Refused))
    return without(failure.reason);
  return isRight;
}
