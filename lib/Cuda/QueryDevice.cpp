//===- QueryDevice.cpp - The GPU of this machine --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/QueryDevice.h"
#include "fastk/Cuda/Driver.h"

using namespace fastk;
using namespace fastk::cuda;

int fastk::cuda::countCudaDevices(std::string &problem) {
  int count = 0;
  if (const Driver *driver = Driver::get(problem))
    problem = driver->call(driver->cuDeviceGetCount, &count);
  return count;
}

std::string fastk::cuda::queryCudaDevice(DeviceDescription &device,
                                         int ordinal) {
  std::string error;
  const Driver *driver = Driver::get(error);
  if (!driver)
    return error;
  CUdevice handle = 0;
  if (error = driver->call(driver->cuDeviceGet, &handle, ordinal);
      !error.empty())
    return "device " + std::to_string(ordinal) + ": " + error;
  char name[256] = {};
  size_t memory = 0;
  if (error = driver->call(driver->cuDeviceGetName, name, int(sizeof(name) - 1),
                           handle);
      !error.empty())
    return error;
  if (error = driver->call(driver->cuDeviceTotalMem, &memory, handle);
      !error.empty())
    return error;
  // A driver that does not know an attribute says nothing of it: 0.
  auto get = [&](CUdevice_attribute attribute) {
    int value = 0;
    return driver->cuDeviceGetAttribute(&value, attribute, handle) ==
                   CUDA_SUCCESS
               ? value
               : 0;
  };
  int major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  int minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (major < 8)
    return std::string(name) + " has compute capability " +
           std::to_string(major) + "." + std::to_string(minor) +
           "; fastk needs 8.0 or later (A100, L40S, H100, H200, ...)";
  DeviceDescription d;
  d.model = name;
  d.arch = "sm_" + std::to_string(major) + std::to_string(minor);
  if (major >= 9)
    d.arch += "a"; // Code for this very device may use all that it has.
  d.multiprocessors = unsigned(get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  d.clockHz = 1e3 * get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  d.memoryBytes = int64_t(memory);
  d.l2Bytes = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  d.persistingL2Bytes = get(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  d.sharedBytesPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  d.sharedBytesPerBlockOptIn =
      get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  d.sharedBytesPerMultiprocessor =
      get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  d.sharedBytesReserved =
      get(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  d.registersPerBlock =
      unsigned(get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
  d.registersPerMultiprocessor =
      unsigned(get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
  d.threadsPerBlock = unsigned(get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  d.threadsPerMultiprocessor =
      unsigned(get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
  d.blocksPerMultiprocessor =
      unsigned(get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
  d.warpSize = unsigned(get(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
  if (get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)) {
    d.clusterSize = 8;
    d.clusterSizeOptIn = 16;
  }
  d.hasTensorMaps = get(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
  if (std::optional<DeviceDescription> known = describeDevice(d.arch);
      known && known->model == d.model) {
    d.peak = known->peak;
  } else {
    d.peak = peakRates(major, minor, d.multiprocessors, d.clockHz);
    // Both edges of the clock; bits to bytes.
    d.peak.memory = 2e3 * get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                    get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  }
  // A calibration that cannot be used is none: fastk-worker --calibrate says
  // so.
  calibrate(d);
  device = d;
  return "";
}
