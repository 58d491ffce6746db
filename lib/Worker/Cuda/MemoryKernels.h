//===- MemoryKernels.h - Patterns, scrubbing and fences ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_MEMORYKERNELS_H
#define FASTK_LIB_WORKER_CUDA_MEMORYKERNELS_H

#include "Values/Patterns.h"
#include "fastk/Cuda/Driver.h"
#include <map>
#include <string>
#include <string_view>

namespace fastk::worker {

/// memory.cu and what it needs, as CUDA C++.
extern const char *const memoryKernels;

/// The kernels of memory.cu in the current context. Errors are texts, empty for
/// success. Nothing is waited for.
class MemoryKernels {
public:
  /// \p cubin: memoryKernels, compiled.
  std::string load(const cuda::Driver &driver, std::string_view cubin);

  /// Writes bytes [begin, end) of a pattern whose place 0 is at \p base, which
  /// is aligned to 8 bytes.
  std::string write(cuda::CUdeviceptr base, uint64_t begin, uint64_t end,
                    Pattern pattern, uint64_t key,
                    cuda::CUstream stream = nullptr) const;
  /// Adds to the 8 bytes at \p count how many words or bytes are others.
  std::string countChanged(cuda::CUdeviceptr base, uint64_t begin, uint64_t end,
                           Pattern pattern, uint64_t key,
                           cuda::CUdeviceptr count) const;

  /// Overwrites the shared memory of all multiprocessors.
  std::string scrubShared(uint64_t key, cuda::CUstream stream) const;
  /// Overwrites the local memory of all threads of kernels that have \p bytes
  /// each.
  std::string scrubLocal(int bytes, uint64_t key, cuda::CUstream stream);

  /// A kernel that does nothing until all before it has reached memory.
  std::string fence(cuda::CUstream stream) const;

private:
  std::string scrub(cuda::CUfunction function, unsigned threads,
                    unsigned sharedBytes, void **arguments,
                    cuda::CUstream stream) const;

  const cuda::Driver *driver = nullptr;
  cuda::CUmodule module = nullptr;
  cuda::CUfunction writePattern = nullptr, changed = nullptr, shared = nullptr,
                   empty = nullptr;
  /// By the bytes of a frame.
  std::map<int, cuda::CUfunction> local;
  unsigned sharedBytes = 0;
  int multiprocessors = 0;
  /// Of blocks that have begun.
  cuda::CUdeviceptr arrived = 0;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_MEMORYKERNELS_H
