//===- SpoolAnswer.cpp - The verdict on a job of a spool
//-------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpoolAnswer.h"
#include "ProcessIdentity.h"
#include "SpoolJob.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/Worker/Calibrate.h"
#include "fastk/Worker/Worker.h"
#include <chrono>
#include <cstdlib>
#include <thread>

using namespace fastk::worker;
namespace fs = std::filesystem;

/// So many workers that ended at a job are the job's fault.
static constexpr int kMostDeaths = 3;

/// What was answered in a spool that is rehearsed, after as long as it took.
static std::optional<Verdict> recall(const fs::path &recorded,
                                     std::string &problem) {
  bool isRead = false;
  std::string text = textOf(recorded / "verdict.json", isRead);
  if (!isRead) {
    problem =
        "is not among the answered jobs of " + recorded.parent_path().string();
    return std::nullopt;
  }
  std::optional<Verdict> verdict = parseVerdict(text, problem);
  if (verdict)
    std::this_thread::sleep_for(
        std::chrono::duration<double>(verdict->resources.wallSeconds));
  return verdict;
}

std::optional<Verdict> fastk::worker::verdictOnJob(const fs::path &folder,
                                                   const std::string &rehearsal,
                                                   int deaths,
                                                   std::string &problem) {
  if (!rehearsal.empty())
    return recall(fs::path(rehearsal) / folder.filename(), problem);
  std::optional<Job> job = readJob(folder, problem);
  if (!job)
    return std::nullopt;
  if (problem = unableToRun(*job); !problem.empty())
    return std::nullopt;
  if (deaths >= kMostDeaths) {
    Verdict verdict;
    verdict.id = job->id;
    verdict.reason = std::to_string(deaths) +
                     " workers ended at this job before they had answered it";
    return verdict;
  }
  return evaluate(*job);
}

std::optional<Canary> fastk::worker::canaryOfThisGpu(const fs::path &root) {
  fastk::DeviceDescription device;
  if (!fastk::cuda::queryCudaDevice(device).empty())
    return std::nullopt;
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string name = ProcessIdentity::ofThisProcess().host + "-gpu-" +
                     (visible ? visible : "0");
  return std::make_optional<Canary>(
      root, device.model, name,
      [](std::string &problem) -> std::optional<CanaryReading> {
        CanaryReading reading;
        problem = measureGpuRates(reading.read, reading.f32);
        return problem.empty() ? std::optional(reading) : std::nullopt;
      });
}
