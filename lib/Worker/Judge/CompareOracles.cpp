//===- CompareOracles.cpp - The device's oracle against the host's --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Oracle, conditions, default lowering and schedules of a device go through the
// same passes: what these get wrong all of them agree on. The host's oracle
// shares the promotion to f64 with the device's and nothing behind it.
//
//===----------------------------------------------------------------------===//

#include "CompareOracles.h"
#include "Clock.h"
#include "Host/HostDevice.h"
#include "OracleAgreement.h"
#include "Phases.h"
#include "Values/Random.h"
#include <algorithm>

using namespace fastk::worker;

/// One unlucky element is no wrong lowering: that shows on every draw.
static constexpr int draws = 3;

/// The job as the host sees it.
static Job onHost(const Job &job) {
  Job host = job;
  host.device = DeviceKind::Host;
  host.oracle = *job.hostOracle;
  host.condition = job.hostCondition;
  return host;
}

namespace {

/// A program and where its results go.
struct Side {
  Device &device;
  ProgramRole part;
  std::unique_ptr<ProgramInstance> program = nullptr;
  std::unique_ptr<Results> results = nullptr;
};

class Comparison {
public:
  Comparison(Device &device, Verdict &verdict, Failure &failure)
      : device(device), job(device.job), hostJob(onHost(job)), host(hostJob),
        verdict(verdict), failure(failure) {}

  bool run();

private:
  bool start(Side &side, const char *whose);
  bool call(Side &side, const Operands &operands, const char *whose);
  bool compare(const Trial &trial, bool &agrees, std::string &why);
  bool blame(const char *whose) {
    failure.reason = std::string(whose) + ": " + failure.reason;
    failure.status = Status::Error;
    return false;
  }

  Device &device;
  const Job &job;
  const Job hostJob;
  HostDevice host;
  Verdict &verdict;
  Failure &failure;
  Side ofDevice{device, ProgramRole::Oracle}, ofHost{host, ProgramRole::Oracle},
      conditions{host, ProgramRole::Condition};
  std::unique_ptr<Operands> operands, copies;
  Placement placement = Placement::End;
  int64_t judged = 0;
};

} // namespace

static const char *const onTheDevice = "the device's oracle";
static const char *const onTheHost = "the host's oracle";

bool Comparison::start(Side &side, const char *whose) {
  side.program = side.device.start(side.part, 1, verdict, failure);
  side.results =
      side.program ? side.device.createResults(side.part, failure) : nullptr;
  return side.results || blame(whose);
}

bool Comparison::call(Side &side, const Operands &with, const char *whose) {
  // As in an evaluation, trusted programs get the time that they need.
  constexpr double seconds = 600;
  CallTime time;
  side.device.place(*side.results, placement);
  side.device.poison(*side.results);
  if (!side.program->map(0, &with, side.results.get(), failure) ||
      !side.program->call(0, seconds, time, failure) ||
      !side.program->unmap(0, failure))
    return blame(whose);
  if (std::string damage = side.device.damage(with, *side.results);
      !damage.empty()) {
    failure.reason = "it " + damage;
    return blame(whose);
  }
  return true;
}

/// Both oracles on one draw. \p why names the first result that is apart.
bool Comparison::compare(const Trial &trial, bool &agrees, std::string &why) {
  placement = placement == Placement::End ? Placement::Start : Placement::End;
  device.fill(*operands, trial, placement);
  // Host and device draw by the same formulas, though not to the last bit.
  host.copy(*copies, placement,
            [&](size_t index) { return device.bytesOf(*operands, index); });
  if (!call(ofDevice, *operands, onTheDevice) ||
      !call(ofHost, *copies, onTheHost) ||
      (conditions.program && !call(conditions, *copies, onTheHost)))
    return false;
  Phase phase("judge");
  agrees = true;
  for (size_t o = 0; o < job.outputs.size(); ++o) {
    bool judgesElements = conditions.program && isFloat(job.outputs[o].type);
    OracleResults results = {
        device.bytesOf(*ofDevice.results, o), host.bytesOf(*ofHost.results, o),
        judgesElements
            ? static_cast<const double *>(host.bytesOf(*conditions.results, o))
            : nullptr};
    OracleAgreement agreement = compareResults(job, o, trial.law, results);
    judged += agreement.judged;
    TrialError error;
    error.distribution = toString(trial.law);
    error.trial = trial.trial;
    error.output = int64_t(o);
    error.nanMismatch = agreement.mismatches;
    error.share = agreement.share;
    error.masked = agreement.masked;
    error.precision = agreement.agrees ? Precision::IEEE : Precision::None;
    verdict.errors.push_back(error);
    if (agreement.agrees)
      continue;
    if (agrees)
      why = "on " + error.distribution + ", " +
            describe(job, o, agreement, results);
    agrees = false;
  }
  return true;
}

bool Comparison::run() {
  if (!device.open(verdict, failure))
    return false;
  // What is known of the host's programs is no part of this verdict.
  Verdict ofPrograms;
  if (!host.open(ofPrograms, failure))
    return blame(onTheHost);
  if (!start(ofDevice, onTheDevice) || !start(ofHost, onTheHost) ||
      (hostJob.condition && !start(conditions, onTheHost)) ||
      !(operands = device.createOperands(failure)) ||
      !(copies = host.createOperands(failure)))
    return false;
  constexpr int exact = 53;
  uint64_t seed = job.seed ? uint64_t(*job.seed) : secretSeed() >> (64 - exact);
  verdict.audit.seed = seed;
  for (const Trial &trial : drawComparisons(job, seed)) {
    bool agrees = false;
    std::string first, why;
    for (int draw = 0; draw < draws && !agrees; ++draw) {
      Trial again = trial;
      if (draw > 0)
        again.seed = bitsAt(trial.seed, 7000 + uint64_t(draw));
      if (!compare(again, agrees, why))
        return false;
      if (draw == 0)
        first = why;
    }
    ++verdict.audit.trials;
    std::string name(toString(trial.law));
    std::vector<std::string> &names = verdict.audit.distributions;
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
    if (!agrees) {
      failure = {Status::Disagreement, first};
      return false;
    }
  }
  if (judged == 0) {
    failure = {Status::Unfit, "of no element can anything be asked: all "
                              "overflow, or may on the way; give the operands "
                              "a range"};
    return false;
  }
  return true;
}

Verdict fastk::worker::compareOracles(Device &device) {
  Verdict verdict;
  verdict.id = device.job.id;
  uint64_t begin = clockNs();
  PhaseLog phases;
  Failure failure;
  if (Comparison(device, verdict, failure).run()) {
    verdict.status = Status::OK;
    verdict.reason = "both oracles agree on " +
                     std::to_string(verdict.audit.trials) + " trials";
  } else {
    verdict.status = failure.status;
    verdict.reason = failure.reason;
  }
  verdict.phases = phases.take();
  verdict.resources.wallSeconds = double(clockNs() - begin) * 1e-9;
  return verdict;
}
