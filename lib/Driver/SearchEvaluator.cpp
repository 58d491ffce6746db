//===- SearchEvaluator.cpp - Who evaluates, as the user set it ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchEvaluator.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/Evaluate/LocalFleet.h"
#include "fastk/Evaluate/LocalPool.h"
#include "fastk/Evaluate/RayCluster.h"
#include "fastk/Evaluate/Replay.h"
#include "fastk/Evaluate/Spool.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fastk;

/// What is searched for, as far as it is known.
static TargetDescription describeTarget(const SearchSettings &settings) {
  TargetDescription target;
  if (settings.device)
    target = settings.device->target();
  target.target = settings.target;
  return target;
}

/// A local worker needs the GPU that is searched for; nothing else would be
/// measured.
static llvm::Error checkLocalDevice(const SearchSettings &settings) {
  DeviceDescription here;
  std::string problem = cuda::queryCudaDevice(here);
  if (!problem.empty())
    return llvm::createStringError(
        "--evaluator=local needs a GPU: " + problem +
        "; with --evaluator=spool:DIR another machine evaluates");
  if ("cuda:" + here.arch != settings.target || !settings.device ||
      here.model != settings.device->model)
    return llvm::createStringError(
        "the GPU here is " + here.model + " (cuda:" + here.arch + "), not " +
        (settings.device ? settings.device->model : "the device of") + " (" +
        settings.target +
        "): search with --target=cuda, or with --evaluator=spool:DIR for the "
        "other");
  return llvm::Error::success();
}

/// The GPUs of this machine that are searched for: as a rule all.
static std::vector<unsigned> gpusOf(const SearchSettings &settings) {
  std::vector<unsigned> gpus;
  if (settings.target == "host")
    return gpus;
  std::string ignored;
  int count = cuda::countCudaDevices(ignored);
  for (int number = 0; number < count; ++number) {
    DeviceDescription each;
    if (cuda::queryCudaDevice(each, number).empty() &&
        each.model == settings.device->model)
      gpus.push_back(static_cast<unsigned>(number));
  }
  return gpus;
}

/// A program of fastk.
static std::string toolOf(const SearchSettings &settings, StringRef name) {
  llvm::SmallString<128> path(settings.tools);
  llvm::sys::path::append(path, name);
  return std::string(path);
}

llvm::Expected<std::unique_ptr<Evaluator>>
fastk::makeEvaluator(SearchModelOptions &search, bool atOnce) {
  search.jobs.compiler = toolOf(search, "fastk-opt");
  if (search.target != "host")
    search.jobs.target = describeTarget(search);
  if (!search.replayFile.empty()) {
    if (llvm::Error error =
            readCassette(search.replayFile).moveInto(search.replay))
      return std::move(error);
    return createReplayEvaluator(search.replay);
  }
  if (search.ray) {
    search.jobs.compilesCudaHere = false;
    return createRayCluster({search.jobs, search.journal + "/ray",
                             search.ray->address, search.ray->workers,
                             search.ray->rehearsal, search.ray->wait,
                             toolOf(search, "fastk-worker")});
  }
  // Workers that are waited for compile side by side what one search would
  // compile one by one.
  double wait = atOnce ? 0 : search.spoolWait;
  if (wait > 0)
    search.jobs.compilesCudaHere = false;
  if (!search.spool.empty())
    return createSpool({search.jobs, search.spool, wait});
  if (search.target != "host")
    if (llvm::Error error = checkLocalDevice(search))
      return std::move(error);
  LocalPoolOptions pool{search.jobs, toolOf(search, "fastk-worker")};
  std::vector<unsigned> gpus = gpusOf(search);
  if (atOnce || gpus.size() < 2)
    return createLocalPool(pool);
  pool.jobs.compilesCudaHere = false;
  return createLocalFleet({pool, search.journal + "/jobs", gpus});
}

std::string fastk::explainPending(int pending, const Evaluator &evaluator,
                                  StringRef target) {
  return (llvm::Twine(pending) +
          (pending == 1 ? " evaluation is" : " evaluations are") +
          " pending: answer with `" + evaluator.pendingHint() +
          (target == "host" ? "`" : "` on a machine with the GPU") +
          ", then run the same command again\n")
      .str();
}
