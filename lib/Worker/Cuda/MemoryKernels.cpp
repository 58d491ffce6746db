//===- MemoryKernels.cpp - Patterns, scrubbing and fences -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryKernels.h"
#include "GpuSession.h"
#include <algorithm>

using namespace fastk;
using namespace fastk::worker;
using cuda::CUdeviceptr;

std::string MemoryKernels::load(const cuda::Driver &from,
                                std::string_view cubin) {
  driver = &from;
  std::string error = cuda::loadModule(*driver, cubin, module);
  for (auto [name, function] : {std::pair("fastk_write_pattern", &writePattern),
                                std::pair("fastk_count_changed", &changed),
                                std::pair("fastk_scrub_shared", &shared),
                                std::pair("fastk_fence", &empty)})
    if (error.empty())
      error = cuda::getFunction(*driver, module, name, *function);
  cuda::CUdevice device = 0;
  int most = 0;
  if (error.empty())
    error = driver->call(driver->cuCtxGetDevice, &device);
  if (error.empty())
    error =
        driver->call(driver->cuDeviceGetAttribute, &multiprocessors,
                     cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  if (error.empty())
    error = driver->call(
        driver->cuDeviceGetAttribute, &most,
        cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  sharedBytes = unsigned(most);
  if (error.empty())
    error = cuda::setMaxDynamicShared(*driver, shared, sharedBytes);
  if (error.empty())
    error = driver->call(driver->cuMemAlloc, &arrived, size_t(256));
  return error;
}

static cuda::Launch launchOf(uint64_t bytes, cuda::CUstream stream) {
  constexpr uint64_t threads = 256;
  cuda::Launch launch;
  launch.grid.x = unsigned(
      std::clamp<uint64_t>((bytes / 8 + threads) / threads, 1, ownBlocks));
  launch.block.x = threads;
  launch.stream = stream;
  return launch;
}

std::string MemoryKernels::write(CUdeviceptr base, uint64_t begin, uint64_t end,
                                 Pattern pattern, uint64_t key,
                                 cuda::CUstream stream) const {
  if (begin >= end)
    return {};
  int kind = int(pattern);
  void *arguments[] = {&base, &begin, &end, &kind, &key};
  return cuda::launch(*driver, writePattern, launchOf(end - begin, stream),
                      arguments);
}

std::string MemoryKernels::countChanged(CUdeviceptr base, uint64_t begin,
                                        uint64_t end, Pattern pattern,
                                        uint64_t key, CUdeviceptr count) const {
  if (begin >= end)
    return {};
  int kind = int(pattern);
  void *arguments[] = {&base, &begin, &end, &kind, &key, &count};
  return cuda::launch(*driver, changed, launchOf(end - begin, nullptr),
                      arguments);
}

/// As many blocks as are resident at once.
std::string MemoryKernels::scrub(cuda::CUfunction function, unsigned threads,
                                 unsigned dynamicBytes, void **arguments,
                                 cuda::CUstream stream) const {
  int blocks = 0;
  std::string error =
      driver->call(driver->cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks,
                   function, int(threads), size_t(dynamicBytes));
  if (error.empty())
    error = driver->call(driver->cuMemsetD8Async, arrived,
                         static_cast<unsigned char>(0), size_t(256), stream);
  if (!error.empty())
    return error;
  cuda::Launch launch;
  launch.grid.x = unsigned(blocks * multiprocessors);
  launch.block.x = threads;
  launch.dynamicSharedBytes = dynamicBytes;
  launch.cooperative = true;
  launch.stream = stream;
  return cuda::launch(*driver, function, launch, arguments);
}

std::string MemoryKernels::scrubShared(uint64_t key,
                                       cuda::CUstream stream) const {
  unsigned bytes = sharedBytes;
  CUdeviceptr counter = arrived;
  void *arguments[] = {&bytes, &key, &counter};
  return scrub(shared, 1024, sharedBytes, arguments, stream);
}

std::string MemoryKernels::scrubLocal(int bytes, uint64_t key,
                                      cuda::CUstream stream) {
  constexpr int least = 256, most = 262144;
  int frame = least;
  while (frame < bytes && frame < most)
    frame *= 2;
  if (frame < bytes)
    return "a kernel has " + std::to_string(bytes) +
           " bytes of local memory a thread; at most " + std::to_string(most) +
           " can be overwritten between calls";
  // Asked for when needed: a driver may set memory aside for what it loads.
  auto [function, isNew] = local.try_emplace(frame, nullptr);
  std::string name = "fastk_scrub_local_" + std::to_string(frame), error;
  if (isNew)
    error = cuda::getFunction(*driver, module, name.c_str(), function->second);
  if (!error.empty())
    return error;
  CUdeviceptr counter = arrived;
  void *arguments[] = {&key, &counter};
  return scrub(function->second, 256, 0, arguments, stream);
}

std::string MemoryKernels::fence(cuda::CUstream stream) const {
  cuda::Launch launch;
  launch.stream = stream;
  return cuda::launch(*driver, empty, launch, nullptr);
}
