//===- Schedules.cpp - Which warps are held back, and how long ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedules.h"
#include "Clock.h"
#include "Process/RunTool.h"
#include "Values/OperandGenerator.h"
#include "fastk/Cuda/Nvrtc.h"
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

using namespace fastk;
using namespace fastk::worker;
using cuda::Schedule;

/// What is told apart when it is decided who waits.
struct Grouping {
  bool warps, blocks, places, visits;
  const char *text;
};
static constexpr Grouping groupings[] = {
    {true, true, true, true, "every warp for itself, anew at each visit"},
    {true, true, true, false, "every warp for itself"},
    {false, true, true, false, "whole blocks"},
    {true, false, true, false, "the same warps of all blocks"},
    {true, true, true, true, "every warp for itself, anew at each visit"},
    {false, false, true, false, "everyone at the same places"},
    {true, true, false, false, "slow warps"},
    {false, true, false, false, "slow blocks"},
    {true, false, false, false, "a slow warp in all blocks"}};
static constexpr size_t groups = sizeof(groupings) / sizeof(groupings[0]);

Schedule fastk::worker::scheduleOf(uint64_t seed, int64_t number, double dearNs,
                                   double mostNs) {
  uint64_t bits = bitsAt(seed, uint64_t(number));
  constexpr uint32_t all = ~uint32_t(0);
  // One kind after the other, so that few schedules have all of them.
  const Grouping &grouping = groupings[size_t(number) % groups];
  Schedule schedule;
  schedule.key = uint32_t(bits);
  schedule.warps = grouping.warps ? all : 0;
  schedule.blocks = grouping.blocks ? all : 0;
  schedule.places = grouping.places ? all : 0;
  schedule.visits = grouping.visits ? all : 0;
  // 1 of 2, 8, 32 or 128 places; of whole warps and blocks, 1 of 2, 4, 8, 16.
  uint32_t rare = uint32_t(bits >> 32) % 4;
  static constexpr uint32_t ofPlaces[] = {1, 3, 5, 7},
                            ofGroups[] = {1, 2, 3, 4};
  schedule.threshold =
      65536u >> (grouping.places ? ofPlaces[rare] : ofGroups[rare]);
  // 256 ns to 32 us.
  schedule.nanoseconds = (256u << (uint32_t(bits >> 40) % 8)) - 1;
  // A slow warp waits everywhere.
  double share = grouping.places ? schedule.threshold / 65536. : 1;
  while (schedule.nanoseconds > 63 &&
         dearNs * share * schedule.nanoseconds / 2 > mostNs)
    schedule.nanoseconds /= 2;
  while (grouping.places && schedule.threshold > 1 &&
         dearNs * schedule.threshold / 65536. * schedule.nanoseconds / 2 >
             mostNs)
    schedule.threshold /= 2;
  return schedule;
}

std::string fastk::worker::describe(const Schedule &schedule) {
  const char *who = "";
  for (const Grouping &each : groupings)
    if (each.warps == (schedule.warps != 0) &&
        each.blocks == (schedule.blocks != 0) &&
        each.places == (schedule.places != 0) &&
        each.visits == (schedule.visits != 0))
      who = each.text;
  char text[160];
  snprintf(text, sizeof(text), "up to %.2g us, 1 of %u, %s",
           double(schedule.nanoseconds + 1) / 1000,
           65536u / std::max(schedule.threshold, 1u), who);
  return text;
}

//===----------------------------------------------------------------------===//
// ptxas
//===----------------------------------------------------------------------===//

namespace {
/// Of one log.
struct Complaints {
  std::map<std::string, unsigned> spilledBytes, registers;
  std::map<std::string, int> codes;
};
} // namespace

static Complaints complaintsOf(const std::string &log) {
  // The log of ptxas itself has some lines without its name, which the one of
  // NVRTC has: it quotes nothing, so none of them is the program's.
  std::istringstream lines(log);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    text += (line.compare(0, 5, "ptxas") == 0 ? "" : "ptxas ") + line + "\n";
  std::vector<cuda::KernelFacts> kernels;
  std::vector<cuda::CompilerWarning> warnings;
  cuda::parseCompilerLog(text, kernels, warnings);
  Complaints complaints;
  for (const cuda::KernelFacts &kernel : kernels) {
    complaints.spilledBytes[kernel.name] =
        kernel.spillStoreBytes + kernel.spillLoadBytes;
    complaints.registers[kernel.name] = kernel.registers;
  }
  for (const cuda::CompilerWarning &warning : warnings)
    ++complaints.codes[warning.code];
  return complaints;
}

/// Blocks of a multiprocessor, as far as its 65,536 registers go: each of its
/// four parts has a quarter and gives them to warps by 256.
static int64_t blocksByRegisters(unsigned registers, int64_t threads) {
  int64_t ofWarp = (int64_t(std::max(registers, 1u)) + 7) / 8 * 256;
  int64_t warps = 16384 / ofWarp * 4;
  return warps / std::max<int64_t>((threads + 31) / 32, 1);
}

