//===- ReplayedCalls.cpp - Calls that come again, as graphs ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReplayedCalls.h"
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <variant>

using namespace fastk;
using namespace fastk::runtime;
using cuda::CUgraph;
using cuda::CUgraphExec;
using cuda::CUstream;

static bool isWanted() {
  const char *value = std::getenv("FASTK_GRAPHS");
  return !value || std::string_view(value) != "0";
}

ReplayedCalls::ReplayedCalls(const cuda::Driver &driver, uint64_t launches)
    : driver(driver), isOn(launches >= leastLaunches &&
                           launches <= mostLaunches && isWanted()) {}

ReplayedCalls::~ReplayedCalls() {
  for (auto &[key, set] : sets)
    if (set.graph)
      driver.cuGraphExecDestroy(set.graph);
  if (captured)
    driver.cuStreamDestroy(captured);
}

ReplayedCalls::Set &ReplayedCalls::setOf(Key key) {
  auto found = sets.find(key);
  if (found == sets.end()) {
    if (sets.size() == mostSets) {
      auto oldest = std::min_element(
          sets.begin(), sets.end(), [](const auto &a, const auto &b) {
            return a.second.lastCall < b.second.lastCall;
          });
      // One that is under way is freed when it is done.
      if (oldest->second.graph)
        driver.cuGraphExecDestroy(oldest->second.graph);
      sets.erase(oldest);
    }
    found = sets.emplace(std::move(key), Set()).first;
  }
  found->second.lastCall = ++calls;
  return found->second;
}

/// Also where the driver does not say: the default stream while another one is
/// captured.
bool ReplayedCalls::isCapturing(CUstream stream) const {
  cuda::CUstreamCaptureStatus status = cuda::CU_STREAM_CAPTURE_STATUS_NONE;
  return driver.cuStreamIsCapturing(stream, &status) != cuda::CUDA_SUCCESS ||
         status != cuda::CU_STREAM_CAPTURE_STATUS_NONE;
}

CUgraphExec
ReplayedCalls::capture(const std::function<std::string(CUstream)> &enqueue) {
  if (!captured &&
      driver.cuStreamCreate(&captured, unsigned(cuda::CU_STREAM_NON_BLOCKING)))
    return nullptr;
  // What other threads do meanwhile is none of this capture's business.
  if (driver.cuStreamBeginCapture(captured,
                                  cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
    return nullptr;
  bool isWhole = enqueue(captured).empty();
  CUgraph graph = nullptr;
  CUgraphExec made = nullptr;
  isWhole &= driver.cuStreamEndCapture(captured, &graph) == cuda::CUDA_SUCCESS;
  if (isWhole && driver.cuGraphInstantiate(&made, graph, 0))
    made = nullptr;
  if (graph)
    driver.cuGraphDestroy(graph);
  return made;
}

std::string
ReplayedCalls::run(const cuda::DeviceBuffers &buffers, CUstream stream,
                   const std::function<std::string(CUstream)> &enqueue) {
  if (!isOn || isCapturing(stream))
    return enqueue(stream);
  Key key = buffers.inputs;
  key.insert(key.end(), buffers.outputs.begin(), buffers.outputs.end());
  key.insert(key.end(), buffers.workspaces.begin(), buffers.workspaces.end());
  {
    std::lock_guard<std::mutex> lock(mutex);
    Set &set = setOf(std::move(key));
    if (!set.graph && set.calls++ >= callsBefore) {
      set.graph = capture(enqueue);
      // A driver that refuses it once does so again.
      isOn = set.graph != nullptr;
    }
    if (set.graph)
      return driver.call(driver.cuGraphLaunch, set.graph, stream);
  }
  return enqueue(stream);
}

static uint64_t countLaunches(const std::vector<worker::PlanStep> &steps,
                              size_t first, size_t last) {
  uint64_t count = 0;
  for (size_t i = first; i < last; ++i) {
    const auto *repeat = std::get_if<worker::Repeat>(&steps[i]);
    if (!repeat) {
      ++count;
      continue;
    }
    auto size = size_t(repeat->size);
    count +=
        uint64_t(repeat->count) * countLaunches(steps, i + 1, i + 1 + size);
    i += size;
  }
  return count;
}

uint64_t runtime::countLaunches(const worker::LaunchPlan &plan) {
  return ::countLaunches(plan.steps, 0, plan.steps.size());
}
