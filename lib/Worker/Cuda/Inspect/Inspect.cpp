//===- Inspect.cpp - What a promotion looks at beside errors and times ----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The candidate is right and timed, and no program runs. It is called once more
// in processes of its own: with CUPTI as a third clock, and under the tools of
// compute-sanitizer. Both slow a program down, so nothing here is reported as
// its time.
//
//===----------------------------------------------------------------------===//

#include "Cuda/CudaDevice.h"
#include "Phases.h"
#include "Sanitizer.h"
#include "Timing/Statistics.h"
#include "Trace.h"
#include "Values/Random.h"
#include "fastk/Cuda/DelayPTX.h"
#include "fastk/Cuda/Nvrtc.h"
#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

using namespace fastk;
using namespace fastk::worker;
namespace fs = std::filesystem;

/// Calls with three times, after one that is not recorded.
static constexpr int64_t tracedCalls = 5;
static constexpr double traceSeconds = 120;

static const char kernelTrace[] = "kernel-trace";

/// Calls a program under CUPTI. Returns why it could not.
static std::string trace(const std::string &file, const std::string &folder,
                         std::vector<TracedCall> &calls) {
  Phase phase("cupti");
  std::error_code ignored;
  std::string self = fs::read_symlink("/proc/self/exe", ignored).string();
  fs::remove(replyPath(file), ignored);
  ToolEnd end = runTool({self, soloFlag, file}, folder, traceSeconds);
  if (!end.error.empty())
    return end.error;
  if (end.timedOut)
    return "calls took longer than two minutes";
  std::optional<SoloReply> reply = readSoloReply(file);
  if (!reply)
    return "the process ended with exit code " + std::to_string(end.exitCode);
  if (!reply->error.empty())
    return reply->error;
  calls = std::move(reply->calls);
  return "";
}

/// A tool has as much memory of its own as the program it looks at, some more.
static constexpr int64_t toolShare = 4;

int64_t CudaDevice::timesThatFit() const {
  int64_t needed = bytesOfSet(job, {ProgramRole::Candidate}) +
                   workspaceBytesOf(job, ProgramRole::Baseline);
  size_t available = 0, total = 0;
  if (driver->cuMemGetInfo(&available, &total))
    return toolShare;
  return int64_t(available) / std::max<int64_t>(needed, 1);
}

size_t CudaDevice::toolsAtOnce() const {
  return size_t(std::clamp<int64_t>(timesThatFit() / toolShare, 1,
                                    std::size(sanitizerTools)));
}

std::unique_ptr<Operands> CudaDevice::prepareSolo(SoloRun &run, uint64_t &bytes,
                                                  Failure &failure) {
  // What is kept of the timed calls must not be what is missing here. Tools
  // have memory of their own, some as much as the program.
  if (timesThatFit() < toolShare)
    gpu->makeRoom();

  // One set of operands for all.
  std::unique_ptr<Operands> operands = createOperands(failure);
  if (!operands)
    return nullptr;
  uint64_t seed = secretSeed();
  fill(*operands, {Distribution::Normal, 0, bitsAt(seed, 0), 1},
       Placement::End);
  bytes = 0;
  for (const Tensor &tensor : job.inputs) {
    run.inputBytes.push_back(uint64_t(tensor.bytes()));
    bytes += uint64_t(tensor.bytes());
  }
  for (const Tensor &tensor : job.outputs)
    run.outputBytes.push_back(uint64_t(tensor.bytes()));
  return operands;
}

bool CudaDevice::inspect(Verdict &verdict, Failure &failure) {
  if (job.mode == Mode::Evaluate &&
      job.profile.when != ProfileOptions::When::Never)
    profile(verdict);
  std::optional<SanitizerResult> opinion;
  return job.mode != Mode::Promote ||
         (inspectByTools(verdict, opinion, failure) &&
          delay(verdict, opinion, failure));
}

/// What processes of their own are told, and by which file.
struct fastk::worker::SoloCalls {
  SoloRun &run;
  const ScratchFolder &folder;
  std::string file;
  /// Writes the file for a program. Returns why it could not.
  std::function<std::string(ProgramRole)> write;
};

static void withoutTrace(Verdict &verdict, const std::string &why) {
  verdict.gpu->missingClocks.push_back("cupti: " + why);
}

bool CudaDevice::traceKernels(const std::string &cupti, Verdict &verdict,
                              SoloCalls &calls, std::string &crash,
                              Failure &failure) {
  calls.run.cupti = cupti;
  calls.run.calls = tracedCalls;
  calls.run.seconds = unsigned(traceSeconds);
  std::vector<TracedCall> ours, theirs;
  std::string problem = calls.write(ProgramRole::Baseline);
  if (problem.empty())
    problem = trace(calls.file, calls.folder.path(), theirs);
  if (problem.empty())
    problem = calls.write(ProgramRole::Candidate);
  if (problem.empty()) {
    problem = trace(calls.file, calls.folder.path(), ours);
    // Here is nothing but its buffers, each no larger than its tensor.
    for (const char *name :
         {"CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_LAUNCH_FAILED"})
      if (problem.find(name) != problem.npos)
        crash = problem;
  }
  if (!problem.empty()) {
    withoutTrace(verdict, problem);
  } else {
    verdict.gpu->clocks.push_back("cupti");
    std::vector<double> busy;
    for (const TracedCall &call : ours)
      busy.push_back(busyNs(call));
    verdict.gpu->cupti = summarize(busy);
    auto &missing = verdict.missingProtections;
    missing.erase(std::remove(missing.begin(), missing.end(), kernelTrace),
                  missing.end());
    verdict.protections.push_back(kernelTrace);
    const TimingReport &timing = verdict.timing;
    std::string why = distrustTrace(
        {images[ProgramRole::Candidate].plan, ours, timing.candidate->medianNs},
        {images[ProgramRole::Baseline].plan, theirs, timing.baseline->medianNs},
        timing.handshakeNs);
    if (!why.empty()) {
      failure = {Status::Refused, "the candidate" + why};
      return false;
    }
  }
  calls.run.cupti.clear();
  calls.run.calls = 1;
  return true;
}

