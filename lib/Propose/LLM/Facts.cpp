//===- Facts.cpp - What is told of a program that was tried ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Facts.h"
#include "ReadReply.h"
#include "fastk/System/AvailableMemory.h"
#include "fastk/Target/Occupancy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace llvm;
using namespace fastk;

std::string llm::showSeconds(double seconds) {
  if (seconds < 1e-7)
    return formatv("{0:f2} ns", seconds * 1e9).str();
  if (seconds < 1e-5)
    return formatv("{0:f2} us", seconds * 1e6).str();
  if (seconds < 1e-3)
    return formatv("{0:f1} us", seconds * 1e6).str();
  if (seconds < 1)
    return formatv("{0:f3} ms", seconds * 1e3).str();
  return formatv("{0:f2} s", seconds).str();
}

/// True where `sign` stands in the text and begins a word.
static bool says(StringRef text, StringRef sign) {
  for (size_t at = 0; (at = text.find(sign, at)) != StringRef::npos; ++at) {
    bool followsAWord =
        at > 0 && (isAlnum(text[at - 1]) || text[at - 1] == '_');
    if (!followsAWord || !isAlnum(sign[0]))
      return true;
  }
  return false;
}

std::vector<std::string> llm::featuresOf(StringRef program) {
  struct Feature {
    StringLiteral name;
    SmallVector<StringRef, 4> signs;
  };
  static const Feature features[] = {
      {"wgmma",
       {"wgmmaF16", "wgmmaBF16", "wgmmaTF32", "wgmmaE4M3", "wgmma.mma_async"}},
      {"mma.sync",
       {"mmaF16(", "mmaBF16(", "mmaTF32(", "mma.sync", "wmma::", "__mma"}},
      {"TMA", {"tmaLoad", "bulkLoad", "cp.async.bulk"}},
      {"cp.async", {"cpAsync16", "cp.async.c"}},
      {"clusters",
       {"clusterSync", "clusterArrive", "mapaShared", "barrier.cluster"}},
      {"warp-specialised registers", {"registersUp", "setmaxnreg"}},
      {"shared memory", {"__shared__"}},
      {"16-byte accesses", {"float4", "uint4", "int4", "double2"}},
      {"atomics", {"atomicAdd", "atomicMax", "addRelease", "red.global"}},
  };
  std::vector<std::string> found;
  for (const Feature &feature : features)
    if (any_of(feature.signs,
               [&](StringRef sign) { return says(program, sign); }))
      found.push_back(feature.name.str());
  return found;
}

/// The largest error of a trial; 1 is the bound.
static double shareOfBound(const worker::TrialError &e) {
  if (e.share)
    return *e.share;
  return std::max(e.bound > 0 ? e.maxNormalized / e.bound : 0.0,
                  e.boundFrobenius > 0 ? e.relativeFrobenius / e.boundFrobenius
                                       : 0.0);
}

static std::string percent(double part, double whole) {
  return whole > 0 ? formatv("{0:f1} %", 100 * part / whole).str() : "?";
}

