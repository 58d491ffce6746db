//===- Verdict.cpp - What the worker found --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/Verdict.h"
#include "fastk/Protocol/JSONReader.h"
#include "fastk/Protocol/Names.h"
#include <limits>
#include <utility>

using namespace fastk::worker;

static constexpr Name<Status> statusNames[] = {
    {Status::OK, "ok"},
    {Status::Wrong, "wrong"},
    {Status::Crash, "crash"},
    {Status::Timeout, "timeout"},
    {Status::Memory, "memory"},
    {Status::Refused, "refused"},
    {Status::Impossible, "impossible"},
    {Status::Slow, "slow"},
    {Status::Unfit, "unfit"},
    {Status::Error, "error"},
    {Status::CompileTimeout, "compile_timeout"},
    {Status::Disagreement, "disagreement"}};

std::string_view fastk::worker::toString(Status s) {
  return nameOf(statusNames, s);
}
std::optional<Status> fastk::worker::parseStatus(std::string_view t) {
  return valueOf(statusNames, t);
}

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Json toJson(const Timing &timing) {
  return {{"median_ns", number(timing.medianNs)},
          {"p10_ns", number(timing.p10Ns)},
          {"p90_ns", number(timing.p90Ns)},
          {"samples", timing.samples}};
}

static Json toJson(const Ratio &ratio) {
  return {{"median", number(ratio.median)},
          {"low", number(ratio.low)},
          {"high", number(ratio.high)}};
}

static Json toJson(const TrialError &error) {
  Json json = {{"distribution", error.distribution},
               {"trial", error.trial},
               {"output", error.output},
               {"max_normalized", number(error.maxNormalized)},
               {"relative_frobenius", number(error.relativeFrobenius)},
               {"reference_max", number(error.referenceMax)},
               {"reference_frobenius", number(error.referenceFrobenius)},
               {"nan_mismatch", error.nanMismatch},
               {"bound", number(error.bound)},
               {"bound_frobenius", number(error.boundFrobenius)},
               {"precision", toString(error.precision)}};
  if (error.share) {
    json["share"] = number(*error.share);
    json["masked"] = error.masked;
  }
  return json;
}

static Json toJson(const GpuReport &gpu) {
  Json json = {{"name", gpu.name},
               {"arch", gpu.arch},
               {"driver", gpu.driver},
               {"compiler", gpu.compiler},
               {"compile_ms", number(gpu.compileMs)}};
  if (!gpu.prelude.empty())
    json["prelude"] = gpu.prelude;
  json["kernels"] = Json::array();
  for (const KernelReport &kernel : gpu.kernels)
    json["kernels"].push_back({{"name", kernel.name},
                               {"registers", kernel.registers},
                               {"spill_store_bytes", kernel.spillStoreBytes},
                               {"spill_load_bytes", kernel.spillLoadBytes},
                               {"stack_bytes", kernel.stackBytes},
                               {"shared_bytes", kernel.sharedBytes}});
  json["warnings"] = gpu.warnings;
  json["clocks"] = gpu.clocks;
  json["missing_clocks"] = gpu.missingClocks;
  if (gpu.host)
    json["host"] = toJson(*gpu.host);
  if (gpu.cupti)
    json["cupti"] = toJson(*gpu.cupti);
  if (!gpu.sanitizer.empty()) {
    json["sanitizer"] = Json::object();
    for (const auto &[tool, result] : gpu.sanitizer)
      json["sanitizer"][tool] = result;
  }
  if (!gpu.delays.empty())
    json["delays"] = {{"result", gpu.delays},
                      {"schedules", gpu.schedules},
                      {"places", gpu.delayPlaces},
                      {"possible_places", gpu.possibleDelayPlaces},
                      {"builds", gpu.delayBuilds},
                      {"slowdown", number(gpu.delaySlowdown)}};
  if (!gpu.missingCounters.empty())
    json["missing_counters"] = gpu.missingCounters;
  if (!gpu.counters.empty())
    json["counters"] = Json::array();
  for (const LaunchCounters &launch : gpu.counters) {
    Json values = Json::object();
    for (const auto &[name, value] : launch.values)
      values[name] = number(value);
    json["counters"].push_back({{"kernel", launch.kernel}, {"values", values}});
  }
  auto gauge = [&](const char *key, const std::optional<Gauge> &value) {
    if (value)
      json[key] = {{"low", number(value->low)}, {"high", number(value->high)}};
  };
  gauge("sm_clock_mhz", gpu.smClock);
  gauge("memory_clock_mhz", gpu.memoryClock);
  gauge("power_w", gpu.power);
  gauge("temperature_c", gpu.temperature);
  json["readings"] = gpu.readings;
  json["throttled"] = gpu.throttled;
  json["throttle_reasons"] = gpu.throttleReasons;
  return json;
}

