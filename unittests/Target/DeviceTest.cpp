//===- DeviceTest.cpp - Descriptions of GPUs ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Target/DeviceDescription.h"
#include "gtest/gtest.h"

using namespace fastk;

namespace {

TEST(Device, EveryListedArchitectureHasADescription) {
  ASSERT_FALSE(deviceArchitectures().empty());
  for (const std::string &arch : deviceArchitectures()) {
    std::optional<DeviceDescription> device = describeDevice(arch);
    ASSERT_TRUE(device) << arch;
    EXPECT_EQ(device->arch, arch);
    // A block fits a multiprocessor; what was reached is no more than the peak.
    EXPECT_LE(device->sharedBytesPerBlockOptIn + device->sharedBytesReserved,
              device->sharedBytesPerMultiprocessor);
    EXPECT_LE(device->threadsPerBlock, device->threadsPerMultiprocessor);
    for (double DeviceRates::*rate :
         {&DeviceRates::f64, &DeviceRates::f32, &DeviceRates::tf32,
          &DeviceRates::f16, &DeviceRates::bf16, &DeviceRates::f8,
          &DeviceRates::memory}) {
      EXPECT_GT(device->measured.*rate, 0.5 * (device->peak.*rate));
      EXPECT_LE(device->measured.*rate, device->peak.*rate);
    }
    EXPECT_GT(device->measuredL2, device->measured.memory);
    EXPECT_FALSE(device->measuredOn.empty());
  }
  EXPECT_FALSE(describeDevice("sm_70"));
  EXPECT_FALSE(describeDevice(""));
}

TEST(Device, H200AsATarget) {
  TargetDescription target = describeDevice("sm_90a")->target();
  EXPECT_EQ(target.target, "cuda:sm_90a");
  EXPECT_EQ(target.model, "NVIDIA H200");
  EXPECT_EQ(target.memoryBytesPerSecond, 4.8e12);
  EXPECT_EQ(target.f32OpsPerSecond, 67e12);
  EXPECT_NEAR(target.tf32OpsPerSecond, 495e12, 1e12);
  EXPECT_NEAR(target.f16OpsPerSecond, 989e12, 1e12);
  EXPECT_EQ(target.f16OpsPerSecond, target.bf16OpsPerSecond);
  EXPECT_EQ(target.f64OpsPerSecond, 67e12);
  EXPECT_EQ(target.cacheBytes(), 60 << 20);
}

TEST(Device, MemoryOfATarget) {
  EXPECT_EQ(memoryBytesOf("cuda:sm_90a"), 141000000000);
  EXPECT_EQ(describeDevice("sm_90a")->target().memoryBytes, 141000000000);
  for (const char *other : {"host", "cuda", "cuda:", "cuda:sm_80", "sm_90a"})
    EXPECT_EQ(memoryBytesOf(other), 0) << other;
}

// The datasheets' numbers come out of capability, clock and multiprocessors.
TEST(Device, PeakRatesAgainstDatasheets) {
  DeviceRates a100 = peakRates(8, 0, 108, 1.41e9);
  EXPECT_NEAR(a100.f64, 19.5e12, 0.1e12);
  EXPECT_NEAR(a100.f32, 19.5e12, 0.1e12);
  EXPECT_NEAR(a100.tf32, 156e12, 1e12);
  EXPECT_NEAR(a100.f16, 312e12, 1e12);
  DeviceRates l40s = peakRates(8, 9, 142, 2.52e9);
  EXPECT_NEAR(l40s.f32, 91.6e12, 0.1e12);
  EXPECT_NEAR(l40s.f16, 362e12, 5e12);
  DeviceRates h200 = peakRates(9, 0, 132, 1.98e9);
  EXPECT_NEAR(h200.f32, 67e12, 0.1e12);
  // The datasheet rates tensor cores at a lower clock; ours errs high.
  EXPECT_GT(h200.f16, 989e12);
  EXPECT_LT(h200.f16, 1.1 * 989e12);
  EXPECT_EQ(peakRates(7, 5, 72, 1e9).f32, 0);
}

} // namespace
