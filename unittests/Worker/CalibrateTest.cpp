//===- CalibrateTest.cpp - Kernels that measure a GPU ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Worker/Calibrate.h"
#include "Cuda/Calibrate/CalibrateKernels.h"
#include "NeedsGpu.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/Driver.h"
#include "fastk/Cuda/QueryDevice.h"
#include <gtest/gtest.h>

using namespace fastk;
using namespace fastk::worker;
using namespace fastk::worker::test;

TEST(Calibrate, KernelsCompileForEveryArchitecture) {
  std::string error;
  if (!cuda::Nvrtc::get(error)) {
    std::printf("needs NVRTC: %s\n", error.c_str());
    return;
  }
  for (const char *arch : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"}) {
    cuda::CompileRequest request;
    request.source = calibrateKernels;
    request.arch = arch;
    cuda::CompileLimits limits;
    limits.wallSeconds = 60;
    cuda::CompileResult result = cuda::compileCached(request, limits);
    EXPECT_TRUE(result.ok()) << arch << ": " << result.error;
    for (const cuda::KernelFacts &kernel : result.kernels)
      EXPECT_EQ(kernel.spillStoreBytes, 0u) << arch << ": " << kernel.name;
    // C7510 and the like: products one after another, not at their rate.
    for (const cuda::CompilerWarning &warning : result.warnings)
      ADD_FAILURE() << arch << ": " << warning.code << " " << warning.text;
    EXPECT_TRUE(result.kernel("fastk_tensor_f16")) << arch;
  }
}

TEST(Calibrate, WithoutAGPUItSaysWhy) {
  std::string none;
  if (cuda::Driver::get(none))
    return;
  DeviceCalibration calibration;
  EXPECT_EQ(calibrateGpu(calibration), none);
}

TEST(Calibrate, WhatIsMeasuredIsPlausible) {
  NEEDS_GPU();
  DeviceCalibration calibration;
  ASSERT_EQ(calibrateGpu(calibration), "");
  std::string error;
  EXPECT_TRUE(parseDeviceCalibration(toJSON(calibration), error)) << error;
  DeviceDescription device;
  ASSERT_EQ(cuda::queryCudaDevice(device), "");
  EXPECT_EQ(applyCalibration(calibration, device), "");
  // Well written kernels get near the peaks, unless the GPU is held back or
  // shared.
  EXPECT_GT(calibration.copy, 0.5 * device.peak.memory);
  EXPECT_GT(calibration.rates.f32, 0.5 * device.peak.f32);
  EXPECT_GT(calibration.rates.f16, 0.3 * device.peak.f16);
  EXPECT_GT(calibration.l2, calibration.read);
}
