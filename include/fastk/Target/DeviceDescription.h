//===- DeviceDescription.h - What is known of a GPU -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Peaks feed a floor, a time that no kernel can beat, so they err high: the
// vendor's, or what was measured where that is more. Measured rates say what
// has been reached, for display.
//
// Of the device of this machine: queryCudaDevice() in Cuda/QueryDevice.h.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TARGET_DEVICEDESCRIPTION_H
#define FASTK_TARGET_DEVICEDESCRIPTION_H

#include "fastk/Target/TargetDescription.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// Operations per second by type of the operands, a multiply-add counted as
/// two, dense. 0: unknown.
struct DeviceRates {
  double f64 = 0, f32 = 0, tf32 = 0, f16 = 0, bf16 = 0, f8 = 0;
  /// Bytes per second of device memory.
  double memory = 0;
};

struct DeviceDescription {
  /// "sm_90a".
  std::string arch;
  /// As the driver names it: "NVIDIA H200".
  std::string model;
  unsigned multiprocessors = 0;
  /// The highest clock of the multiprocessors.
  double clockHz = 0;
  int64_t memoryBytes = 0, l2Bytes = 0;
  /// Of L2, what may be set aside for persisting accesses.
  int64_t persistingL2Bytes = 0;
  /// Static and default dynamic limit of a block; what a block may opt in to;
  /// what a multiprocessor has; what of it each block costs beside its own.
  int64_t sharedBytesPerBlock = 0, sharedBytesPerBlockOptIn = 0,
          sharedBytesPerMultiprocessor = 0, sharedBytesReserved = 0;
  unsigned registersPerBlock = 0, registersPerMultiprocessor = 0;
  unsigned threadsPerBlock = 0, threadsPerMultiprocessor = 0,
           blocksPerMultiprocessor = 0, warpSize = 32;
  /// Blocks of a cluster: portably, and with opt-in. 1 where there are none.
  unsigned clusterSize = 1, clusterSizeOptIn = 1;
  bool hasTensorMaps = false;
  /// By datasheet, or from the architecture and the clock; what was measured
  /// where that is more.
  DeviceRates peak;
  /// Reached by kernels of ours that do nothing else (DeviceCalibration.h); 0:
  /// not measured. Memory: the better of a copy and of reading alone.
  DeviceRates measured;
  /// Bytes per second read out of L2; seconds that an empty kernel takes
  /// between two events. 0: not measured.
  double measuredL2 = 0, emptyLaunch = 0;
  /// The day of the calibration, "2026-11-21"; empty without one.
  std::string measuredOn;

  /// What the floor needs, as the target "cuda:<arch>".
  TargetDescription target() const;
};

/// The description to cross-compile with, by architecture ("sm_90a": NVIDIA
/// H200), with its calibration. None for an architecture without one:
/// deviceArchitectures() lists those there are. \p problem receives what is
/// wrong with a calibration in the user's cache folder, which is then left
/// aside.
std::optional<DeviceDescription> describeDevice(const std::string &arch,
                                                std::string *problem = nullptr);
std::vector<std::string> deviceArchitectures();

/// The memory of the device that describeDevice() knows for a target as
/// "cuda:sm_90a"; 0 for all others. Reads no file.
int64_t memoryBytesOf(const std::string &target);

/// Adds the calibration of its model, where there is one. Returns what is wrong
/// with one that was left aside, for a warning; empty where all is well.
std::string calibrate(DeviceDescription &device);

/// Peak rates of compute capability \p major.\p minor at this clock and with so
/// many multiprocessors, without memory. Zeros where the capability is unknown.
DeviceRates peakRates(int major, int minor, unsigned multiprocessors,
                      double clockHz);

} // namespace fastk

#endif // FASTK_TARGET_DEVICEDESCRIPTION_H
