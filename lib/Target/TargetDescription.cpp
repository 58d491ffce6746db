//===- TargetDescription.cpp - A device as text ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Target/TargetDescription.h"
#include <cmath>
#include <nlohmann/json.hpp>

namespace fastk {

namespace {
/// Of the file's form and of the way its rates are measured.
constexpr int kVersion = 2;
constexpr const char *kFormat = "fastk.host";
} // namespace

int64_t TargetDescription::cacheBytes() const {
  return l3Bytes + cores * l2Bytes;
}

std::string toJSON(const TargetDescription &d) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  json["target"] = d.target;
  json["model"] = d.model;
  json["threads"] = d.threads;
  json["cores"] = d.cores;
  json["clockHz"] = d.clockHz;
  json["vectorBytes"] = d.vectorBytes;
  json["hasFma"] = d.hasFma;
  json["hasF16Arithmetic"] = d.hasF16Arithmetic;
  json["instructionSets"] = d.instructionSets;
  json["l1Bytes"] = d.l1Bytes;
  json["l2Bytes"] = d.l2Bytes;
  json["l3Bytes"] = d.l3Bytes;
  json["memoryBytesPerSecond"] = d.memoryBytesPerSecond;
  json["cacheBytesPerSecond"] = d.cacheBytesPerSecond;
  json["f32OpsPerSecond"] = d.f32OpsPerSecond;
  json["f64OpsPerSecond"] = d.f64OpsPerSecond;
  json["f16OpsPerSecond"] = d.f16OpsPerSecond;
  json["bf16OpsPerSecond"] = d.bf16OpsPerSecond;
  json["measuredIdle"] = d.measuredIdle;
  json["attempts"] = d.attempts;
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

namespace {

/// Reads fields of one JSON object; remembers whether one was missing or odd.
class Reader {
public:
  explicit Reader(const nlohmann::json &json) : json(json) {}

  void text(const char *name, std::string &into) {
    auto it = json.find(name);
    if (it == json.end() || !it->is_string())
      good = false;
    else
      into = it->get<std::string>();
  }
  void flag(const char *name, bool &into) {
    auto it = json.find(name);
    if (it == json.end() || !it->is_boolean())
      good = false;
    else
      into = it->get<bool>();
  }
  template <typename T>
  void number(const char *name, T &into, double low, double high) {
    auto it = json.find(name);
    if (it == json.end() || !it->is_number()) {
      good = false;
      return;
    }
    double value = it->get<double>();
    if (!(value >= low && value <= high))
      good = false;
    else
      into = static_cast<T>(value);
  }
  bool isGood() const { return good; }

private:
  const nlohmann::json &json;
  bool good = true;
};

} // namespace

std::optional<TargetDescription>
parseTargetDescription(const std::string &text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return std::nullopt;
  TargetDescription d;
  Reader reader(json);
  std::string format;
  int version = 0;
  reader.text("format", format);
  reader.number("version", version, 0, 1e6);
  if (!reader.isGood() || format != kFormat || version != kVersion)
    return std::nullopt;
  reader.text("target", d.target);
  reader.text("model", d.model);
  reader.number("threads", d.threads, 1, 1e6);
  reader.number("cores", d.cores, 1, 1e6);
  reader.number("clockHz", d.clockHz, 0, 1e11);
  reader.number("vectorBytes", d.vectorBytes, 4, 4096);
  reader.flag("hasFma", d.hasFma);
  reader.flag("hasF16Arithmetic", d.hasF16Arithmetic);
  reader.text("instructionSets", d.instructionSets);
  reader.number("l1Bytes", d.l1Bytes, 0, 1e9);
  reader.number("l2Bytes", d.l2Bytes, 0, 1e10);
  reader.number("l3Bytes", d.l3Bytes, 0, 1e12);
  // Below a megahertz of one lane, above any machine: not a measurement.
  reader.number("memoryBytesPerSecond", d.memoryBytesPerSecond, 1e7, 1e15);
  reader.number("cacheBytesPerSecond", d.cacheBytesPerSecond, 1e7, 1e17);
  reader.number("f32OpsPerSecond", d.f32OpsPerSecond, 1e6, 1e17);
  reader.number("f64OpsPerSecond", d.f64OpsPerSecond, 1e6, 1e17);
  reader.number("f16OpsPerSecond", d.f16OpsPerSecond, 1e6, 1e18);
  reader.number("bf16OpsPerSecond", d.bf16OpsPerSecond, 1e6, 1e18);
  reader.flag("measuredIdle", d.measuredIdle);
  reader.number("attempts", d.attempts, 1, 1e6);
  if (!reader.isGood())
    return std::nullopt;
  return d;
}

} // namespace fastk
