//===- Profile.cpp - Hardware counters by Nsight Compute ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Profile.h"
#include "Cuda/Child/SoloRun.h"
#include "Cuda/CudaDevice.h"
#include "Phases.h"
#include "Process/RunTool.h"
#include "fastk/Cuda/Nvrtc.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

using namespace fastk;
using namespace fastk::worker;
namespace fs = std::filesystem;

namespace {
struct Counter {
  const char *name;
  /// As `ncu --query-metrics --chip gh100` calls it.
  const char *metric;
};
} // namespace

static constexpr Counter counters[] = {
    {"time_ns", "gpu__time_duration.sum"},
    {"dram_read_bytes", "dram__bytes_read.sum"},
    {"dram_write_bytes", "dram__bytes_write.sum"},
    {"l2_hit_percent", "lts__t_sector_hit_rate.pct"},
    {"tensor_percent",
     "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"},
    {"issue_percent", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    {"warps_percent", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"shared_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"},
    {"shared_bank_conflicts",
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"},
};

/// What warps wait for, in warps for each issued instruction.
static constexpr const char *stalls[] = {"barrier",
                                         "branch_resolving",
                                         "dispatch_stall",
                                         "drain",
                                         "gmma",
                                         "imc_miss",
                                         "lg_throttle",
                                         "long_scoreboard",
                                         "math_pipe_throttle",
                                         "membar",
                                         "mio_throttle",
                                         "misc",
                                         "no_instruction",
                                         "not_selected",
                                         "selected",
                                         "sleeping",
                                         "short_scoreboard",
                                         "tex_throttle",
                                         "wait"};

static std::string stallMetric(const std::string &reason) {
  return "smsp__average_warps_issue_stalled_" + reason +
         "_per_issue_active.ratio";
}

std::vector<std::string>
fastk::worker::profilerCommand(const std::string &ncu, const std::string &log,
                               const std::string &worker,
                               const std::string &file) {
  std::string metrics;
  for (const Counter &counter : counters)
    metrics += (metrics.empty() ? "" : ",") + std::string(counter.metric);
  for (const char *stall : stalls)
    metrics += "," + stallMetric(stall);
  // The card's clocks are left alone.
  return {ncu,
          "--clock-control",
          "none",
          "--csv",
          "--page",
          "details",
          "--print-units",
          "base",
          "--metrics",
          metrics,
          "--log-file",
          log,
          worker,
          soloFlag,
          file};
}

/// The cells of a line of CSV.
static std::vector<std::string> cellsOf(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

/// A number as ncu prints it: "16,128.5".
static std::optional<double> numberOf(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(value))
    return std::nullopt;
  return value;
}

/// The metrics of a launch under our names; stalls as percent of their sum.
static LaunchCounters translate(const std::string &kernel,
                                const std::map<std::string, double> &metrics) {
  LaunchCounters launch;
  launch.kernel = kernel;
  for (const Counter &counter : counters)
    if (auto found = metrics.find(counter.metric); found != metrics.end())
      launch.values.push_back({counter.name, found->second});
  double sum = 0;
  std::vector<std::pair<std::string, double>> waits;
  for (const char *stall : stalls)
    if (auto found = metrics.find(stallMetric(stall)); found != metrics.end()) {
      waits.push_back(
          {"stall_" + std::string(stall) + "_percent", found->second});
      sum += found->second;
    }
  for (auto &[name, value] : waits)
    if (sum > 0 && value > 0)
      launch.values.push_back({name, 100 * value / sum});
  return launch;
}

std::vector<LaunchCounters>
fastk::worker::readCounters(std::string_view report) {
  constexpr size_t mostLaunches = 16;
  std::vector<std::pair<std::string, std::string>> launches; // ID, kernel
  std::map<std::string, std::map<std::string, double>> metrics;
  size_t idAt = 0, kernelAt = 0, nameAt = 0, valueAt = 0, columns = 0;
  while (!report.empty()) {
    size_t length = report.find('\n');
    std::string_view line = report.substr(0, length);
    report.remove_prefix(length == report.npos ? report.size() : length + 1);
    if (line.empty() || line[0] != '"')
      continue;
    std::vector<std::string> cells = cellsOf(line);
    if (!columns) {
      auto at = [&](const char *title) {
        return size_t(std::find(cells.begin(), cells.end(), title) -
                      cells.begin());
      };
      idAt = at("ID");
      kernelAt = at("Kernel Name");
      nameAt = at("Metric Name");
      valueAt = at("Metric Value");
      if (std::max({idAt, kernelAt, nameAt, valueAt}) >= cells.size())
        return {};
      columns = cells.size();
      continue;
    }
    if (cells.size() != columns)
      continue;
    const std::string &id = cells[idAt];
    if (!metrics.count(id)) {
      if (launches.size() == mostLaunches)
        break;
      // "name(parameters)" of what is not extern "C".
      launches.push_back(
          {id, cells[kernelAt].substr(0, cells[kernelAt].find('('))});
    }
    std::map<std::string, double> &ofLaunch = metrics[id];
    if (std::optional<double> value = numberOf(cells[valueAt]))
      ofLaunch[cells[nameAt]] = *value;
  }
  std::vector<LaunchCounters> result;
  for (const auto &[id, kernel] : launches)
    result.push_back(translate(kernel, metrics[id]));
  return result;
}

/// The first line in which ncu says why it could not.
static std::string complaintIn(const std::string &report) {
  size_t at = report.find("==ERROR==");
  if (at == report.npos)
    return "its report has no launch";
  std::string line = report.substr(at, report.find('\n', at) - at);
  std::string text;
  for (char c : line.substr(0, 200))
    text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

void CudaDevice::profile(Verdict &verdict) {
  GpuReport &report = *verdict.gpu;
  const TimingReport &timing = verdict.timing;
  auto isFaster = [](const std::optional<Ratio> &ratio) {
    return !ratio || ratio->median > 1;
  };
  if (!isFaster(timing.speedupOverBaseline) ||
      !isFaster(timing.speedupOverIncumbent))
    return;
  Phase phase("counters");
  auto without = [&](const std::string &why) { report.missingCounters = why; };
  std::string ncu = cuda::findNsightCompute();
  if (ncu.empty())
    return without("Nsight Compute (ncu) was not found");
  SoloRun run;
  uint64_t bytes = 0;
  // The candidate is not to blame for what goes wrong here.
  Failure failure;
  std::unique_ptr<Operands> operands = prepareSolo(run, bytes, failure);
  if (!operands)
    return without(failure.reason);
  ScratchFolder folder(bytes);
  if (folder.path().empty())
    return without(folder.error());
  const Image &image = images[ProgramRole::Candidate];
  run.image = image.bytes;
  run.plan = image.plan;
  run.seconds = unsigned(std::clamp(job.profile.seconds, 1.0, 1e6));
  std::string file = folder.path() + "/run", log = folder.path() + "/ncu.csv";
  if (std::string problem = writeSoloRun(
          file, run, [&](size_t i) { return bytesOf(*operands, i); });
      !problem.empty())
    return without(problem);
  std::error_code ignored;
  std::string self = fs::read_symlink("/proc/self/exe", ignored).string();
  ToolEnd end = runTool(profilerCommand(ncu, log, self, file), folder.path(),
                        job.profile.seconds);
  if (!end.error.empty())
    return without(end.error);
  if (end.timedOut)
    return without("ncu was stopped after " + std::to_string(run.seconds) +
                   " s");
  std::string text(size_t(1) << 20, '\0');
  std::ifstream stream(log, std::ios::binary);
  stream.read(text.data(), std::streamsize(text.size()));
  text.resize(stream.is_open() ? size_t(stream.gcount()) : 0);
  report.counters = readCounters(text);
  if (report.counters.empty())
    without("ncu ended with exit code " + std::to_string(end.exitCode) + ": " +
            complaintIn(text));
}
