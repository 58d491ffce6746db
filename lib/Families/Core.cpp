//===- Core.cpp - What families are for -----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Core.h"
#include "CudaText.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Families/Attention.h"
#include "fastk/Families/AttentionText.h"
#include "fastk/Families/Contraction.h"
#include "fastk/Families/ContractionText.h"
#include "fastk/Families/Convolution.h"
#include "fastk/Families/ConvolutionText.h"
#include "fastk/Families/Pointwise.h"
#include "fastk/Families/PointwiseText.h"
#include "fastk/Families/Reduction.h"
#include "fastk/Families/ReductionText.h"
#include "fastk/Families/Scan.h"
#include "fastk/Families/ScanText.h"
#include "fastk/Families/WindowCore.h"
#include "fastk/Families/WindowText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fastk;
using namespace fastk::families;
using catalog::Machine;

template <auto match>
static std::optional<CoreInstance> describe(mlir::Block &body,
                                            std::string &why) {
  auto matched = match(body, why);
  return matched ? describeCore(*matched, why) : std::nullopt;
}

template <auto match>
static std::optional<CoreInstance> describeInC(mlir::Block &body,
                                               const catalog::Machine &machine,
                                               std::string &why) {
  auto matched = match(body, why);
  return matched ? describeForHost(*matched, machine, why) : std::nullopt;
}

template <auto draw>
static Sample sample(uint64_t seed, uint64_t number) {
  auto drawn = draw(seed, number);
  return {drawn.text.str(), std::move(drawn.about)};
}

ArrayRef<Core> families::cores() {
  static const Core table[] = {
      {"contraction", describe<matchBatchedContraction>,
       describeInC<matchContraction>, sample<families::sampleContraction>,
       /*sampleForHost=*/nullptr, describe<matchContraction>},
      {"reduction", describe<matchReductions>, describeInC<matchHostReductions>,
       sample<families::sampleReduction>},
      {"attention", describe<matchAttention>, describeInC<matchAttention>,
       sample<families::sampleAttention>,
       sample<families::sampleHostAttention>},
      {"convolution", describe<matchConvolution>, describeInC<matchConvolution>,
       sample<families::sampleConvolution>},
      {"pointwise", describe<matchPointwise>, describeInC<matchPointwise>,
       sample<families::samplePointwise>},
      {"scan", describe<matchScan>, nullptr, sample<families::sampleScan>},
      {"window", describe<matchWindows>, describeInC<matchWindows>,
       sample<families::sampleWindow>},
  };
  return table;
}

std::string families::listCores() {
  return join(map_range(cores(), [](const Core &core) { return core.name; }),
              ", ");
}

static const Core *coreNamed(StringRef name) {
  const Core *found =
      find_if(cores(), [&](const Core &core) { return core.name == name; });
  return found == cores().end() ? nullptr : found;
}

std::optional<Sample> families::makeSample(StringRef core, uint64_t seed,
                                           uint64_t number, bool isForHost) {
  const Core *found = coreNamed(core);
  if (!found)
    return std::nullopt;
  if (isForHost && found->sampleForHost)
    return found->sampleForHost(seed, number);
  return found->sample(seed, number);
}

static std::optional<CoreInstance> findHostCore(const Core &core,
                                                mlir::Block &pattern,
                                                const Machine &machine,
                                                std::string &why) {
  if (!core.describeForHost) {
    why = "there are no " + core.name.str() + " families for the host";
    return std::nullopt;
  }
  std::optional<CoreInstance> found =
      core.describeForHost(pattern, machine, why);
  if (found) {
    found->core = core.name;
    found->host = machine;
  }
  return found;
}

/// By `describe`, for a device of these limits.
static std::optional<CoreInstance>
describeForDevice(decltype(Core::describe) describe, const Core &core,
                  mlir::Block &pattern, const worker::PlanLimits &limits,
                  std::string &why) {
  std::optional<CoreInstance> found = describe(pattern, why);
  if (found) {
    found->core = core.name;
    found->multiprocessors = limits.multiprocessors;
    found->sharedBytes = limits.sharedBytes;
  }
  return found;
}

std::optional<CoreInstance>
families::findCore(StringRef name, mlir::Block &pattern, StringRef target,
                   std::string &why, const Machine &machine) {
  bool isHost = target == "host";
  std::optional<worker::PlanLimits> limits = planLimitsOf(target);
  if (!isHost && !limits) {
    why = "there are no families for " + target.str();
    return std::nullopt;
  }
  const Core *core = coreNamed(name);
  if (!core) {
    why = "there is no core '" + name.str() + "'";
    return std::nullopt;
  }
  if (isHost)
    return findHostCore(*core, pattern, machine, why);
  return describeForDevice(core->describe, *core, pattern, *limits, why);
}

void families::acceptClass(CoreInstance &core, StringRef precision) {
  core.acceptsTF32 = precision != "ieee";
  core.acceptsHalf = precision == "half";
}

std::string CoreInstance::functions() const {
  return acceptsTF32 && hidesFastFunctions ? fastFunctionsFor(header)
                                           : std::string();
}

/// The workload as the same core, but otherwise; nothing: it is no other.
static std::optional<CoreInstance> findOtherwise(const Core &core,
                                                 mlir::Block &pattern,
                                                 StringRef target,
                                                 const CoreInstance &first) {
  std::string why;
  if (!first.isSplit || !core.describeOtherwise)
    return std::nullopt;
  return describeForDevice(core.describeOtherwise, core, pattern,
                           *planLimitsOf(target), why);
}

std::vector<CoreInstance>
families::findCores(mlir::Block &pattern, StringRef target, std::string &why,
                    const Machine &machine, StringRef precision) {
  std::vector<CoreInstance> found, last;
  std::string reasons;
  for (const Core &core : cores()) {
    std::string reason;
    if (auto instance = findCore(core.name, pattern, target, reason, machine)) {
      acceptClass(*instance, precision);
      // As a contraction it does not know that windows share elements, and its
      // families sum three products where one is enough that rounds f32.
      bool isFirst = core.name == "convolution" &&
                     (!instance->isProduct || instance->acceptsTF32);
      auto place = isFirst ? found.begin() : found.end();
      std::optional<CoreInstance> otherwise =
          findOtherwise(core, pattern, target, *instance);
      if (otherwise)
        acceptClass(*otherwise, precision);
      if (otherwise && instance->isSplitFinely)
        std::swap(*instance, *otherwise);
      if (instance->isWithoutReuse)
        last.push_back(std::move(*instance));
      else
        found.insert(place, std::move(*instance));
      if (otherwise)
        last.push_back(std::move(*otherwise));
    } else
      reasons +=
          (reasons.empty() ? "no " : "; no ") + core.name.str() + ": " + reason;
  }
  append_range(found, last);
  if (found.empty())
    why = reasons;
  return found;
}
