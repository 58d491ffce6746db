//===- DeviceCalibration.cpp - What a GPU has been measured to do ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Target/DeviceCalibration.h"
#include "CacheFile.h"
#include "Calibrations.h"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace fastk {

namespace {

/// Of the file's form and of the way its rates are measured.
constexpr int64_t kVersion = 1;
constexpr const char *kFormat = "fastk.device";
/// A calibration has under two KiB.
constexpr size_t kLargestFile = 64 << 10;

struct Number {
  const char *name;
  double &value;
  /// Zero, where it may be left out, or within these.
  double low, high;
  bool optional = false;
};

/// Every number of a calibration, in the order of the file. Bounds: no GPU that
/// fastk supports is slower, none for years to come is faster.
std::vector<Number> numbersOf(DeviceCalibration &c) {
  return {{"clockHz", c.clockHz, 1e8, 1e10},
          {"memoryClockHz", c.memoryClockHz, 1e8, 1e11, true},
          {"lowestClockHz", c.lowestClockHz, 1e8, 1e10, true},
          {"highestClockHz", c.highestClockHz, 1e8, 1e10, true},
          {"copyBytesPerSecond", c.copy, 1e10, 1e14},
          {"readBytesPerSecond", c.read, 1e10, 1e14},
          {"l2BytesPerSecond", c.l2, 1e10, 1e15},
          {"f64OpsPerSecond", c.rates.f64, 1e10, 1e15, true},
          {"f32OpsPerSecond", c.rates.f32, 1e11, 1e16},
          {"tf32OpsPerSecond", c.rates.tf32, 1e11, 1e17, true},
          {"f16OpsPerSecond", c.rates.f16, 1e11, 1e17, true},
          {"bf16OpsPerSecond", c.rates.bf16, 1e11, 1e17, true},
          {"f8OpsPerSecond", c.rates.f8, 1e11, 1e17, true},
          {"emptyLaunchSeconds", c.emptyLaunch, 1e-8, 1e-2}};
}

std::vector<std::pair<const char *, std::string *>>
textsOf(DeviceCalibration &c) {
  return {{"model", &c.model}, {"arch", &c.arch},         {"driver", &c.driver},
          {"cuda", &c.cuda},   {"compiler", &c.compiler}, {"date", &c.date}};
}

/// Texts end in messages and file names.
bool isPlain(const std::string &text) {
  return text.size() <= 128 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~'; });
}

std::string show(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

} // namespace

std::string toJSON(const DeviceCalibration &calibration) {
  DeviceCalibration c = calibration;
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  for (auto [name, text] : textsOf(c))
    json[name] = *text;
  for (const Number &number : numbersOf(c))
    json[number.name] = number.value;
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

std::optional<DeviceCalibration> parseDeviceCalibration(const std::string &text,
                                                        std::string &error) {
  auto fail = [&](const std::string &why) {
    error = why;
    return std::nullopt;
  };
  if (text.size() > kLargestFile)
    return fail("is larger than 64 KiB: it is no calibration");
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return fail("is no JSON object: it was cut off or is another file");
  auto format = json.find("format"), version = json.find("version");
  if (format == json.end() || *format != kFormat)
    return fail(std::string("has no \"format\": \"") + kFormat +
                "\": it is another file");
  if (version == json.end() || !version->is_number_integer())
    return fail("has no whole number as 'version'");
  if (*version != kVersion)
    return fail("has version " + version->dump() + ", this fastk knows " +
                std::to_string(kVersion));
  DeviceCalibration c;
  size_t known = 2;
  for (auto [name, into] : textsOf(c)) {
    auto at = json.find(name);
    if (at == json.end() || !at->is_string())
      return fail(std::string("has no text as '") + name + "'");
    *into = at->get<std::string>();
    if (!isPlain(*into))
      return fail(std::string("has a '") + name +
                  "' that is longer than 128 characters or not plain ASCII");
    ++known;
  }
  if (c.model.empty() || c.arch.rfind("sm_", 0) != 0)
    return fail("names no GPU: 'model' is empty or 'arch' is not sm_...");
  for (const Number &number : numbersOf(c)) {
    auto at = json.find(number.name);
    if (at == json.end() || !at->is_number())
      return fail(std::string("has no number as '") + number.name + "'");
    double value = at->get<double>();
    bool isLeftOut = number.optional && value == 0;
    if (!isLeftOut && !(value >= number.low && value <= number.high))
      return fail(std::string("has ") + show(value) + " as '" + number.name +
                  "', which is not within " + show(number.low) + " and " +
                  show(number.high));
    number.value = value;
    ++known;
  }
  if (json.size() != known)
    return fail("has fields that no calibration has");
  return c;
}

std::string deviceCalibrationPath(const std::string &model) {
  std::string folder = userCacheFolder();
  if (folder.empty())
    return "";
  std::string name;
  for (char c : model)
    if (std::isalnum(static_cast<unsigned char>(c)))
      name += char(std::tolower(static_cast<unsigned char>(c)));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  return folder + "/device-" + name + ".json";
}

static std::optional<DeviceCalibration> shipped(const std::string &model) {
  std::string error;
  for (const char *text : shippedCalibrations)
    if (std::optional<DeviceCalibration> c =
            parseDeviceCalibration(text, error);
        c && c->model == model)
      return c;
  return std::nullopt;
}

std::optional<DeviceCalibration> findDeviceCalibration(const std::string &model,
                                                       std::string &problem) {
  problem.clear();
  std::string path = deviceCalibrationPath(model);
  std::ifstream file(path, std::ios::binary);
  if (path.empty() || !file)
    return shipped(model);
  // One byte more than it may have.
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(file.gcount()));
  std::optional<DeviceCalibration> c = parseDeviceCalibration(text, problem);
  if (c && c->model != model) {
    problem = "is of " + c->model + ", not of " + model;
    c.reset();
  }
  if (c)
    return c;
  problem = path + " " + problem +
            "; it is left aside: remove it, or run fastk-worker --calibrate on "
            "the GPU again";
  return shipped(model);
}

std::string saveDeviceCalibration(const DeviceCalibration &calibration,
                                  const std::string &path) {
  return writeCacheFile(path, toJSON(calibration));
}

std::string applyCalibration(const DeviceCalibration &c,
                             DeviceDescription &device) {
  if (c.model != device.model || c.arch != device.arch)
    return "is of " + c.model + " (" + c.arch + "), not of " + device.model +
           " (" + device.arch + ")";
  DeviceRates measured = c.rates;
  measured.memory = std::max(c.copy, c.read);
  constexpr double mostAbovePeak = 1.25;
  static constexpr std::pair<const char *, double DeviceRates::*> rates[] = {
      {"f64", &DeviceRates::f64},      {"f32", &DeviceRates::f32},
      {"tf32", &DeviceRates::tf32},    {"f16", &DeviceRates::f16},
      {"bf16", &DeviceRates::bf16},    {"f8", &DeviceRates::f8},
      {"memory", &DeviceRates::memory}};
  for (auto [name, rate] : rates)
    if (device.peak.*rate > 0 &&
        measured.*rate > mostAbovePeak * (device.peak.*rate))
      return std::string("measured ") + show(measured.*rate) + " per second (" +
             name + "), more than " + show(mostAbovePeak) + " times the peak " +
             show(device.peak.*rate) + ": no measurement";
  for (auto [name, rate] : rates)
    device.peak.*rate = std::max(device.peak.*rate, measured.*rate);
  device.measured = measured;
  device.measuredL2 = c.l2;
  device.emptyLaunch = c.emptyLaunch;
  device.measuredOn = c.date;
  return "";
}

} // namespace fastk
