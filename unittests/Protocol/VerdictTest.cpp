//===- VerdictTest.cpp - Verdicts survive being written and read --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/Verdict.h"
#include "fastk/Protocol/JSONReader.h"
#include "fastk/Protocol/VerdictNumbers.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace fastk::worker;

static Verdict full() {
  Verdict v;
  v.id = "x";
  v.status = Status::Impossible;
  v.reason = "too fast \xc3\x28";
  v.precision = Precision::TF32;
  v.errors = {{"normal", 2, 1, 1e-7, 2e-8, 3e-7, 4e-8, 5, 1e-6, 2e-6, 0.5, 7,
               Precision::Half}};
  v.timing.candidate = Timing{1, 2, 3, 4};
  v.timing.baseline = Timing{5, 6, 7, 8};
  v.timing.incumbent = Timing{9, 10, 11, 12};
  v.timing.speedupOverBaseline = Ratio{1.5, 1.4, 1.6};
  v.timing.speedupOverIncumbent = Ratio{1.1, 1.0, 1.2};
  v.timing.droppedBlocks = 4;
  v.timing.disturbedBy = "load average 4.1";
  v.timing.tooBusy = true;
  v.timing.aaRatio = Ratio{1, 0.99, 1.01};
  v.timing.handshakeNs = 1300;
  v.timing.belowResolution = true;
  v.timing.threads = 2;
  v.timing.cache = Cache::Warm;
  v.competitors = {{"zeros", true, "rejected on normal"}};
  v.protections = {"seccomp"};
  v.missingProtections = {"landlock"};
  v.resources = {1 << 20, 0.5, 1.5};
  v.phases = {{"other", 0.5, 1, false}, {"context", 1.0, 9, true}};
  v.audit.seed = 0xfedcba9876543210u;
  v.audit.candidateHash = 1;
  v.audit.trials = 12;
  v.audit.distributions = {"normal", "pareto"};
  v.audit.leftOut = {"mixed: overflows"};
  v.audit.timedOutputsChecked = 30;
  v.audit.auditedCalls = 2;
  v.audit.judgedCalls = 720;
  v.audit.repeatedCalls = 701;
  v.audit.bitwiseDeterministic = false;
  v.gpu.emplace();
  v.gpu->name = "NVIDIA H200";
  v.gpu->arch = "sm_90a";
  v.gpu->driver = "13.0";
  v.gpu->compiler = "12.9";
  v.gpu->prelude = "0f1e";
  v.gpu->kernels = {{"softmax", 168, 8, 4, 16, 2048}};
  v.gpu->warnings = {"C7510: serialised"};
  v.gpu->compileMs = 123.5;
  v.gpu->clocks = {"events"};
  v.gpu->missingClocks = {"cupti: not found"};
  v.gpu->host = Timing{13, 14, 15, 16};
  v.gpu->cupti = Timing{12, 12.5, 13, 5};
  v.gpu->sanitizer = {{"memcheck", "ok"}, {"racecheck", "stopped after 60 s"}};
  v.gpu->delays = "found: gives other results";
  v.gpu->schedules = 17;
  v.gpu->delayPlaces = 103;
  v.gpu->possibleDelayPlaces = 229;
  v.gpu->delayBuilds = 2;
  v.gpu->delaySlowdown = 12.5;
  v.gpu->counters = {{"k", {{"time_ns", 12.5}, {"l2_hit_percent", 40}}}};
  v.gpu->missingCounters = "not found";
  v.gpu->smClock = Gauge{1500, 1980};
  v.gpu->memoryClock = Gauge{3201, 3201};
  v.gpu->power = Gauge{100.5, 690};
  v.gpu->temperature = Gauge{30, 61};
  v.gpu->readings = 20;
  v.gpu->throttled = 3;
  v.gpu->throttleReasons = {"power cap"};
  return v;
}