/// What the launches of a plan occupy, by the compiler's numbers.
static void addLaunches(const worker::LaunchPlan &plan,
                        const worker::Verdict *verdict,
                        const DeviceDescription &device,
                        std::vector<std::string> &facts) {
  int64_t workspace = 0;
  for (const worker::Workspace &each : plan.workspaces)
    workspace += each.bytes;
  facts.push_back(
      formatv("a plan of {0} step(s){1}", plan.steps.size(),
              workspace ? ", scratch memory " + showBytes(double(workspace))
                        : std::string()));
  int shown = 0;
  for (const worker::PlanStep &step : plan.steps) {
    const auto *launch = std::get_if<worker::Launch>(&step);
    if (!launch || ++shown > 4)
      continue;
    int64_t blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    int64_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    std::string line = formatv("{0}: {1} blocks of {2} threads", launch->kernel,
                               blocks, threads);
    const worker::KernelReport *kernel = nullptr;
    if (verdict && verdict->gpu)
      for (const worker::KernelReport &each : verdict->gpu->kernels)
        if (each.name == launch->kernel)
          kernel = &each;
    if (!kernel) {
      facts.push_back(line);
      continue;
    }
    int64_t shared = kernel->sharedBytes + launch->sharedBytes;
    line += formatv(", {0} registers a thread, {1} B shared memory a block",
                    kernel->registers, shared);
    if (kernel->spillStoreBytes || kernel->spillLoadBytes)
      line += formatv(", SPILLS {0} B stores and {1} B loads a thread",
                      kernel->spillStoreBytes, kernel->spillLoadBytes);
    if (kernel->stackBytes)
      line += formatv(", {0} B of local memory a thread (arrays that are "
                      "indexed dynamically, or spills)",
                      kernel->stackBytes);
    Occupancy occupancy =
        computeOccupancy(device, threads, kernel->registers, shared);
    if (occupancy.blocks > 0)
      line += formatv(
          "; {0} blocks a multiprocessor (occupancy {1:f0} %, "
          "limited by {2}), {3:f2} waves",
          occupancy.blocks, 100 * occupancy.share, occupancy.limiter,
          double(blocks) / double(occupancy.blocks * device.multiprocessors));
    facts.push_back(line);
  }
}

/// What the counters of a launch say, in one line.
static std::string describe(const worker::LaunchCounters &launch) {
  SmallVector<std::string> parts;
  auto percentOf = [&](StringRef name, StringRef text) {
    if (std::optional<double> value = launch.get(name))
      parts.push_back(formatv("{0} {1:f0} %", text, *value));
  };
  auto read = launch.get("dram_read_bytes");
  auto written = launch.get("dram_write_bytes");
  if (read && written)
    parts.push_back("DRAM reads " + showBytes(*read) + " and writes " +
                    showBytes(*written));
  percentOf("l2_hit_percent", "L2 hits");
  percentOf("tensor_percent", "tensor cores busy");
  percentOf("issue_percent", "issue slots used");
  percentOf("warps_percent", "warps resident");
  auto wavefronts = launch.get("shared_wavefronts");
  auto conflicts = launch.get("shared_bank_conflicts");
  if (wavefronts && conflicts && *wavefronts > 0)
    parts.push_back(formatv("bank conflicts {0:f0} % of shared-memory accesses",
                            100 * *conflicts / *wavefronts));
  // The two that warps wait for longest.
  SmallVector<std::pair<double, StringRef>> waits;
  for (const auto &[name, value] : launch.values) {
    StringRef reason = name;
    if (reason.consume_front("stall_") && reason.consume_back("_percent") &&
        reason != "selected" && reason != "not_selected")
      waits.push_back({-value, reason});
  }
  llvm::sort(waits);
  waits.truncate(std::min<size_t>(waits.size(), 2));
  for (auto &[negative, reason] : waits)
    parts.push_back(
        formatv("{0:f0} % of a warp's time in stall '{1}'", -negative, reason));
  std::string line = launch.kernel + " by ncu";
  if (auto time = launch.get("time_ns"))
    line += " (" + llm::showSeconds(*time * 1e-9) + " alone)";
  return llm::cleanLine(line + ": " + join(parts, ", "), 400);
}

