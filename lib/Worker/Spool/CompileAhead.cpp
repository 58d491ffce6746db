//===- CompileAhead.cpp - Compile what comes next -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileAhead.h"
#include "SpoolJob.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/System/BlockedSignals.h"
#include <algorithm>

using namespace fastk::worker;
namespace fs = std::filesystem;

/// Few, since a judge is at work.
static constexpr size_t kThreads = 3;

/// Not much further than the judge is: the last compiled is the last evicted.
static constexpr size_t kAhead = 64;

static void compileCandidate(const fs::path &folder, const std::string &arch) {
  std::string ignored;
  std::optional<Job> job = readJob(folder, ignored);
  if (!job || job->mode == Mode::Compare)
    return;
  bool isRead = false;
  fastk::cuda::CompileRequest request;
  request.source = textOf(job->candidate.path, isRead);
  request.arch = arch;
  if (isRead && job->candidate.code == Code::CUDA)
    fastk::cuda::compileCached(request);
  if (isRead && job->candidate.code == Code::PTX)
    fastk::cuda::assembleCached({request.source, request.arch});
}

CompileAhead::~CompileAhead() {
  {
    std::lock_guard<std::mutex> guard(lock);
    hasEnded = true;
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void CompileAhead::expect(std::vector<fs::path> jobs) {
  if (jobs.size() > kAhead)
    jobs.resize(kAhead);
  std::lock_guard<std::mutex> guard(lock);
  next = std::move(jobs);
  if (next.empty())
    return;
  while (threads.size() < kThreads)
    threads.emplace_back([this] { run(); });
  changed.notify_all();
}

void CompileAhead::run() {
  fastk::BlockedSignals always;
  fastk::DeviceDescription device;
  if (!fastk::cuda::queryCudaDevice(device).empty())
    return;
  std::unique_lock<std::mutex> guard(lock);
  while (!hasEnded) {
    auto job = std::find_if(next.begin(), next.end(), [this](const auto &each) {
      return !begun.count(each);
    });
    if (job == next.end()) {
      changed.wait(guard);
      continue;
    }
    fs::path folder = *job;
    begun.insert(folder);
    guard.unlock();
    compileCandidate(folder, device.arch);
    guard.lock();
  }
}
