//===- FunctionState.cpp - A model's function on the GPU ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionState.h"
#include <algorithm>

using namespace fastk;
using namespace fastk::runtime;
using cuda::CUdeviceptr;

/// Of every workspace, as a plan may rely on.
static constexpr size_t workspaceAlignment = 256;

FunctionState &FunctionState::of(fastk_function &function) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  // Never freed: at the end of the process the driver may be gone before us.
  if (!function.state)
    function.state = new FunctionState();
  return *static_cast<FunctionState *>(function.state);
}

std::string FunctionState::load(const fastk_function &function,
                                const cuda::Driver &driver,
                                LoadedFunction &loaded) {
  std::string error;
  std::optional<worker::LaunchPlan> plan =
      worker::parseLaunchPlan(function.plan, error, worker::PlanOf::Model);
  if (!plan)
    return "its plan does not read: " + error;
  for (const worker::Workspace &workspace : plan->workspaces) {
    loaded.offsets.push_back(loaded.arenaBytes);
    loaded.arenaBytes += (size_t(workspace.bytes) + workspaceAlignment - 1) /
                         workspaceAlignment * workspaceAlignment;
  }
  std::vector<cuda::CodeImage> images;
  for (uint32_t i = 0; i < function.num_images; ++i)
    images.push_back({function.images[i].name,
                      {static_cast<const char *>(function.images[i].data),
                       size_t(function.images[i].bytes)}});
  error = loaded.program.load(images, std::move(*plan));
  for (uint32_t i = 0; i < function.num_constants && error.empty(); ++i) {
    const fastk_constant &constant = function.constants[i];
    CUdeviceptr &address = loaded.constants.emplace_back(0);
    error = driver.call(driver.cuMemAlloc, &address,
                        std::max<size_t>(constant.bytes, 1));
    if (error.empty() && constant.bytes)
      error = driver.call(driver.cuMemcpyHtoD, CUdeviceptr(address),
                          constant.data, size_t(constant.bytes));
  }
  return error;
}

static std::string checkNotCapturing(const cuda::Driver &driver,
                                     cuda::CUstream stream) {
  cuda::CUstreamCaptureStatus status = cuda::CU_STREAM_CAPTURE_STATUS_NONE;
  std::string error = driver.call(driver.cuStreamIsCapturing, stream, &status);
  if (!error.empty() || status == cuda::CU_STREAM_CAPTURE_STATUS_NONE)
    return error;
  return "the stream is being captured, and its first call has to load code "
         "and "
         "allocate: call the function's fastk_prepare_ on this stream before "
         "the capture begins";
}

std::string FunctionState::prepare(const fastk_function &function,
                                   const cuda::Driver &driver,
                                   cuda::CUcontext context,
                                   cuda::CUstream stream,
                                   LoadedFunction *&loaded,
                                   CUdeviceptr &arena) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<LoadedFunction> &slot = contexts[context];
  if (slot) {
    auto found = slot->arenas.find(stream);
    if (found != slot->arenas.end()) {
      loaded = slot.get();
      arena = found->second;
      return {};
    }
  }
  std::string error = checkNotCapturing(driver, stream);
  if (error.empty() && !slot) {
    auto made = std::make_unique<LoadedFunction>(driver);
    error = load(function, driver, *made);
    if (!error.empty()) {
      for (CUdeviceptr constant : made->constants)
        if (constant)
          driver.cuMemFree(constant);
      return error;
    }
    slot = std::move(made);
  }
  arena = 0;
  if (error.empty() && slot->arenaBytes > 0)
    error = driver.call(driver.cuMemAlloc, &arena, size_t(slot->arenaBytes));
  if (!error.empty())
    return error;
  slot->arenas[stream] = arena;
  loaded = slot.get();
  return {};
}

void FunctionState::release(const cuda::Driver &driver) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[context, loaded] : contexts) {
    if (!loaded || driver.cuCtxPushCurrent(context) != cuda::CUDA_SUCCESS)
      continue;
    // A collected library is given back by somebody who knows nothing of calls.
    driver.cuCtxSynchronize();
    for (auto &[stream, arena] : loaded->arenas)
      if (arena)
        driver.cuMemFree(arena);
    for (CUdeviceptr constant : loaded->constants)
      driver.cuMemFree(constant);
    loaded.reset();
    cuda::CUcontext popped = nullptr;
    driver.cuCtxPopCurrent(&popped);
  }
  contexts.clear();
}
