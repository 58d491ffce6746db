//===- GpuSession.h - The worker's own context on the GPU -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A context takes a third of a second to make, and loading our own kernels
// takes as long: both are made once and serve one job after another. No program
// of a job ever runs in this context.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_GPUSESSION_H
#define FASTK_LIB_WORKER_CUDA_GPUSESSION_H

#include "MemoryKernels.h"
#include "Values/Random.h"
#include "fastk/Cuda/Driver.h"
#include "fastk/Target/DeviceDescription.h"
#include <map>
#include <string>
#include <vector>

namespace fastk::worker {

/// Blocks of our own kernels, which walk over their elements: a few on each
/// multiprocessor of the largest device.
inline constexpr unsigned ownBlocks = 1056;

class GpuSession {
public:
  /// The session of this process, current on the calling thread; made when
  /// there is none. Null, with \p error, where it cannot be.
  static GpuSession *get(std::string &error);
  /// Ends it: after an error nothing in a context can be relied on.
  static void drop();

  /// Runs a known kernel and compares its answer with the host's. Empty when
  /// the device does what it should.
  std::string probe();

  /// Memory that no program can open. What was given back is used again: making
  /// a gigabyte takes longer than filling it.
  std::string allocate(size_t bytes, cuda::CUdeviceptr &address);
  void giveBack(cuda::CUdeviceptr address);
  /// Of what is kept for the next allocate().
  size_t idleBytes() const;
  /// Frees it, and what kept processes keep. False where there was nothing.
  bool makeRoom();
  /// A job begins whose buffers have the sizes in \p shape. What is kept for
  /// jobs of another shape is freed, here and in processes that are kept.
  void begin(const std::string &shape);

  /// A hash of memory's bytes and their places, with a secret of the job.
  std::string hashOf(cuda::CUdeviceptr address, size_t bytes, uint64_t &result);

  /// How many words or bytes are not the pattern's (MemoryKernels.h).
  std::string countChanged(cuda::CUdeviceptr base, uint64_t begin, uint64_t end,
                           Pattern pattern, uint64_t key, uint64_t &count);

  /// Launches one of our own kernels with blocks of 256 threads.
  std::string launch(cuda::CUfunction function, unsigned blocks,
                     void **arguments);
  /// Where our tables of N(0,1) are, for a kernel.
  NormalEntries normalTables() const;

  const cuda::Driver *driver = nullptr;
  DeviceDescription device;
  cuda::CUfunction fill = nullptr, perturb = nullptr, roundToHalf = nullptr,
                   hash = nullptr, compare = nullptr, judge = nullptr;
  /// Small results of our own kernels, and what is written to empty the L2:
  /// twice its size, and no less than 128 MB.
  cuda::CUdeviceptr scratch = 0, flushed = 0;
  size_t flushBytes = 0;
  MemoryKernels memory;
  /// Of memory, for the processes of programs.
  std::string memoryCubin;

  GpuSession(const GpuSession &) = delete;
  GpuSession &operator=(const GpuSession &) = delete;
  ~GpuSession();

private:
  GpuSession() = default;
  std::string create();
  std::string loadOwnKernels();
  std::string uploadTables();
  void freeIdle();
  std::string hashOf(cuda::CUdeviceptr address, size_t bytes, uint64_t key,
                     uint64_t &result);

  cuda::CUcontext context = nullptr;
  cuda::CUmodule module = nullptr;
  cuda::CUdeviceptr tables = 0;
  /// All of allocate(), with their sizes, and those given back.
  std::map<cuda::CUdeviceptr, size_t> blocks;
  std::vector<cuda::CUdeviceptr> idle;
  std::string shape;
  /// Of hashes, new for each job.
  uint64_t secret = 0;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_GPUSESSION_H