std::string fastk::worker::toJSON(const Verdict &verdict) {
  Json json;
  json["format"] = verdictFormat;
  json["id"] = verdict.id;
  json["status"] = toString(verdict.status);
  json["reason"] = verdict.reason;
  json["precision"] = toString(verdict.precision);
  json["errors"] = Json::array();
  for (const TrialError &error : verdict.errors)
    json["errors"].push_back(toJson(error));

  const TimingReport &report = verdict.timing;
  Json timing = Json::object();
  if (report.candidate)
    timing["candidate"] = toJson(*report.candidate);
  if (report.baseline)
    timing["baseline"] = toJson(*report.baseline);
  if (report.incumbent)
    timing["incumbent"] = toJson(*report.incumbent);
  if (report.speedupOverBaseline)
    timing["speedup_over_baseline"] = toJson(*report.speedupOverBaseline);
  if (report.speedupOverIncumbent)
    timing["speedup_over_incumbent"] = toJson(*report.speedupOverIncumbent);
  if (report.aaRatio)
    timing["aa_ratio"] = toJson(*report.aaRatio);
  timing["handshake_ns"] = number(report.handshakeNs);
  timing["below_resolution"] = report.belowResolution;
  timing["threads"] = report.threads;
  timing["cache"] = toString(report.cache);
  if (report.droppedBlocks)
    timing["dropped_blocks"] = *report.droppedBlocks;
  if (!report.disturbedBy.empty())
    timing["disturbed_by"] = report.disturbedBy;
  if (report.tooBusy)
    timing["too_busy"] = true;
  json["timing"] = timing;

  json["competitors"] = Json::array();
  for (const Competitor &competitor : verdict.competitors)
    json["competitors"].push_back({{"name", competitor.name},
                                   {"rejected", competitor.rejected},
                                   {"reason", competitor.reason}});
  json["protections"] = verdict.protections;
  json["missing_protections"] = verdict.missingProtections;
  json["resources"] = {{"peak_memory_bytes", verdict.resources.peakMemoryBytes},
                       {"cpu_seconds", number(verdict.resources.cpuSeconds)},
                       {"wall_seconds", number(verdict.resources.wallSeconds)}};
  json["phases"] = Json::array();
  for (const PhaseTime &phase : verdict.phases) {
    Json entry = {{"name", phase.name},
                  {"seconds", number(phase.seconds)},
                  {"count", phase.count}};
    if (phase.isBeside)
      entry["beside"] = true;
    json["phases"].push_back(entry);
  }
  const Audit &audit = verdict.audit;
  json["audit"] = {{"seed", audit.seed},
                   {"candidate_hash", audit.candidateHash},
                   {"trials", audit.trials},
                   {"distributions", audit.distributions},
                   {"left_out", audit.leftOut},
                   {"timed_outputs_checked", audit.timedOutputsChecked},
                   {"audited_calls", audit.auditedCalls},
                   {"judged_calls", audit.judgedCalls}};
  if (audit.bitwiseDeterministic) {
    json["audit"]["bitwise_deterministic"] = *audit.bitwiseDeterministic;
    json["audit"]["repeated_calls"] = audit.repeatedCalls;
  }
  if (verdict.gpu)
    json["gpu"] = toJson(*verdict.gpu);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//
//
// A later worker may say more in the same format: no object is asked whether it
// has other fields (docs/formats/verdict.md).
//

static std::optional<Timing> readTiming(ObjectReader &parent, const char *key,
                                        std::string &error) {
  std::optional<Timing> result;
  parent.readObject(
      key,
      [&](const Json &value, std::string path) {
        ObjectReader reader(value, std::move(path), error);
        Timing timing;
        reader.readDouble("median_ns", timing.medianNs, 0, infinity);
        reader.readDouble("p10_ns", timing.p10Ns, 0, infinity);
        reader.readDouble("p90_ns", timing.p90Ns, 0, infinity);
        reader.readInt("samples", timing.samples, 0, INT64_MAX);
        if (reader.ok())
          result = timing;
      },
      true);
  return result;
}

static std::optional<Ratio> readRatio(ObjectReader &parent, const char *key,
                                      std::string &error) {
  std::optional<Ratio> result;
  parent.readObject(
      key,
      [&](const Json &value, std::string path) {
        ObjectReader reader(value, std::move(path), error);
        Ratio ratio;
        reader.readDouble("median", ratio.median, 0, infinity);
        reader.readDouble("low", ratio.low, 0, infinity);
        reader.readDouble("high", ratio.high, 0, infinity);
        if (reader.ok())
          result = ratio;
      },
      true);
  return result;
}

static TrialError readTrialError(const Json &value, std::string path,
                                 std::string &error) {
  TrialError trial;
  ObjectReader reader(value, std::move(path), error);
  reader.readString("distribution", trial.distribution);
  reader.readInt("trial", trial.trial, 0, INT64_MAX);
  reader.readInt("output", trial.output, 0, INT64_MAX, true);
  reader.readDouble("max_normalized", trial.maxNormalized, 0, infinity);
  reader.readDouble("relative_frobenius", trial.relativeFrobenius, 0, infinity);
  reader.readDouble("reference_max", trial.referenceMax, 0, infinity);
  reader.readDouble("reference_frobenius", trial.referenceFrobenius, 0,
                    infinity);
  reader.readInt("nan_mismatch", trial.nanMismatch, 0, INT64_MAX);
  reader.readDouble("bound", trial.bound, 0, infinity);
  reader.readDouble("bound_frobenius", trial.boundFrobenius, 0, infinity, true);
  double share = -1;
  reader.readDouble("share", share, -1, infinity, true);
  if (share >= 0)
    trial.share = share;
  reader.readInt("masked", trial.masked, 0, INT64_MAX, true);
  reader.readEnum("precision", trial.precision, parsePrecision,
                  "ieee, tf32, half, none", true);
  return trial;
}

static GpuReport readGpuReport(const Json &value, std::string path,
                               std::string &error) {
  GpuReport gpu;
  ObjectReader reader(value, std::move(path), error);
  reader.readString("name", gpu.name);
  reader.readString("arch", gpu.arch);
  reader.readString("driver", gpu.driver);
  reader.readString("compiler", gpu.compiler);
  // Not in verdicts of earlier workers.
  reader.readString("prelude", gpu.prelude, true);
  reader.readDouble("compile_ms", gpu.compileMs, 0, infinity);
  reader.readArray("kernels", [&](const Json &value, std::string path) {
    KernelReport kernel;
    ObjectReader fields(value, std::move(path), error);
    fields.readString("name", kernel.name);
    fields.readInt("registers", kernel.registers, 0, INT64_MAX);
    fields.readInt("spill_store_bytes", kernel.spillStoreBytes, 0, INT64_MAX);
    fields.readInt("spill_load_bytes", kernel.spillLoadBytes, 0, INT64_MAX);
    fields.readInt("stack_bytes", kernel.stackBytes, 0, INT64_MAX);
    fields.readInt("shared_bytes", kernel.sharedBytes, 0, INT64_MAX);
    gpu.kernels.push_back(kernel);
  });
  reader.readStrings("warnings", gpu.warnings);
  reader.readStrings("clocks", gpu.clocks);
  reader.readStrings("missing_clocks", gpu.missingClocks);
  gpu.host = readTiming(reader, "host", error);
  gpu.cupti = readTiming(reader, "cupti", error);
  reader.readObject(
      "sanitizer",
      [&](const Json &value, const std::string &path) {
        for (const auto &[tool, result] : value.items()) {
          if (error.empty() && !result.is_string())
            error = path + "." + tool + " is no text";
          if (error.empty())
            gpu.sanitizer.push_back({tool, result.get<std::string>()});
        }
      },
      true);
  reader.readObject(
      "delays",
      [&](const Json &value, std::string path) {
        ObjectReader fields(value, std::move(path), error);
        fields.readString("result", gpu.delays);
        fields.readInt("schedules", gpu.schedules, 0, INT64_MAX);
        fields.readInt("places", gpu.delayPlaces, 0, INT64_MAX);
        fields.readInt("possible_places", gpu.possibleDelayPlaces, 0,
                       INT64_MAX);
        fields.readInt("builds", gpu.delayBuilds, 0, INT64_MAX);
        fields.readDouble("slowdown", gpu.delaySlowdown, 0, infinity);
      },
      true);
  reader.readString("missing_counters", gpu.missingCounters, true);
  reader.readArray(
      "counters",
      [&](const Json &value, std::string path) {
        LaunchCounters launch;
        ObjectReader fields(value, std::move(path), error);
        fields.readString("kernel", launch.kernel);
        fields.readObject(
            "values", [&](const Json &values, const std::string &path) {
              for (const auto &[name, number] : values.items()) {
                if (error.empty() && !number.is_number())
                  error = path + "." + name + " is no number";
                if (error.empty())
                  launch.values.push_back({name, number.get<double>()});
              }
            });
        gpu.counters.push_back(std::move(launch));
      },
      true);
  auto gauge = [&](const char *key, std::optional<Gauge> &into) {
    reader.readObject(
        key,
        [&](const Json &value, std::string path) {
          ObjectReader fields(value, std::move(path), error);
          Gauge read;
          fields.readDouble("low", read.low, -infinity, infinity);
          fields.readDouble("high", read.high, -infinity, infinity);
          if (fields.ok())
            into = read;
        },
        true);
  };
  gauge("sm_clock_mhz", gpu.smClock);
  gauge("memory_clock_mhz", gpu.memoryClock);
  gauge("power_w", gpu.power);
  gauge("temperature_c", gpu.temperature);
  reader.readInt("readings", gpu.readings, 0, INT64_MAX);
  reader.readInt("throttled", gpu.throttled, 0, INT64_MAX);
  reader.readStrings("throttle_reasons", gpu.throttleReasons);
  return gpu;
}

std::optional<Verdict> fastk::worker::parseVerdict(std::string_view text,
                                                   std::string &error) {
  std::optional<Json> document = parseDocument(text, "verdict", error);
  if (!document)
    return std::nullopt;
  Verdict verdict;
  ObjectReader reader(*document, "$", error);
  int64_t format = 0;
  reader.readInt("format", format, 0, INT64_MAX);
  if (reader.ok() && format != verdictFormat)
    reader.fail("format",
                "is " + std::to_string(format) + ", and this fastk reads " +
                    std::to_string(verdictFormat) +
                    (format > verdictFormat
                         ? ": a newer one wrote it; use that version, which "
                           "goes on with the same files"
                         : ": use the worker that belongs to it"));
  reader.readString("id", verdict.id);
  reader.readEnum("status", verdict.status, parseStatus,
                  "ok, wrong, crash, timeout, memory, refused, impossible, "
                  "slow, unfit, error, compile_timeout");
  reader.readString("reason", verdict.reason);
  reader.readEnum("precision", verdict.precision, parsePrecision,
                  "ieee, tf32, half, none");
  reader.readArray("errors", [&](const Json &value, std::string path) {
    verdict.errors.push_back(readTrialError(value, std::move(path), error));
  });
  reader.readObject("timing", [&](const Json &value, std::string path) {
    ObjectReader timing(value, std::move(path), error);
    TimingReport &report = verdict.timing;
    report.candidate = readTiming(timing, "candidate", error);
    report.baseline = readTiming(timing, "baseline", error);
    report.incumbent = readTiming(timing, "incumbent", error);
    report.speedupOverBaseline =
        readRatio(timing, "speedup_over_baseline", error);
    report.speedupOverIncumbent =
        readRatio(timing, "speedup_over_incumbent", error);
    report.aaRatio = readRatio(timing, "aa_ratio", error);
    timing.readDouble("handshake_ns", report.handshakeNs, 0, infinity, true);
    timing.readBool("below_resolution", report.belowResolution, true);
    timing.readInt("threads", report.threads, 0, 65536, true);
    timing.readEnum("cache", report.cache, parseCache, "cold, warm", true);
    // Not in verdicts of earlier workers.
    int64_t dropped = 0;
    if (timing.readInt("dropped_blocks", dropped, 0, INT64_MAX, true))
      report.droppedBlocks = dropped;
    timing.readString("disturbed_by", report.disturbedBy, true);
    timing.readBool("too_busy", report.tooBusy, true);
  });
  reader.readArray("competitors", [&](const Json &value, std::string path) {
    ObjectReader competitor(value, std::move(path), error);
    Competitor result;
    competitor.readString("name", result.name);
    competitor.readBool("rejected", result.rejected);
    competitor.readString("reason", result.reason);
    verdict.competitors.push_back(result);
  });
  reader.readStrings("protections", verdict.protections);
  reader.readStrings("missing_protections", verdict.missingProtections);
  reader.readObject("resources", [&](const Json &value, std::string path) {
    ObjectReader resources(value, std::move(path), error);
    resources.readInt("peak_memory_bytes", verdict.resources.peakMemoryBytes, 0,
                      INT64_MAX);
    resources.readDouble("cpu_seconds", verdict.resources.cpuSeconds, 0,
                         infinity);
    resources.readDouble("wall_seconds", verdict.resources.wallSeconds, 0,
                         infinity);
  });
  // Not in verdicts of earlier workers.
  reader.readArray(
      "phases",
      [&](const Json &value, std::string path) {
        PhaseTime phase;
        ObjectReader fields(value, std::move(path), error);
        fields.readString("name", phase.name);
        fields.readDouble("seconds", phase.seconds, -infinity, infinity);
        fields.readInt("count", phase.count, 0, INT64_MAX);
        fields.readBool("beside", phase.isBeside, true);
        verdict.phases.push_back(phase);
      },
      true);
  reader.readObject("audit", [&](const Json &value, std::string path) {
    ObjectReader reader(value, std::move(path), error);
    Audit &audit = verdict.audit;
    reader.readUnsigned("seed", audit.seed);
    reader.readUnsigned("candidate_hash", audit.candidateHash);
    reader.readInt("trials", audit.trials, 0, INT64_MAX);
    reader.readStrings("distributions", audit.distributions);
    reader.readStrings("left_out", audit.leftOut);
    reader.readInt("timed_outputs_checked", audit.timedOutputsChecked, 0,
                   INT64_MAX);
    reader.readInt("audited_calls", audit.auditedCalls, 0, INT64_MAX);
    reader.readInt("judged_calls", audit.judgedCalls, 0, INT64_MAX, true);
    bool deterministic = false;
    if (reader.readBool("bitwise_deterministic", deterministic, true))
      audit.bitwiseDeterministic = deterministic;
    reader.readInt("repeated_calls", audit.repeatedCalls, 0, INT64_MAX, true);
  });
  reader.readObject(
      "gpu",
      [&](const Json &value, std::string path) {
        verdict.gpu = readGpuReport(value, std::move(path), error);
      },
      true);
  if (!reader.ok())
    return std::nullopt;
  return verdict;
}
