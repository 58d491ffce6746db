//===- Evidence.cpp - What shows that a family is right -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Evidence.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/Nesting.h"
#include "fastk/Support/OutputPlace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fcntl.h>

using namespace llvm;
using namespace fastk;
using families::Evidence;

static constexpr int64_t kFormat = 1;
/// Far above any evidence; a bound for a stray file.
static constexpr size_t kFileLimit = 16 << 20;

std::vector<uint64_t> Evidence::samples() const {
  std::vector<uint64_t> numbers;
  for (const Instance &each : instances)
    if (numbers.empty() || numbers.back() != each.sample)
      numbers.push_back(each.sample);
  return numbers;
}

size_t Evidence::timed() const {
  return llvm::count_if(
      instances, [](const Instance &each) { return each.times.has_value(); });
}

double Evidence::meanRatio() const {
  double sum = 0;
  for (const Instance &each : instances)
    if (each.times)
      sum += std::log(each.times->ratio);
  return timed() ? std::exp(sum / double(timed())) : 0;
}

/// What the file calls the compiler's version.
static StringLiteral compilerField(StringRef target) {
  return target == "host" ? StringLiteral("clang") : StringLiteral("nvrtc");
}

std::string Evidence::compilerName() const {
  return (target == "host" ? "clang " : "NVRTC ") + compiler;
}

std::string families::evidencePath(StringRef folder, StringRef accepts,
                                   unsigned vectorBytes) {
  SmallString<256> path(folder);
  sys::path::append(path, "evidence");
  if (vectorBytes)
    path += ("." + Twine(vectorBytes)).str();
  if (accepts != "ieee")
    path += ("." + accepts).str();
  path += ".json";
  return std::string(path);
}

namespace llvm::json {
static bool fromJSON(const Value &value, Evidence::Times &times, Path path) {
  ObjectMapper map(value, path);
  if (!map || !map.map("instance_ns", times.instanceNs) ||
      !map.map("default_ns", times.defaultNs) ||
      !map.map("ratio", times.ratio) ||
      !map.mapOptional("below_resolution", times.belowResolution))
    return false;
  if (times.ratio > 0)
    return true;
  path.field("ratio").report("must be more than 0");
  return false;
}

static bool fromJSON(const Value &value, Evidence::Instance &instance,
                     Path path) {
  ObjectMapper map(value, path);
  return map && map.map("sample", instance.sample) &&
         map.map("workload", instance.workload) &&
         map.map("about", instance.about) &&
         map.map("program", instance.program) &&
         map.map("precision", instance.precision) &&
         map.map("times", instance.times);
}
} // namespace llvm::json

static Error fail(StringRef file, const Twine &why) {
  return createStringError(file + ": " + why +
                           "; fastk-opt --admit-family writes it anew");
}

Expected<Evidence> families::readEvidence(StringRef folder, StringRef accepts,
                                          unsigned vectorBytes) {
  std::string file = evidencePath(folder, accepts, vectorBytes);
  Expected<std::string> text =
      readRegularFile(AT_FDCWD, file, file, kFileLimit);
  if (!text)
    return text.takeError();
  Expected<json::Value> value = parseShallowJSON(*text);
  if (!value)
    return fail(file, toString(value.takeError()));
  Evidence evidence;
  json::Path::Root root("evidence");
  json::ObjectMapper map(*value, root);
  int64_t format = 0;
  if (!map || !map.map("format", format) ||
      !map.map("family", evidence.family) ||
      !map.map("emitter", evidence.emitter) ||
      !map.map("target", evidence.target) ||
      !map.map(compilerField(evidence.target), evidence.compiler) ||
      !map.mapOptional("prelude", evidence.prelude) ||
      !map.mapOptional("driver", evidence.driver) ||
      !map.mapOptional("accepts", evidence.accepts) ||
      (evidence.target == "host" &&
       !map.map("vector_bytes", evidence.vectorBytes)) ||
      !map.map("device", evidence.device) || !map.map("seed", evidence.seed) ||
      !map.map("instances", evidence.instances))
    return fail(file, toString(root.getError()));
  if (format != kFormat)
    return fail(file, "is of format " + Twine(format) +
                          ", and this fastk reads format " + Twine(kFormat));
  if (evidence.accepts != accepts)
    return fail(file, "is of class " + evidence.accepts);
  if (evidence.vectorBytes != vectorBytes)
    return fail(file,
                "is of vectors of " + Twine(evidence.vectorBytes) + " bytes");
  if (size_t count = evidence.samples().size(); count < kMinSamples)
    return fail(file, "is of " + Twine(count) + " workloads, and " +
                          Twine(kMinSamples) + " are the least");
  return evidence;
}

static void writeTimes(json::OStream &writer, const Evidence::Times &times) {
  auto number = [&](StringRef name, const char *format, double value) {
    writer.attributeBegin(name);
    std::string text;
    raw_string_ostream(text) << llvm::format(format, value);
    writer.rawValue(text);
    writer.attributeEnd();
  };
  writer.attributeObject("times", [&] {
    number("instance_ns", "%.0f", times.instanceNs);
    number("default_ns", "%.0f", times.defaultNs);
    number("ratio", "%.4g", times.ratio);
    if (times.belowResolution)
      writer.attribute("below_resolution", true);
  });
}

Error families::writeEvidence(StringRef folder, const Evidence &evidence) {
  std::string text;
  raw_string_ostream os(text);
  json::OStream writer(os, 1);
  writer.object([&] {
    writer.attribute("format", kFormat);
    writer.attribute("family", evidence.family);
    writer.attribute("emitter", evidence.emitter);
    writer.attribute(compilerField(evidence.target), evidence.compiler);
    if (evidence.target == "host") {
      writer.attribute("vector_bytes", evidence.vectorBytes);
    } else {
      writer.attribute("prelude", evidence.prelude);
      writer.attribute("driver", evidence.driver);
    }
    if (evidence.accepts != "ieee")
      writer.attribute("accepts", evidence.accepts);
    writer.attribute("target", evidence.target);
    writer.attribute("device", evidence.device);
    writer.attribute("seed", evidence.seed);
    writer.attributeArray("instances", [&] {
      for (const Evidence::Instance &each : evidence.instances)
        writer.object([&] {
          writer.attribute("sample", each.sample);
          writer.attribute("workload", each.workload);
          writer.attribute("about", each.about);
          writer.attribute("program", each.program);
          writer.attribute("precision", each.precision);
          if (each.times)
            writeTimes(writer, *each.times);
        });
    });
  });
  os << "\n";
  return writeOutput(
      evidencePath(folder, evidence.accepts, evidence.vectorBytes), text);
}
