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

FunctionState &FunctionState::of(fastk_function &function) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  // Never freed: at the end of the process the driver may be gone before us.
  if (!function.state)
    function.state = new FunctionState();
  return *static_cast<FunctionState *>(function.state);
}

/// The number of the function of that name, or of the only one.
static std::string find(const worker::PlanFile &file, std::string_view name,
                        size_t &number) {
  std::string known;
  for (number = 0; number < file.functions.size(); ++number) {
    const std::string &each = file.functions[number].name;
    if (each == name)
      return {};
    known += (number ? ", " : "") + each;
  }
  number = 0;
  if (name.empty() && file.functions.size() == 1)
    return {};
  return (name.empty() ? "it is not said which function is meant"
                       : "there is no function '" + std::string(name) + "'") +
         ": the model has " + (known.empty() ? "none" : known);
}

std::unique_ptr<DescribedFunction>
DescribedFunction::make(std::shared_ptr<const worker::PlanFile> file,
                        std::string_view name, std::string &error) {
  auto result = std::make_unique<DescribedFunction>();
  error = find(*file, name, result->number);
  if (!error.empty())
    return nullptr;
  for (const worker::Workspace &workspace :
       file->functions[result->number].plan.workspaces) {
    result->offsets.push_back(result->arenaBytes);
    result->arenaBytes += (size_t(workspace.bytes) + workspaceAlignment - 1) /
                          workspaceAlignment * workspaceAlignment;
  }
  result->file = std::move(file);
  return result;
}

void FunctionState::setDescribed(std::unique_ptr<DescribedFunction> made) {
  std::lock_guard<std::mutex> lock(mutex);
  described = std::move(made);
  ready = described.get();
}

const DescribedFunction *FunctionState::describe(const fastk_function &function,
                                                 std::string &error) {
  if (const DescribedFunction *known = ready)
    return known;
  std::optional<worker::PlanFile> file = worker::parsePlanFile(
      {static_cast<const char *>(function.file), size_t(function.bytes)},
      error);
  if (!file) {
    error = "its plan file " + error;
    return nullptr;
  }
  auto made = DescribedFunction::make(
      std::make_shared<const worker::PlanFile>(std::move(*file)),
      function.name ? function.name : "", error);
  std::lock_guard<std::mutex> lock(mutex);
  // Another thread may have been here first.
  if (!described && made) {
    described = std::move(made);
    ready = described.get();
  }
  return ready;
}

std::string FunctionState::load(const cuda::Driver &driver,
                                LoadedFunction &loaded) const {
  const worker::PlanFile &file = *described->file;
  const worker::PlanFile::Function &function = described->function();
  std::vector<cuda::CodeImage> images;
  for (size_t image : function.images)
    images.push_back({file.images[image].name, file.images[image].code});
  std::string error = loaded.program.load(images, function.plan);
  for (size_t number : function.constants) {
    if (!error.empty())
      break;
    std::string_view constant = file.constants[number];
    CUdeviceptr &address = loaded.constants.emplace_back(0);
    error = driver.call(driver.cuMemAlloc, &address,
                        std::max<size_t>(constant.size(), 1));
    if (error.empty() && !constant.empty())
      error = driver.call(driver.cuMemcpyHtoD, CUdeviceptr(address),
                          static_cast<const void *>(constant.data()),
                          constant.size());
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

std::string FunctionState::prepare(const cuda::Driver &driver,
                                   cuda::CUcontext context,
                                   cuda::CUstream stream,
                                   LoadedFunction *&loaded,
                                   CUdeviceptr *arena) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<LoadedFunction> &slot = contexts[context];
  if (slot && !arena) {
    loaded = slot.get();
    return {};
  }
  if (slot) {
    auto found = slot->arenas.find(stream);
    if (found != slot->arenas.end()) {
      loaded = slot.get();
      *arena = found->second;
      return {};
    }
  }
  std::string error = checkNotCapturing(driver, stream);
  if (error.empty() && !slot) {
    auto made =
        std::make_unique<LoadedFunction>(driver, described->function().plan);
    error = load(driver, *made);
    if (!error.empty()) {
      for (CUdeviceptr constant : made->constants)
        if (constant)
          driver.cuMemFree(constant);
      return error;
    }
    slot = std::move(made);
  }
  if (!error.empty())
    return error;
  loaded = slot.get();
  if (!arena)
    return {};
  *arena = 0;
  if (described->arenaBytes > 0)
    error = driver.call(driver.cuMemAlloc, arena, described->arenaBytes);
  if (error.empty())
    slot->arenas[stream] = *arena;
  return error;
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