bool CudaDevice::sanitize(const std::string &sanitizer, Verdict &verdict,
                          const SoloCalls &calls,
                          std::optional<SanitizerResult> &opinion,
                          Failure &failure) {
  // Where racecheck does not see what orders a program, it is asked no more
  // than what to look for; delays have the last word.
  std::string beyond = cuda::beyondRacecheck(
      images[ProgramRole::Candidate].ptx,
      launchedKernels(images[ProgramRole::Candidate].plan));
  auto isDoubtful = [&](std::string_view tool) {
    return tool == "racecheck" && !beyond.empty() &&
           job.delays.when != SanitizerOptions::When::Never;
  };
  double seconds = job.sanitizer.seconds;
  // Nothing is timed from here on.
  if (assembly)
    assembly->resume();
  // An opinion is not worth a minute; without one there are as many schedules.
  constexpr double secondsOfOpinion = 10;
  std::vector<SanitizerTask> tasks;
  for (const char *tool : sanitizerTools) {
    bool isOpinion = isDoubtful(tool);
    bool isBrief =
        isOpinion && job.sanitizer.when != SanitizerOptions::When::Required;
    tasks.push_back({tool,
                     isBrief ? std::min(seconds, secondsOfOpinion) : seconds,
                     !isOpinion});
  }
  std::vector<std::optional<SanitizerResult>> results;
  {
    Phase phase("sanitizer");
    results = runSanitizers(sanitizer, calls.folder, calls.file, tasks,
                            toolsAtOnce());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i])
      continue;
    const auto &[tool, limit, decides] = tasks[i];
    const SanitizerResult &result = *results[i];
    noteSanitizer(verdict, tool, result);
    if (result.kind != SanitizerResult::Clean && !decides)
      opinion = result;
    if (result.kind == SanitizerResult::Finding && !decides) {
      verdict.gpu->sanitizer.back().second +=
          " (an opinion: the program uses " + beyond +
          ", which it cannot follow)";
      continue;
    }
    if (result.kind == SanitizerResult::Finding) {
      failure = {Status::Wrong, "compute-sanitizer's " + std::string(tool) +
                                    " " + result.text};
      return false;
    }
    if (result.kind != SanitizerResult::Clean &&
        job.sanitizer.when == SanitizerOptions::When::Required) {
      failure = {Status::Error, "compute-sanitizer is required, but " +
                                    std::string(tool) + " was " + result.text};
      return false;
    }
  }
  return true;
}

bool CudaDevice::inspectByTools(Verdict &verdict,
                                std::optional<SanitizerResult> &opinion,
                                Failure &failure) {
  auto withoutSanitizer = [&](const std::string &why) {
    for (const char *tool : sanitizerTools)
      noteSanitizer(verdict, tool,
                    {SanitizerResult::Failed, "not run: " + why});
    if (job.sanitizer.when != SanitizerOptions::When::Required)
      return true;
    failure = {Status::Error,
               "compute-sanitizer is required, but was not run: " + why};
    return false;
  };
  std::string cupti = cuda::findCupti();
  std::string sanitizer = cuda::findComputeSanitizer();
  bool isWanted = job.sanitizer.when != SanitizerOptions::When::Never;
  if (cupti.empty())
    withoutTrace(verdict,
                 "libcupti was not found; install a CUDA toolkit, or name one "
                 "by FASTK_CUDA_PATH");
  bool isSane = true;
  if (!isWanted)
    isSane = withoutSanitizer("the job asks for none");
  else if (sanitizer.empty())
    isSane = withoutSanitizer("compute-sanitizer is not installed");
  if (!isSane)
    return false;
  bool isSanitized = isWanted && !sanitizer.empty();
  if (cupti.empty() && !isSanitized)
    return true;

  SoloRun run;
  uint64_t bytes = 0;
  std::unique_ptr<Operands> operands = prepareSolo(run, bytes, failure);
  if (!operands)
    return false;
  ScratchFolder folder(bytes);
  if (folder.path().empty()) {
    if (!cupti.empty())
      withoutTrace(verdict, folder.error());
    return !isSanitized || withoutSanitizer(folder.error());
  }
  SoloCalls calls{run, folder, folder.path() + "/run", {}};
  calls.write = [&](ProgramRole part) {
    const Image &image = images[part];
    run.image = image.bytes;
    run.plan = image.plan;
    return writeSoloRun(calls.file, run,
                        [&](size_t i) { return bytesOf(*operands, i); });
  };

  std::string crash;
  if (!cupti.empty() && !traceKernels(cupti, verdict, calls, crash, failure))
    return false;
  auto end = [&] {
    if (!trouble.empty())
      failure = {Status::Error, "the GPU failed the worker: " + trouble};
    else if (!crash.empty())
      failure = {Status::Crash,
                 "the candidate, in a process with nothing but its buffers: " +
                     crash};
    return trouble.empty() && crash.empty();
  };
  if (!isSanitized)
    return end();

  run.seconds = unsigned(std::clamp(job.sanitizer.seconds, 1.0, 1e6));
  if (std::string problem = calls.write(ProgramRole::Candidate);
      !problem.empty())
    return withoutSanitizer(problem);
  return sanitize(sanitizer, verdict, calls, opinion, failure) && end();
}
