//===- Calibrate.h - Measure the GPU of this machine ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_WORKER_CALIBRATE_H
#define FASTK_WORKER_CALIBRATE_H

#include "fastk/Target/DeviceCalibration.h"

namespace fastk::worker {

/// Measures CUDA device 0 with kernels of our own, in a few seconds; nothing
/// else should run there. Memory: 8 GiB, less on a small device. Returns why it
/// could not; empty for success. main() begins with isNvrtcChild().
std::string calibrateGpu(DeviceCalibration &calibration);

/// A reading of CUDA device 0 in a tenth of a second: what its memory gives and
/// its f32 units do, in bytes and operations a second. Memory: 1 GiB. Returns
/// why it could not; empty for success.
std::string measureGpuRates(double &readBytes, double &f32);

/// Measured rates beside the peaks, for a person.
std::string describe(const DeviceCalibration &calibration,
                     const DeviceDescription &device);

} // namespace fastk::worker

#endif // FASTK_WORKER_CALIBRATE_H
