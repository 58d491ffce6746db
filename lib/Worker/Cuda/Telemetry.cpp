//===- Telemetry.cpp - Clocks, power and temperature of the GPU -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Telemetry.h"
#include "Clock.h"
#include "GpuNeighbours.h"
#include <algorithm>
#include <dlfcn.h>

using namespace fastk;
using namespace fastk::worker;

namespace {

/// The part of NVML in use; names and numbers are those of its reference.
struct Nvml {
  using Device = void *;
  int (*init)() = nullptr;
  int (*getHandle)(const char *, Device *) = nullptr;
  int (*getClock)(Device, unsigned, unsigned *) = nullptr;
  int (*getPower)(Device, unsigned *) = nullptr;
  int (*getTemperature)(Device, unsigned, unsigned *) = nullptr;
  int (*getReasons)(Device, unsigned long long *) = nullptr;
  /// Optional, as is what follows.
  int (*getProcesses)(Device, unsigned *, void *) = nullptr;
  int (*getUtilization)(Device, void *, unsigned *,
                        unsigned long long) = nullptr;
  Device device = nullptr;

  /// nvmlProcessInfo_v2_t, which versions 2 and 3 of the call fill in.
  struct Process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpuInstance, computeInstance;
  };
  /// nvmlProcessUtilizationSample_t; percent.
  struct Utilization {
    unsigned pid;
    unsigned long long timeStamp;
    unsigned sm, memory, encoder, decoder;
  };
  static constexpr int success = 0, notFound = 6;

  explicit Nvml(const cuda::Driver &driver) {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return;
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(library, name));
      return function != nullptr;
    };
    char bus[64] = {};
    if (!find(getProcesses, "nvmlDeviceGetComputeRunningProcesses_v3"))
      find(getProcesses, "nvmlDeviceGetComputeRunningProcesses_v2");
    find(getUtilization, "nvmlDeviceGetProcessUtilization");
    bool ok = find(init, "nvmlInit_v2") &&
              find(getHandle, "nvmlDeviceGetHandleByPciBusId_v2") &&
              find(getClock, "nvmlDeviceGetClockInfo") &&
              find(getPower, "nvmlDeviceGetPowerUsage") &&
              find(getTemperature, "nvmlDeviceGetTemperature") &&
              find(getReasons, "nvmlDeviceGetCurrentClocksThrottleReasons") &&
              driver.cuDeviceGetPCIBusId(bus, int(sizeof(bus)), 0) ==
                  cuda::CUDA_SUCCESS &&
              init() == 0;
    if (!ok || getHandle(bus, &device) != 0)
      device = nullptr;
  }
};

} // namespace

/// Bits of NVML's reasons for a clock below the highest.
static constexpr unsigned long long isIdle = 0x01, isPowerCapped = 0x04;

/// What holds a GPU back; being idle and clocks set by its owner do not.
static constexpr std::pair<unsigned long long, const char *> reasons[] = {
    {isPowerCapped, "power cap"},
    {0x08, "hardware slowdown"},
    {0x20, "temperature, by software"},
    {0x40, "temperature, by hardware"},
    {0x80, "power brake"}};

static void add(std::optional<Gauge> &gauge, double value) {
  if (!gauge)
    gauge = Gauge{value, value};
  gauge->low = std::min(gauge->low, value);
  gauge->high = std::max(gauge->high, value);
}