bool fastk::worker::isWorse(const std::string &original, const std::string &log,
                            const AssemblerRules &rules) {
  Complaints before = complaintsOf(original), after = complaintsOf(log);
  for (const auto &[kernel, bytes] : after.spilledBytes)
    if (bytes > before.spilledBytes[kernel])
      return true;
  for (const auto &[code, count] : after.codes)
    if (before.codes.count(code) == 0)
      return true;
  for (const LaunchShape &launch : rules.launches) {
    int64_t were =
        blocksByRegisters(before.registers[launch.entry], launch.threads);
    int64_t are =
        blocksByRegisters(after.registers[launch.entry], launch.threads);
    bool areAllResident = launch.blocks <= are * rules.multiprocessors;
    if (are < std::min<int64_t>(were, 1) ||
        (rules.blocksWait && are < were && !areAllResident))
      return true;
  }
  return false;
}

static std::string contentsOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

/// Of one run of ptxas.
static constexpr double ptxasSeconds = 20;
static constexpr uint64_t ptxasBytes = uint64_t(4) << 30;
/// What a promotion spends on finding places that the assembler takes.
static constexpr int fewestQuestions = 20, mostQuestions = 60;
static constexpr double questionSeconds = 8;

/// Builds of one program, each with its share of the schedules.
static constexpr size_t mostBuilds = 4;

namespace {
/// ptxas on variants of one program.
class Assembler {
public:
  Assembler(const std::string &ptxas, const std::string &arch,
            const std::string &folder, ToolControl *control)
      : control(control), ptxas(ptxas), arch(arch),
        source(folder + "/delays.ptx"), cubin(folder + "/delays.cubin"),
        logFile(folder + "/delays.log"), folder(folder) {}

  bool run(const std::string &text) {
    std::ofstream(source, std::ios::binary | std::ios::trunc) << text;
    ToolEnd end = runTool({ptxas, "-arch=" + arch, "-v", source, "-o", cubin},
                          folder, ptxasSeconds, logFile, ptxasBytes, control);
    log = contentsOf(logFile);
    error = !end.error.empty()  ? end.error
            : end.timedOut      ? "ptxas took too long"
            : end.exitCode != 0 ? "ptxas: " + log.substr(0, 300)
                                : "";
    return error.empty();
  }
  std::string result() const { return contentsOf(cubin); }

  std::string log, error;

private:
  ToolControl *control;
  const std::string ptxas, arch, source, cubin, logFile, folder;
};
} // namespace

DelayedImage fastk::worker::assembleDelayed(
    const std::string &ptx, const std::string &ptxas, const std::string &arch,
    AssemblerRules rules, const std::string &folder, ToolControl *control) {
  DelayedImage image;
  Assembler assembler(ptxas, arch, folder, control);
  auto now = [&] { return clockNs() - (control ? control->pausedNs() : 0); };
  uint64_t begin = now();
  if (!assembler.run(ptx)) {
    image.error = assembler.error;
    return image;
  }
  double seconds = std::max(double(now() - begin) * 1e-9, 1e-3);
  int questions =
      int(std::clamp(questionSeconds / seconds, double(fewestQuestions),
                     double(mostQuestions)));
  const std::string original = assembler.log;
  std::string why = "no delay leaves the registers as they are";
  // By text: what was good need not be assembled once more.
  std::map<std::string, std::string> cubins;
  auto isGood = [&](const cuda::DelayedPTX &variant) {
    if (!assembler.run(variant.ptx)) {
      why = assembler.error;
      return false;
    }
    if (isWorse(original, assembler.log, rules))
      return false;
    cubins[variant.ptx] = assembler.result();
    return true;
  };
  cuda::DelayedPTX all = cuda::addDelays(ptx);
  // By flags in global memory.
  rules.blocksWait |= all.places[uint32_t(cuda::DelayKind::Flag)] > 0;
  image.error = all.error;
  if (!image.error.empty())
    return image;
  image.possible = all.possible;
  for (const cuda::DelayedPTX &each :
       cuda::coverDelays(ptx, isGood, questions, mostBuilds)) {
    DelayedBuild build;
    build.cubin = cubins[each.ptx];
    build.variable = each.variable;
    std::copy(std::begin(each.places), std::end(each.places), build.byKind);
    image.places += each.total();
    image.builds.push_back(std::move(build));
  }
  if (image.places == 0)
    image.error = why;
  return image;
}

DelayAssembly::DelayAssembly(std::string ptx, std::string ptxas,
                             std::string arch, AssemblerRules rules)
    : folder(ptx.size() * 64) {
  thread = std::thread([this, ptx = std::move(ptx), ptxas = std::move(ptxas),
                        arch = std::move(arch), rules = std::move(rules)] {
    uint64_t begin = clockNs();
    if (folder.path().empty())
      image.error = folder.error();
    else
      image = assembleDelayed(ptx, ptxas, arch, rules, folder.path(), &control);
    worked = double(clockNs() - begin - control.pausedNs()) * 1e-9;
    control.isOver();
  });
}

DelayAssembly::~DelayAssembly() {
  control.end();
  if (thread.joinable())
    thread.join();
}

const DelayedImage &DelayAssembly::wait() {
  control.resume();
  if (thread.joinable())
    thread.join();
  return image;
}
