//===- Canary.cpp - Is this GPU like the others? --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Canary.h"
#include "fastk/System/WholeFile.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

using namespace fastk::worker;
namespace fs = std::filesystem;

static constexpr std::chrono::minutes kPause{10};
/// One that is left out is looked at again after this.
static constexpr std::chrono::minutes kShortPause{1};
/// A median of fewer says nothing: which of two is the odd one?
static constexpr size_t kEnough = 3;

static std::string fileName(std::string text) {
  for (char &c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-')
      c = '_';
  return text;
}

Canary::Canary(fs::path root, std::string model, std::string name,
               Measure measure, std::function<Clock::time_point()> now)
    : folder(std::move(root) / ".canaries" / fileName(std::move(model))),
      name(fileName(std::move(name))), measure(std::move(measure)),
      now(std::move(now)) {}

static std::optional<CanaryReading> readFile(const fs::path &path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return std::nullopt;
  auto number = [&](const char *field) {
    return json.contains(field) && json[field].is_number()
               ? json[field].get<double>()
               : 0.0;
  };
  CanaryReading reading{number("read"), number("f32")};
  if (!(reading.read > 0) || !(reading.f32 > 0))
    return std::nullopt;
  return reading;
}

void Canary::write(const CanaryReading &reading) const {
  std::error_code none;
  fs::create_directories(folder, none);
  // Without it the others have one fewer to compare with.
  (void)fastk::writeWholeFile((folder / (name + ".json")).string(),
                              nlohmann::ordered_json{{"format", 1},
                                                     {"read", reading.read},
                                                     {"f32", reading.f32}}
                                      .dump() +
                                  "\n");
}

static double median(std::vector<double> values) {
  auto middle = values.begin() + long(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string Canary::difference(const CanaryReading &reading) const {
  std::vector<double> reads, rates;
  std::error_code none;
  for (fs::directory_iterator at(folder, none), end; !none && at != end;
       at.increment(none))
    if (at->path().extension() == ".json")
      if (std::optional<CanaryReading> other = readFile(at->path())) {
        reads.push_back(other->read);
        rates.push_back(other->f32);
      }
  bool isMedian = reads.size() >= kEnough;
  CanaryReading usual =
      isMedian ? CanaryReading{median(reads), median(rates)} : *first;
  std::string text;
  auto compare = [&](const char *what, double is, double should) {
    double off = is / should - 1;
    if (std::abs(off) <= kCanaryTolerance)
      return;
    char line[128];
    snprintf(line, sizeof line, "%s%s at %.1f %% of %s",
             text.empty() ? "" : ", ", what, 100 * (1 + off),
             isMedian ? "the median of its model" : "what it was at first");
    text += line;
  };
  compare("memory", reading.read, usual.read);
  compare("arithmetic", reading.f32, usual.f32);
  return text;
}

bool Canary::mayWork(std::string &told) {
  if (now() < next)
    return !isLeftOut;
  std::string problem;
  std::optional<CanaryReading> reading = measure(problem);
  bool wasLeftOut = isLeftOut;
  if (reading) {
    if (!first)
      first = reading;
    write(*reading);
    problem = difference(*reading);
  }
  isLeftOut = !problem.empty();
  next = now() + (isLeftOut ? kShortPause : kPause);
  if (isLeftOut && !wasLeftOut)
    told = "takes no jobs: " + problem + "; it is measured again every minute";
  if (!isLeftOut && wasLeftOut)
    told = "takes jobs again: its rates are as they should be";
  return !isLeftOut;
}
