//===- Occupancy.cpp - Blocks of a launch on a multiprocessor -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Target/Occupancy.h"
#include <limits>

using namespace fastk;

// How registers and shared memory are handed out, from compute capability 8.0
// to 9.0: cuda_occupancy.h of the CUDA toolkit
// (cudaOccRegAllocationGranularity, cudaOccSMemAllocationGranularity,
// cudaOccSubPartitionsPerMultiprocessor). Registers go to warps in units of
// 256, a multiprocessor has four parts with a quarter of the registers each,
// shared memory comes in units of 128 bytes.
static constexpr int64_t kRegisterUnit = 256, kPartitions = 4,
                         kSharedUnit = 128;

static int64_t divideCeil(int64_t number, int64_t by) {
  return (number + by - 1) / by;
}

Occupancy fastk::computeOccupancy(const DeviceDescription &device,
                                  int64_t threads, int64_t registers,
                                  int64_t sharedBytes) {
  Occupancy result;
  if (threads <= 0 || device.warpSize == 0)
    return result;
  int64_t warps = divideCeil(threads, device.warpSize);
  int64_t most = device.threadsPerMultiprocessor / device.warpSize;
  result.blocks = std::numeric_limits<int64_t>::max();
  auto limit = [&](int64_t blocks, const char *limiter) {
    if (blocks < result.blocks) {
      result.blocks = blocks;
      result.limiter = limiter;
    }
  };
  limit(most / warps, "threads");
  limit(device.blocksPerMultiprocessor, "blocks");
  if (registers > 0) {
    int64_t ofWarp =
        divideCeil(registers * device.warpSize, kRegisterUnit) * kRegisterUnit;
    int64_t ofPart = device.registersPerMultiprocessor / kPartitions;
    limit(ofPart / ofWarp * kPartitions / warps, "registers");
  }
  int64_t shared =
      divideCeil(sharedBytes + device.sharedBytesReserved, kSharedUnit) *
      kSharedUnit;
  if (shared > 0)
    limit(device.sharedBytesPerMultiprocessor / shared, "shared memory");
  result.warps = result.blocks * warps;
  result.share = most ? double(result.warps) / double(most) : 0;
  return result;
}
