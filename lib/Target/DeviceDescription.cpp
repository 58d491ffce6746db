//===- DeviceDescription.cpp - What is known of a GPU ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Target/DeviceDescription.h"
#include "fastk/Target/DeviceCalibration.h"

namespace fastk {

/// NVIDIA H200 SXM, 141 GB.
static DeviceDescription h200() {
  DeviceDescription d;
  d.arch = "sm_90a";
  d.model = "NVIDIA H200";
  d.multiprocessors = 132;
  d.clockHz = 1.98e9;
  d.memoryBytes = 141000000000;
  // The larger of what is told of it (50 and 60 MiB): results may stay in L2
  // when the clock stops, so more of it lowers the floor.
  d.l2Bytes = int64_t(60) << 20;
  // CUDA C++ Programming Guide, technical specifications of 9.0.
  d.sharedBytesPerBlock = 48 << 10;
  d.sharedBytesPerBlockOptIn = 227 << 10;
  d.sharedBytesPerMultiprocessor = 228 << 10;
  d.sharedBytesReserved = 1 << 10;
  d.registersPerBlock = d.registersPerMultiprocessor = 65536;
  d.threadsPerBlock = 1024;
  d.threadsPerMultiprocessor = 2048;
  d.blocksPerMultiprocessor = 32;
  d.clusterSize = 8;
  d.clusterSizeOptIn = 16;
  d.hasTensorMaps = true;
  // Datasheet, dense; 64-bit floats on tensor cores.
  d.peak = {67e12, 67e12, 494.7e12, 989.4e12, 989.4e12, 1978.9e12, 4.8e12};
  return d;
}

std::vector<std::string> deviceArchitectures() { return {"sm_90a"}; }

std::string calibrate(DeviceDescription &device) {
  std::string problem;
  std::optional<DeviceCalibration> calibration =
      findDeviceCalibration(device.model, problem);
  if (!calibration)
    return problem;
  std::string why = applyCalibration(*calibration, device);
  return why.empty() ? problem
                     : "the calibration of " + device.model + " " + why +
                           "; it is left aside: remove " +
                           deviceCalibrationPath(device.model) +
                           ", or run fastk-worker --calibrate again";
}

/// What is known without a calibration.
static std::optional<DeviceDescription> findDevice(const std::string &arch) {
  if (arch != "sm_90a")
    return std::nullopt;
  return h200();
}

int64_t memoryBytesOf(const std::string &target) {
  static const std::string prefix = "cuda:";
  if (target.compare(0, prefix.size(), prefix) != 0)
    return 0;
  std::optional<DeviceDescription> device =
      findDevice(target.substr(prefix.size()));
  return device ? device->memoryBytes : 0;
}

std::optional<DeviceDescription> describeDevice(const std::string &arch,
                                                std::string *problem) {
  std::optional<DeviceDescription> device = findDevice(arch);
  if (!device)
    return std::nullopt;
  std::string text = calibrate(*device);
  if (problem)
    *problem = text;
  return device;
}

TargetDescription DeviceDescription::target() const {
  TargetDescription t;
  t.target = "cuda:" + arch;
  t.model = model;
  t.cores = multiprocessors;
  t.threads = multiprocessors * threadsPerMultiprocessor;
  t.clockHz = clockHz;
  t.vectorBytes = 16;
  t.hasFma = t.hasF16Arithmetic = true;
  // One L2 for all: TargetDescription counts l2Bytes for each core.
  t.l1Bytes = t.l2Bytes = 0;
  t.l3Bytes = l2Bytes;
  t.memoryBytes = memoryBytes;
  t.memoryBytesPerSecond = peak.memory;
  t.f64OpsPerSecond = peak.f64;
  t.f32OpsPerSecond = peak.f32;
  t.tf32OpsPerSecond = peak.tf32;
  t.f16OpsPerSecond = peak.f16;
  t.bf16OpsPerSecond = peak.bf16;
  return t;
}

DeviceRates peakRates(int major, int minor, unsigned multiprocessors,
                      double clockHz) {
  // Operations a cycle and multiprocessor; with tensor cores, the best
  // accumulator (CUDA C++ Programming Guide, arithmetic throughput; the
  // architectures' white papers).
  struct Row {
    int major, minor;
    double f64, f32, tf32, f16, f8;
  };
  static constexpr Row rows[] = {
      {8, 0, 128, 128, 1024, 2048, 0},     // A100
      {8, 6, 4, 256, 512, 1024, 0},        // A10, RTX 30
      {8, 9, 4, 256, 512, 1024, 2048},     // L40S, RTX 40
      {9, 0, 256, 256, 2048, 4096, 8192}}; // H100, H200
  DeviceRates rates;
  for (const Row &row : rows) {
    if (row.major != major || row.minor != minor)
      continue;
    double cycles = multiprocessors * clockHz;
    rates.f64 = row.f64 * cycles;
    rates.f32 = row.f32 * cycles;
    rates.tf32 = row.tf32 * cycles;
    rates.f16 = rates.bf16 = row.f16 * cycles;
    rates.f8 = row.f8 * cycles;
  }
  return rates;
}

} // namespace fastk