TEST(Verdict, RoundTrip) {
  std::string text = toJSON(full()), error;
  std::optional<Verdict> read = parseVerdict(text, error);
  ASSERT_TRUE(read) << error << "\n" << text;
  EXPECT_EQ(toJSON(*read), text);
  EXPECT_EQ(read->audit.seed, 0xfedcba9876543210u);
  EXPECT_EQ(read->audit.judgedCalls, 720);
  EXPECT_EQ(read->audit.repeatedCalls, 701);
  EXPECT_EQ(read->audit.bitwiseDeterministic, false);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(Verdict, WhatTheSanitizerSaysIsText) {
  std::string text = toJSON(full()), error;
  EXPECT_NE(text.find("\"sanitizer\":{\"memcheck\":\"ok\",\"racecheck\":"
                      "\"stopped after 60 s\"}"),
            text.npos);
  text.replace(text.find("\"stopped after 60 s\""), 20, "17");
  EXPECT_FALSE(parseVerdict(text, error));
  EXPECT_EQ(error, "$.gpu.sanitizer.racecheck is no text");
}

TEST(Verdict, WhatDelaysFound) {
  std::string text = toJSON(full()), error;
  EXPECT_NE(text.find("\"delays\":{\"result\":\"found: gives other results\","
                      "\"schedules\":17,\"places\":103,"
                      "\"possible_places\":229,\"builds\":2,"
                      "\"slowdown\":12.5}"),
            text.npos);
  std::optional<Verdict> read = parseVerdict(text, error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(read->gpu->schedules, 17);
  EXPECT_EQ(read->gpu->delayPlaces, 103);
  text.replace(text.find("\"schedules\":17"), 14, "\"schedules\":\"x\"");
  EXPECT_FALSE(parseVerdict(text, error));
  EXPECT_NE(error.find("$.gpu.delays.schedules"), error.npos) << error;
}

TEST(Verdict, CountersAreNumbers) {
  std::string text = toJSON(full()), error;
  EXPECT_NE(
      text.find("\"counters\":[{\"kernel\":\"k\",\"values\":{\"time_ns\":12.5,"
                "\"l2_hit_percent\":40"),
      text.npos);
  text.replace(text.find("12.5,\"l2"), 4, "\"x\"");
  EXPECT_FALSE(parseVerdict(text, error));
  EXPECT_EQ(error, "$.gpu.counters[0].values.time_ns is no number");
}

TEST(Verdict, InfinityIsNull) {
  Verdict v = full();
  v.errors[0].maxNormalized = std::numeric_limits<double>::infinity();
  std::string text = toJSON(v), error;
  EXPECT_NE(text.find("\"max_normalized\":null"), std::string::npos);
  std::optional<Verdict> read = parseVerdict(text, error);
  ASSERT_TRUE(read) << error;
  EXPECT_TRUE(std::isinf(read->errors[0].maxNormalized));
}

TEST(Verdict, EveryTruncationIsAnError) {
  std::string text = toJSON(full());
  for (size_t length = 0; length < text.size(); ++length) {
    std::string error;
    EXPECT_FALSE(parseVerdict(text.substr(0, length), error)) << length;
    EXPECT_FALSE(error.empty());
  }
}

TEST(Verdict, UnknownStatusIsAnError) {
  std::string text = toJSON(full()), error;
  text.replace(text.find("impossible"), 10, "splendid!!");
  EXPECT_FALSE(parseVerdict(text, error));
  EXPECT_EQ(error.find("$.status"), 0u) << error;
}

/// A field that this version does not know, in each object whose fields are not
/// names of something.
static void addLaterFields(Json &json) {
  if (json.is_object() && !json.contains("memcheck") &&
      !json.contains("time_ns"))
    json["later"] = {{"a", 1}};
  for (auto &[name, value] : json.items())
    if (name != "later" && value.is_structured())
      addLaterFields(value);
}

TEST(Verdict, FieldsOfALaterWorkerAreIgnored) {
  std::string text = toJSON(full()), error;
  Json json = Json::parse(text);
  addLaterFields(json);
  std::string later = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  size_t count = 0;
  for (size_t at = 0; (at = later.find("\"later\"", at)) != later.npos; ++at)
    ++count;
  EXPECT_GT(count, 20u) << later;
  std::optional<Verdict> read = parseVerdict(later, error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(toJSON(*read), text);
}

TEST(Verdict, ALaterFormatSaysWhatToDo) {
  std::string text = toJSON(full()), error;
  text.replace(text.find("\"format\":1"), 10, "\"format\":2");
  EXPECT_FALSE(parseVerdict(text, error));
  EXPECT_EQ(error, "$.format: is 2, and this fastk reads 1: a newer one wrote "
                   "it; use that version, which goes on with the same files");
}

TEST(Verdict, IsCounted) {
  auto valueOf = [](const std::vector<VerdictNumber> &numbers,
                    const std::string &name, const std::string &label) {
    for (const VerdictNumber &each : numbers)
      if (each.name == name &&
          (label.empty() || each.labels.front().second == label))
        return each.value;
    return -1.0;
  };
  std::vector<VerdictNumber> numbers = numbersOf(full(), "fastk_x");
  EXPECT_EQ(valueOf(numbers, "fastk_x_evaluations_total", "impossible"), 1);
  EXPECT_EQ(valueOf(numbers, "fastk_x_evaluation_seconds_total", ""), 1.5);
  EXPECT_EQ(valueOf(numbers, "fastk_x_phase_seconds_total", "other"), 0.5);
  // By another process at the same time.
  EXPECT_EQ(valueOf(numbers, "fastk_x_phase_seconds_total", "context"), -1);
  EXPECT_EQ(valueOf(numbers, "fastk_x_disturbed_total", ""), 1);
  EXPECT_EQ(valueOf(numbers, "fastk_x_gpu_throttled_total", "NVIDIA H200"),
            double(full().gpu->throttled));
  EXPECT_EQ(numbersOf(Verdict(), "fastk_x").size(), 2u);
  // Each status, and what every verdict may add to, is there from the start.
  std::vector<VerdictNumber> zeros = zeroNumbers("fastk_x");
  EXPECT_EQ(valueOf(zeros, "fastk_x_evaluations_total", "ok"), 0);
  EXPECT_EQ(valueOf(zeros, "fastk_x_evaluations_total", "error"), 0);
  EXPECT_EQ(valueOf(zeros, "fastk_x_evaluations_total", "disagreement"), 0);
  EXPECT_EQ(valueOf(zeros, "fastk_x_evaluation_seconds_total", ""), 0);
  EXPECT_EQ(valueOf(zeros, "fastk_x_disturbed_total", ""), 0);
}
