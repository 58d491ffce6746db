//===- PTXProgram.cpp - A variant in PTX, before it is assembled ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/PTXProgram.h"
#include "DeviceCodeChecker.h"
#include "fastk/Cuda/Cubin.h"
#include <algorithm>
#include <cctype>

using namespace fastk;
using namespace fastk::cuda;
using worker::Dim3;

/// A text is judged before it is sent anywhere: kernels of others have some
/// hundred kilobytes at most.
static constexpr size_t kMaxBytes = size_t(2) << 20;

namespace {

/// "sm_90a" in parts.
struct Arch {
  int number = 0;
  /// 'a': for this chip alone; 'f': for its family; 0: for later ones, too.
  char suffix = 0;

  static std::optional<Arch> parse(std::string_view text) {
    Arch arch;
    if (text.substr(0, 3) != "sm_")
      return std::nullopt;
    size_t at = 3;
    for (; at < text.size() && std::isdigit(text[at]) && at < 7; ++at)
      arch.number = arch.number * 10 + (text[at] - '0');
    if (at == 3)
      return std::nullopt;
    if (at < text.size())
      arch.suffix = text[at++];
    bool isKnown = !arch.suffix || arch.suffix == 'a' || arch.suffix == 'f';
    if (at < text.size() || !isKnown)
      return std::nullopt;
    return arch;
  }

  /// Whether code for it runs on \p device.
  bool runsOn(const Arch &device) const {
    if (suffix == 'a')
      return number == device.number && device.suffix == 'a';
    if (suffix == 'f')
      return number <= device.number && number / 10 == device.number / 10 &&
             device.suffix != 0;
    return number <= device.number;
  }
};

class ProgramCheck {
public:
  ProgramCheck(DeviceCodeChecker &checker, const worker::LaunchPlan &plan,
               std::string_view arch)
      : checker(checker), plan(plan), arch(arch) {}

  void run() {
    checkHeader();
    for (size_t step = 0; step < plan.steps.size(); ++step)
      if (const auto *launch = std::get_if<worker::Launch>(&plan.steps[step]))
        checkLaunch(*launch, step);
  }

private:
  void refuseHeader(PTXToken where, const std::string &text) {
    checker.refuseAt(where, "fastk.ptx_program", text);
  }
  void checkHeader();
  void checkTarget(PTXToken target);
  void checkLaunch(const worker::Launch &launch, size_t step);

  DeviceCodeChecker &checker;
  const worker::LaunchPlan &plan;
  std::string_view arch;
};

} // namespace

static std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

void ProgramCheck::checkTarget(PTXToken target) {
  std::optional<Arch> wanted = Arch::parse(target), device = Arch::parse(arch);
  if (!wanted)
    return refuseHeader(target, "'.target " + std::string(target) +
                                    "' is no GPU: write .target " +
                                    std::string(arch));
  if (device && !wanted->runsOn(*device))
    refuseHeader(target, "'.target " + std::string(target) +
                             "' does not run on " + std::string(arch) +
                             ": make the program for " + std::string(arch) +
                             " or an earlier one (what ends in a runs on this "
                             "GPU alone, what ends in f on its family)");
}

void ProgramCheck::checkHeader() {
  for (const char *directive : {".version", ".target", ".address_size"}) {
    std::vector<DeviceCodeChecker::Header> found;
    for (const auto &each : checker.headers)
      if (each.directive == directive)
        found.push_back(each);
    if (found.size() != 1) {
      refuseHeader(found.empty() ? PTXToken() : found[1].directive,
                   "a program has one " + quoted(directive) +
                       ", this one has " + std::to_string(found.size()));
      continue;
    }
    const DeviceCodeChecker::Tokens &values = found[0].values;
    if (values.size() != 1)
      refuseHeader(found[0].directive,
                   quoted(directive) + " has one value and no options");
    else if (found[0].directive == ".target")
      checkTarget(values[0]);
    else if (found[0].directive == ".address_size" && values[0] != "64")
      refuseHeader(values[0], "'.address_size " + std::string(values[0]) +
                                  "': a plan passes addresses of 64 bits");
  }
}

static std::string show(const Dim3 &extents) {
  return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" +
         std::to_string(extents[2]);
}

/// Their names, as many as a person reads.
static std::string listed(const std::vector<PTXEntry> &entries) {
  constexpr size_t most = 16;
  std::string names;
  for (size_t i = 0; i < entries.size() && i < most; ++i)
    names += (i ? ", " : "") + quoted(entries[i].name);
  if (entries.size() > most)
    names += " and " + std::to_string(entries.size() - most) + " more";
  return names.empty() ? "none" : names;
}

void ProgramCheck::checkLaunch(const worker::Launch &launch, size_t step) {
  std::string place = "$.steps[" + std::to_string(step) + "]";
  const PTXEntry *entry = nullptr;
  for (const PTXEntry &each : checker.entries)
    if (each.name == launch.kernel)
      entry = &each;
  if (!entry)
    return checker.refuseAt({}, "fastk.ptx_launch",
                            "the plan's " + place + ".launch names " +
                                quoted(launch.kernel) + ", but the entries " +
                                "are " + listed(checker.entries));
  auto refuse = [&](const std::string &text) {
    checker.refuseAt(entry->name, "fastk.ptx_launch",
                     "the plan's " + place + text);
  };
  for (size_t i = 0; i < entry->parameters.size(); ++i)
    if (entry->parameters[i] == 0)
      return refuse(": parameter " + std::to_string(i) + " of " +
                    quoted(entry->name) +
                    " is of a type that no plan can pass: a kernel takes "
                    "pointers, tensor maps of 128 bytes, 32 and 64 bits");
  if (std::string problem = compareArguments(launch, entry->parameters);
      !problem.empty())
    refuse(": " + problem);
  auto compare = [&](const char *field, const Dim3 &planned,
                     const std::optional<Dim3> &wanted, const char *directive) {
    if (wanted && planned != *wanted)
      refuse(std::string(field) + " is " + show(planned) + ", but " +
             quoted(entry->name) + " says " + directive + " " + show(*wanted) +
             "; they must be the same");
  };
  compare(".block", launch.block, entry->block, ".reqntid");
  compare(".cluster", launch.cluster, entry->cluster, ".reqnctapercluster");
  int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (entry->maxThreads && threads > *entry->maxThreads)
    refuse(".block has " + std::to_string(threads) + " threads, but " +
           quoted(entry->name) + " says .maxntid of " +
           std::to_string(*entry->maxThreads));
}

std::vector<PTXEntry> fastk::cuda::readPTXEntries(std::string_view ptx) {
  std::vector<PTXToken> tokens;
  std::string error;
  if (!tokenizePTX(ptx, tokens, error))
    return {};
  DeviceCodeChecker checker(ptx, tokens);
  checker.run();
  return std::move(checker.entries);
}

std::vector<Refusal>
fastk::cuda::checkPTXProgram(std::string_view ptx,
                             const worker::LaunchPlan &plan,
                             std::string_view arch) {
  if (ptx.size() > kMaxBytes)
    return {{"fastk.ptx_program", "it has " + std::to_string(ptx.size()) +
                                      " bytes; the limit is " +
                                      std::to_string(kMaxBytes)}};
  std::vector<PTXToken> tokens;
  if (std::optional<Refusal> problem = readTokens(ptx, tokens))
    return {*problem};
  DeviceCodeChecker checker(ptx, tokens);
  checker.run();
  ProgramCheck(checker, plan, arch).run();
  return std::move(checker.refusals);
}
