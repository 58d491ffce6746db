//===- Gauges.cpp - Clocks, power and temperature of the GPU --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gauges.h"
#include "../Clock.h"
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
  Device device = nullptr;

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

/// What holds a GPU back; being idle and clocks set by its owner do not.
static constexpr std::pair<unsigned long long, const char *> reasons[] = {
    {0x04, "power cap"},
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

void fastk::worker::readGauges(const cuda::Driver &driver, GpuReport &report) {
  static Nvml nvml(driver);
  // The gauges themselves are no faster.
  constexpr uint64_t apart = 20'000'000;
  static uint64_t last = 0;
  if (!nvml.device || (report.readings > 0 && clockNs() - last < apart))
    return;
  unsigned value = 0;
  constexpr unsigned smClock = 1, memoryClock = 2;
  if (nvml.getClock(nvml.device, smClock, &value) == 0)
    add(report.smClock, value);
  if (nvml.getClock(nvml.device, memoryClock, &value) == 0)
    add(report.memoryClock, value);
  if (nvml.getPower(nvml.device, &value) == 0)
    add(report.power, value * 1e-3);
  if (nvml.getTemperature(nvml.device, 0, &value) == 0)
    add(report.temperature, value);
  unsigned long long bits = 0;
  bool isHeldBack = false;
  if (nvml.getReasons(nvml.device, &bits) == 0)
    for (auto [bit, name] : reasons)
      if (bits & bit) {
        isHeldBack = true;
        auto &names = report.throttleReasons;
        if (std::find(names.begin(), names.end(), name) == names.end())
          names.push_back(name);
      }
  report.throttled += isHeldBack;
  ++report.readings;
  last = clockNs();
}
