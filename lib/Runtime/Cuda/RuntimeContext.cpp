//===- RuntimeContext.cpp - Errors, stream and context of a thread --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeContext.h"
#include "fastk/Runtime/fastk_runtime.h"
#include <map>
#include <mutex>

using namespace fastk;
using cuda::CUcontext;

namespace {
struct ThreadState {
  std::string error;
  cuda::CUstream stream = nullptr;
  int device = 0;
};
} // namespace

static ThreadState &threadState() {
  static thread_local ThreadState state;
  return state;
}

void runtime::recordError(const std::string &error) {
  // What follows from it would hide the cause.
  if (threadState().error.empty())
    threadState().error = error;
}

cuda::CUstream runtime::currentStream() { return threadState().stream; }

void runtime::setDefaultDevice(int ordinal) { threadState().device = ordinal; }

/// The primary context of a device: retained once, for the process's life.
static std::string primaryContext(const cuda::Driver &driver, int ordinal,
                                  CUcontext &context) {
  static std::mutex mutex;
  static std::map<int, CUcontext> retained;
  std::lock_guard<std::mutex> lock(mutex);
  CUcontext &kept = retained[ordinal];
  std::string error;
  if (!kept) {
    cuda::CUdevice device = 0;
    error = driver.call(driver.cuDeviceGet, &device, ordinal);
    if (error.empty())
      error = driver.call(driver.cuDevicePrimaryCtxRetain, &kept, device);
  }
  context = kept;
  return error;
}

const cuda::Driver *runtime::enter(std::string &error, CUcontext &context) {
  const cuda::Driver *driver = cuda::Driver::get(error);
  if (!driver)
    return nullptr;
  error = driver->call(driver->cuCtxGetCurrent, &context);
  if (error.empty() && !context) {
    error = primaryContext(*driver, threadState().device, context);
    if (error.empty())
      error = driver->call(driver->cuCtxSetCurrent, context);
  }
  return error.empty() ? driver : nullptr;
}

void fastk_set_stream(void *stream) {
  threadState().stream = static_cast<cuda::CUstream>(stream);
}

void *fastk_get_stream(void) { return threadState().stream; }

const char *fastk_last_error(void) { return threadState().error.c_str(); }

void fastk_clear_error(void) { threadState().error.clear(); }