std::vector<std::string> llm::factsOf(const ProposalContext &context,
                                      const TriedVariant &tried,
                                      const DeviceDescription *device) {
  std::vector<std::string> facts;
  const Roofline &roofline = context.roofline;
  const TargetDescription &target = context.target;
  const worker::Verdict *verdict = tried.verdict.get();
  if (tried.seconds > 0) {
    std::string line = "time " + showSeconds(tried.seconds);
    if (tried.baselineSeconds > 0)
      line += formatv(", {0:f2}x the default lowering's speed",
                      tried.baselineSeconds / tried.seconds);
    if (context.floorSeconds > 0)
      line += formatv(", {0} of the floor's speed",
                      percent(context.floorSeconds, tried.seconds));
    facts.push_back(line);

    double bytes = double(roofline.compulsoryBytes());
    double bandwidth = bytes / tried.seconds;
    facts.push_back(formatv("compulsory bytes at {0}/s, {1} of the peak",
                            showBytes(bandwidth),
                            percent(bandwidth, target.memoryBytesPerSecond)));
    double rate = roofline.ops.flops() / tried.seconds;
    if (rate > 0) {
      line = formatv("operations at {0:f3} TFLOP/s, {1} of the f32 peak",
                     rate / 1e12, percent(rate, target.f32OpsPerSecond));
      if (device && target.f16OpsPerSecond > 0 && roofline.ops.multiplyAdd > 0)
        line += formatv(", {0} of the f16 tensor-core peak",
                        percent(rate, target.f16OpsPerSecond));
      facts.push_back(line);
    }
  }
  if (verdict && tried.status == "ok") {
    double worst = 0;
    std::string where;
    for (const worker::TrialError &error : verdict->errors) {
      double share = shareOfBound(error);
      if (std::isfinite(share) && share > worst) {
        worst = share;
        where = error.distribution;
      }
    }
    std::string line = "measured precision class " +
                       std::string(worker::toString(verdict->precision));
    if (worst > 0)
      line += formatv(", error at most {0:f0} % of what is allowed (on {1})",
                      100 * worst, where);
    facts.push_back(line);
  }
  if (device && tried.variant.plan)
    addLaunches(*tried.variant.plan, verdict, *device, facts);
  std::vector<std::string> features = featuresOf(tried.variant.program);
  if (device && tried.variant.language == Language::cuda) {
    bool tensorCores =
        is_contained(features, "wgmma") || is_contained(features, "mma.sync");
    facts.push_back("uses " +
                    (features.empty() ? std::string("plain loads and stores")
                                      : join(features, ", ")) +
                    (tensorCores ? "" : "; no tensor cores"));
  }
  if (verdict && verdict->gpu) {
    for (const worker::LaunchCounters &launch :
         ArrayRef(verdict->gpu->counters).take_front(3))
      facts.push_back(describe(launch));
    int shown = 0;
    for (const std::string &warning : verdict->gpu->warnings)
      if (++shown <= 3)
        facts.push_back("compiler warning: " + cleanLine(warning, 200));
  }
  return facts;
}

std::vector<std::string> llm::errorsOf(const worker::Verdict &verdict,
                                       size_t most) {
  std::vector<const worker::TrialError *> errors;
  for (const worker::TrialError &error : verdict.errors)
    errors.push_back(&error);
  auto badness = [](const worker::TrialError &e) {
    double share = shareOfBound(e);
    return e.nanMismatch || std::isnan(share) ? HUGE_VAL : share;
  };
  // They lie in one array: where they are equally bad, by their place.
  llvm::sort(errors, [&](auto *a, auto *b) {
    double left = badness(*a), right = badness(*b);
    return left != right ? left > right : a < b;
  });
  std::vector<std::string> lines;
  for (const worker::TrialError *e : errors) {
    if (lines.size() >= most)
      break;
    std::string line =
        e->share
            ? formatv("inputs '{0}', result out{1}: the worst element or row "
                      "errs by {2:f3} times what it may",
                      e->distribution, e->output, *e->share)
                  .str()
            : formatv("inputs '{0}', result out{1}: largest error {2:e2} "
                      "(allowed {3:e2}), "
                      "relative Frobenius error {4:e2} (allowed {5:e2}); the "
                      "trusted kernel "
                      "has {6:e2} and {7:e2}",
                      e->distribution, e->output, e->maxNormalized, e->bound,
                      e->relativeFrobenius, e->boundFrobenius, e->referenceMax,
                      e->referenceFrobenius)
                  .str();
    if (e->nanMismatch)
      line += formatv("; {0} elements are NaN or infinite where they must not "
                      "be, or the other way round",
                      e->nanMismatch);
    lines.push_back(line);
  }
  return lines;
}