/// Processes of others that were at work since the last call.
static std::vector<pid_t> strangersAtWork(const Nvml &nvml) {
  constexpr unsigned most = 256;
  static Nvml::Process listed[most];
  unsigned count = most;
  if (!nvml.getProcesses ||
      nvml.getProcesses(nvml.device, &count, listed) != Nvml::success)
    return {};
  std::vector<pid_t> processes;
  for (unsigned i = 0; i < std::min(count, most); ++i)
    processes.push_back(pid_t(listed[i].pid));
  std::vector<pid_t> strangers = strangersAmong(processes);
  if (strangers.empty() || !nvml.getUtilization)
    return strangers;
  // Who only keeps memory there does not disturb.
  static unsigned long long lastSeen = 0;
  static Nvml::Utilization samples[most];
  count = most;
  int code = nvml.getUtilization(nvml.device, samples, &count, lastSeen);
  if (code == Nvml::notFound)
    return {};
  if (code != Nvml::success)
    return strangers;
  std::vector<pid_t> working;
  for (unsigned i = 0; i < std::min(count, most); ++i) {
    lastSeen = std::max(lastSeen, samples[i].timeStamp);
    auto pid = pid_t(samples[i].pid);
    auto contains = [&](const std::vector<pid_t> &list) {
      return std::find(list.begin(), list.end(), pid) != list.end();
    };
    if (samples[i].sm > 0 && contains(strangers) && !contains(working))
      working.push_back(pid);
  }
  return working;
}

static std::string disturbance;

const std::string &fastk::worker::gpuDisturbance() { return disturbance; }

static void noteDisturbance(const std::string &what) {
  disturbance += (disturbance.empty() ? "" : ", ") + what;
}

/// What the reasons and the clock of a reading say.
static void noteClocks(unsigned long long bits, unsigned clock) {
  static unsigned lastClock = 0;
  for (auto [bit, name] : reasons)
    if (bit != isPowerCapped && (bits & bit))
      noteDisturbance(std::string("the GPU held itself back: ") + name);
  // Idle it sinks by itself, under a power cap by the work.
  bool isFree = !(bits & (isIdle | isPowerCapped));
  if (isFree && clock > 0 && clock < lastClock * 0.9)
    noteDisturbance("its clock fell from " + std::to_string(lastClock) +
                    " to " + std::to_string(clock) + " MHz");
  lastClock = clock;
}

static const Nvml &nvmlOf(const cuda::Driver &driver) {
  static const Nvml nvml(driver);
  return nvml;
}

std::string fastk::worker::gpuNeighbours() {
  std::string ignored, names;
  const cuda::Driver *driver = cuda::Driver::get(ignored);
  if (!driver || !nvmlOf(*driver).device)
    return "";
  for (pid_t process : strangersAtWork(nvmlOf(*driver)))
    names += (names.empty() ? "" : ", ") + describeProcess(process);
  return names;
}

void fastk::worker::readTelemetry(const cuda::Driver &driver,
                                  GpuReport &report) {
  const Nvml &nvml = nvmlOf(driver);
  // The gauges themselves are no faster.
  constexpr uint64_t apart = 20'000'000;
  static uint64_t last = 0;
  if (!nvml.device || (report.readings > 0 && clockNs() - last < apart))
    return;
  unsigned value = 0, clock = 0;
  constexpr unsigned smClock = 1, memoryClock = 2;
  if (nvml.getClock(nvml.device, smClock, &clock) == 0)
    add(report.smClock, clock);
  if (nvml.getClock(nvml.device, memoryClock, &value) == 0)
    add(report.memoryClock, value);
  if (nvml.getPower(nvml.device, &value) == 0)
    add(report.power, value * 1e-3);
  if (nvml.getTemperature(nvml.device, 0, &value) == 0)
    add(report.temperature, value);
  unsigned long long bits = 0;
  bool isHeldBack = false;
  disturbance.clear();
  if (nvml.getReasons(nvml.device, &bits) == 0) {
    noteClocks(bits, clock);
    for (auto [bit, name] : reasons)
      if (bits & bit) {
        isHeldBack = true;
        auto &names = report.throttleReasons;
        if (std::find(names.begin(), names.end(), name) == names.end())
          names.push_back(name);
      }
  }
  for (pid_t process : strangersAtWork(nvml))
    noteDisturbance(describeProcess(process) + " worked on the GPU");
  report.throttled += isHeldBack;
  ++report.readings;
  last = clockNs();
}
