//===- CalibrationTest.cpp - Calibrations of GPUs as files ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Target/DeviceCalibration.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace fastk;

namespace {

/// Of a GPU that fastk is not shipped with a calibration of.
DeviceCalibration example() {
  DeviceCalibration c;
  c.model = "NVIDIA Test 1";
  c.arch = "sm_90a";
  c.driver = "580.1";
  c.cuda = c.compiler = "13.0";
  c.date = "2026-11-21";
  c.clockHz = 2e9;
  c.memoryClockHz = 3e9;
  c.lowestClockHz = 1.5e9;
  c.highestClockHz = 1.98e9;
  c.copy = 4e12;
  c.read = 4.5e12;
  c.l2 = 9e12;
  c.rates = {60e12, 61e12, 400e12, 800e12, 801e12, 1600e12, 0};
  c.emptyLaunch = 2e-6;
  return c;
}

DeviceDescription deviceOf(const DeviceCalibration &c) {
  DeviceDescription device;
  device.model = c.model;
  device.arch = c.arch;
  device.peak = {67e12, 67e12, 495e12, 989e12, 989e12, 1979e12, 4.8e12};
  return device;
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

TEST(Calibration, RoundTrip) {
  std::string text = toJSON(example()), error;
  std::optional<DeviceCalibration> read = parseDeviceCalibration(text, error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(toJSON(*read), text);
  EXPECT_EQ(read->rates.bf16, 801e12);
}

TEST(Calibration, EveryProblemHasItsMessage) {
  std::string good = toJSON(example());
  auto message = [](const std::string &text) {
    std::string error;
    EXPECT_FALSE(parseDeviceCalibration(text, error)) << text;
    return error;
  };
  auto expect = [&](const std::string &text, const std::string &words) {
    std::string said = message(text);
    EXPECT_NE(said.find(words), said.npos) << said;
  };
  expect("", "is no JSON object");
  expect("[1]", "is no JSON object");
  expect("{}", "has no \"format\": \"fastk.device\"");
  expect(std::string(70000, ' '), "larger than 64 KiB");
  expect(replaced(good, "fastk.device", "fastk.host"), "it is another file");
  expect(replaced(good, "\"version\": 1", "\"version\": 2"),
         "has version 2, this fastk knows 1");
  expect(replaced(good, "\"version\": 1", "\"version\": \"1\""),
         "no whole number as 'version'");
  expect(replaced(good, "\"NVIDIA Test 1\"", "7"), "no text as 'model'");
  expect(replaced(good, "NVIDIA Test 1", ""), "names no GPU");
  expect(replaced(good, "sm_90a", "gfx90a"), "names no GPU");
  expect(replaced(good, "580.1", "580\\u001b[2J"), "not plain ASCII");
  expect(replaced(good, "580.1", std::string(200, 'x')),
         "longer than 128 characters");
  expect(replaced(good, "\"copyBytesPerSecond\": 4000000000000.0",
                  "\"copyBytesPerSecond\": 0"),
         "has 0 as 'copyBytesPerSecond', which is not within 1e+10 and 1e+14");
  expect(replaced(good, "\"copyBytesPerSecond\": 4000000000000.0",
                  "\"copyBytesPerSecond\": \"fast\""),
         "no number as 'copyBytesPerSecond'");
  expect(replaced(good, "\"f16OpsPerSecond\": 800000000000000.0",
                  "\"f16OpsPerSecond\": 1e300"),
         "has 1e+300 as 'f16OpsPerSecond'");
  expect(replaced(good, "\"f16OpsPerSecond\": 800000000000000.0",
                  "\"f16OpsPerSecond\": -1"),
         "has -1 as 'f16OpsPerSecond'");
  expect(replaced(good, "\"date\"", "\"dates\""), "no text as 'date'");
  expect(replaced(good, "\"date\"", "\"more\": 1, \"date\""),
         "fields that no calibration has");
  for (size_t length = 0; length + 2 < good.size(); ++length)
    EXPECT_FALSE(message(good.substr(0, length)).empty());
}

TEST(Calibration, WhatWasNotMeasuredIsZero) {
  DeviceCalibration c = example();
  c.rates.f8 = c.rates.f64 = c.lowestClockHz = 0;
  c.driver.clear();
  std::string error;
  EXPECT_TRUE(parseDeviceCalibration(toJSON(c), error)) << error;
}

TEST(Calibration, MeasuredRatesAreBesideThePeaks) {
  DeviceCalibration c = example();
  DeviceDescription device = deviceOf(c);
  EXPECT_EQ(applyCalibration(c, device), "");
  EXPECT_EQ(device.peak.f32, 67e12);
  EXPECT_EQ(device.measured.f32, 61e12);
  EXPECT_EQ(device.peak.memory, 4.8e12);
  EXPECT_EQ(device.measured.memory, 4.5e12);
  EXPECT_EQ(device.measuredL2, 9e12);
  EXPECT_EQ(device.emptyLaunch, 2e-6);
  EXPECT_EQ(device.measuredOn, "2026-11-21");
}

// A floor must err low: what has been reached is possible.
TEST(Calibration, APeakThatWasExceededIsRaised) {
  DeviceCalibration c = example();
  c.rates.f16 = 1030e12;
  c.read = 4.9e12;
  DeviceDescription device = deviceOf(c);
  EXPECT_EQ(applyCalibration(c, device), "");
  EXPECT_EQ(device.peak.f16, 1030e12);
  EXPECT_EQ(device.peak.bf16, 989e12);
  EXPECT_EQ(device.target().f16OpsPerSecond, 1030e12);
  EXPECT_EQ(device.target().memoryBytesPerSecond, 4.9e12);
}

TEST(Calibration, OutOfReachOrOfAnotherGPUIsRefused) {
  DeviceCalibration c = example();
  DeviceDescription device = deviceOf(c), before = device;
  c.copy = 9e12;
  std::string why = applyCalibration(c, device);
  EXPECT_NE(why.find("measured 9e+12 per second (memory), more than 1.25 times "
                     "the peak 4.8e+12"),
            why.npos)
      << why;
  EXPECT_EQ(device.peak.memory, before.peak.memory);
  EXPECT_EQ(device.measured.f32, 0);
  c = example();
  device.model = "NVIDIA Test 2";
  EXPECT_EQ(applyCalibration(c, device),
            "is of NVIDIA Test 1 (sm_90a), not of NVIDIA Test 2 (sm_90a)");
}

class CalibrationFile : public testing::Test {
protected:
  CalibrationFile() {
    std::string pattern = testing::TempDir() + "fastk-calibration-XXXXXX";
    folder = mkdtemp(pattern.data());
    if (const char *set = std::getenv("FASTK_CACHE_DIR"))
      saved = set;
    setenv("FASTK_CACHE_DIR", folder.c_str(), 1);
  }
  ~CalibrationFile() override {
    if (saved.empty())
      unsetenv("FASTK_CACHE_DIR");
    else
      setenv("FASTK_CACHE_DIR", saved.c_str(), 1);
    fs::permissions(folder, fs::perms::owner_all);
    fs::remove_all(folder);
  }
  void write(const std::string &path, const std::string &text) {
    std::ofstream(path) << text;
  }
  std::string folder, saved;
};

TEST_F(CalibrationFile, IsPerModelInTheCacheFolder) {
  EXPECT_EQ(deviceCalibrationPath("NVIDIA H200"),
            folder + "/device-nvidia-h200.json");
  EXPECT_EQ(deviceCalibrationPath("../x/..//y"), folder + "/device-x-y.json");
  DeviceCalibration c = example();
  std::string path = deviceCalibrationPath(c.model), problem;
  EXPECT_FALSE(findDeviceCalibration(c.model, problem));
  EXPECT_EQ(problem, "");
  EXPECT_EQ(saveDeviceCalibration(c, path), "");
  std::optional<DeviceCalibration> found =
      findDeviceCalibration(c.model, problem);
  ASSERT_TRUE(found);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(toJSON(*found), toJSON(c));
  // Nothing else was left in the folder.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(CalibrationFile, ABadOneIsLeftAsideWithAReason) {
  std::string path = deviceCalibrationPath("NVIDIA Test 1"), problem;
  write(path, "garbage");
  EXPECT_FALSE(findDeviceCalibration("NVIDIA Test 1", problem));
  EXPECT_EQ(problem, path + " is no JSON object: it was cut off or is another "
                            "file; it is left aside: remove it, or run "
                            "fastk-worker --calibrate on the GPU again");
  DeviceCalibration other = example();
  other.model = "NVIDIA Test 2";
  write(path, toJSON(other));
  EXPECT_FALSE(findDeviceCalibration("NVIDIA Test 1", problem));
  EXPECT_NE(problem.find("is of NVIDIA Test 2, not of NVIDIA Test 1"),
            problem.npos);
  write(path, std::string(1 << 20, '{'));
  EXPECT_FALSE(findDeviceCalibration("NVIDIA Test 1", problem));
  EXPECT_NE(problem.find("larger than 64 KiB"), problem.npos);
}

// The floor of a cross-compile does not fall with a file that anyone may have
// put there.
TEST_F(CalibrationFile, OfTheH200ComesWithFastkAndTheUsersGoesFirst) {
  std::string problem;
  std::optional<DeviceCalibration> shipped =
      findDeviceCalibration("NVIDIA H200", problem);
  ASSERT_TRUE(shipped);
  EXPECT_EQ(problem, "");
  std::optional<DeviceDescription> device = describeDevice("sm_90a", &problem);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(device->measured.f32, shipped->rates.f32);
  EXPECT_EQ(device->measuredOn, shipped->date);
  double peak = device->peak.memory;

  std::string path = deviceCalibrationPath("NVIDIA H200");
  DeviceCalibration mine = *shipped;
  mine.rates.f32 *= 0.9;
  EXPECT_EQ(saveDeviceCalibration(mine, path), "");
  device = describeDevice("sm_90a", &problem);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(device->measured.f32, mine.rates.f32);

  mine.read = 50e12;
  EXPECT_EQ(saveDeviceCalibration(mine, path), "");
  device = describeDevice("sm_90a", &problem);
  EXPECT_NE(problem.find("no measurement; it is left aside: remove " + path),
            problem.npos)
      << problem;
  EXPECT_EQ(device->peak.memory, peak);

  write(path, "{");
  device = describeDevice("sm_90a", &problem);
  EXPECT_NE(problem.find("is left aside"), problem.npos);
  EXPECT_EQ(device->measured.f32, shipped->rates.f32);
}

TEST_F(CalibrationFile, WhatCannotBeWrittenIsAnErrorWithTheName) {
  write(folder + "/file", "");
  std::string path = folder + "/file/device.json";
  std::string problem = saveDeviceCalibration(example(), path);
  EXPECT_EQ(problem.find(path + ": cannot write: "), 0u) << problem;
}

} // namespace
