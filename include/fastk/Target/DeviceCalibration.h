//===- DeviceCalibration.h - What a GPU has been measured to do -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `fastk-worker --calibrate` measures a GPU and keeps the result per model: in
// the user's cache folder, or, for models that fastk knows, in its source tree
// (lib/Target/Calibrations), so that --target=cuda:sm_90a has it without a GPU.
// docs/analysis.md describes the file and how each number is measured.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TARGET_DEVICECALIBRATION_H
#define FASTK_TARGET_DEVICECALIBRATION_H

#include "fastk/Target/DeviceDescription.h"

namespace fastk {

/// A measured GPU. Every rate is the best of many short runs; 0: not measured.
struct DeviceCalibration {
  /// As in DeviceDescription.
  std::string model, arch;
  /// Of the kernel module ("580.159.04"; empty where it does not say), the CUDA
  /// version it supports, NVRTC's version, the day ("2026-11-21", UTC).
  std::string driver, cuda, compiler, date;
  /// The highest clocks by the driver, in Hz.
  double clockHz = 0, memoryClockHz = 0;
  /// The clock of the multiprocessors seen while it was measured, in Hz; 0
  /// without NVML.
  double lowestClockHz = 0, highestClockHz = 0;
  /// Bytes per second: a copy (read and written bytes), reading alone, reading
  /// what stays in L2.
  double copy = 0, read = 0, l2 = 0;
  /// Operations per second, a multiply-add counted as two. f32 and f64 are the
  /// better of plain instructions and tensor cores; `rates.memory` is unused.
  DeviceRates rates;
  /// Seconds between two events around an empty kernel, the median.
  double emptyLaunch = 0;
};

/// The text of a calibration file.
std::string toJSON(const DeviceCalibration &calibration);

/// Reads one, which may be anything. On failure \p error says what is wrong
/// with it, as the rest of a sentence that begins with the file's name.
std::optional<DeviceCalibration> parseDeviceCalibration(const std::string &text,
                                                        std::string &error);

/// Where the user's calibration of a GPU model is kept:
/// "<cache folder>/device-nvidia-h200.json"; empty when no folder is known.
std::string deviceCalibrationPath(const std::string &model);

/// The user's calibration of the model, else the one fastk is shipped with,
/// else nothing. \p problem: what is wrong with the user's, with the remedy;
/// empty where it is good or not there.
std::optional<DeviceCalibration> findDeviceCalibration(const std::string &model,
                                                       std::string &problem);

/// Writes the user's file, whole or not at all. Returns why it could not.
std::string saveDeviceCalibration(const DeviceCalibration &calibration,
                                  const std::string &path);

/// Fills in what was measured, and raises peaks that it exceeds: a floor must
/// err low. Refuses a calibration of another GPU and one that is out of reach,
/// more than a quarter above a known peak: such a floor would let anything
/// pass. Returns why, as the rest of a sentence.
std::string applyCalibration(const DeviceCalibration &calibration,
                             DeviceDescription &device);

} // namespace fastk

#endif // FASTK_TARGET_DEVICECALIBRATION_H
