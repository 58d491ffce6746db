//===- VerdictNumbers.cpp - What is counted of a verdict ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/VerdictNumbers.h"

using namespace fastk::worker;

static constexpr char kEvaluations[] = "_evaluations_total",
                      kEvaluationsHelp[] =
                          "Evaluations by the status of their verdicts",
                      kSeconds[] = "_evaluation_seconds_total",
                      kSecondsHelp[] =
                          "Seconds that evaluations took on workers",
                      kDisturbed[] = "_disturbed_total",
                      kDisturbedHelp[] = "Evaluations whose times others on "
                                         "the machine disturbed";

std::vector<VerdictNumber>
fastk::worker::zeroNumbers(const std::string &prefix) {
  std::vector<VerdictNumber> numbers = {
      {prefix + kSeconds, kSecondsHelp, {}, 0},
      {prefix + kDisturbed, kDisturbedHelp, {}, 0}};
  for (int status = 0; status <= int(Status::Disagreement); ++status)
    numbers.push_back({prefix + kEvaluations,
                       kEvaluationsHelp,
                       {{"status", std::string(toString(Status(status)))}},
                       0});
  return numbers;
}

std::vector<VerdictNumber> fastk::worker::numbersOf(const Verdict &verdict,
                                                    const std::string &prefix) {
  std::vector<VerdictNumber> numbers;
  auto tell = [&](const char *name, const char *help, double value,
                  std::vector<std::pair<std::string, std::string>> labels) {
    numbers.push_back({prefix + name, help, std::move(labels), value});
  };
  tell(kEvaluations, kEvaluationsHelp, 1,
       {{"status", std::string(toString(verdict.status))}});
  tell(kSeconds, kSecondsHelp, verdict.resources.wallSeconds, {});
  for (const PhaseTime &phase : verdict.phases)
    if (!phase.isBeside)
      tell("_phase_seconds_total", "Seconds of evaluations by their phases",
           phase.seconds, {{"phase", phase.name}});
  if (verdict.timing.tooBusy)
    tell(kDisturbed, kDisturbedHelp, 1, {});
  if (!verdict.gpu)
    return numbers;
  const GpuReport &gpu = *verdict.gpu;
  tell("_gpu_readings_total", "Readings of a GPU while it was timed",
       double(gpu.readings), {{"model", gpu.name}});
  tell("_gpu_throttled_total",
       "Readings at which the GPU held itself back: heat, power, a fault",
       double(gpu.throttled), {{"model", gpu.name}});
  auto gauge = [&](const char *name, const char *help,
                   const std::optional<Gauge> &value) {
    if (value)
      tell(name, help, value->high, {{"model", gpu.name}});
  };
  gauge("_gpu_sm_clock_mhz", "The highest of the last evaluation", gpu.smClock);
  gauge("_gpu_power_watts", "The highest of the last evaluation", gpu.power);
  gauge("_gpu_temperature_celsius", "The highest of the last evaluation",
        gpu.temperature);
  return numbers;
}
