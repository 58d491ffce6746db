//===- ChildContext.cpp - The GPU of a program's process ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildContext.h"

using namespace fastk;
using namespace fastk::worker;

std::string
worker::createChildContext(const cuda::Driver *&driver,
                           cuda::CUcontext &context, cuda::CUstream &stream,
                           const std::vector<cuda::CUevent *> &events) {
  std::string error;
  driver = cuda::Driver::get(error);
  if (!driver)
    return error;
  cuda::CUdevice device = 0;
  error = driver->call(driver->cuDeviceGet, &device, 0);
  if (error.empty())
    error = driver->call(driver->cuCtxCreate, &context,
                         unsigned(cuda::CU_CTX_SCHED_SPIN), device);
  if (error.empty())
    error = driver->call(driver->cuStreamCreate, &stream,
                         unsigned(cuda::CU_STREAM_NON_BLOCKING));
  for (cuda::CUevent *event : events)
    if (error.empty())
      error = driver->call(driver->cuEventCreate, event,
                           unsigned(cuda::CU_EVENT_DEFAULT));
  return error;
}
