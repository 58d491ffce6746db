//===- Cupti.h - What the GPU says it did, and when -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUPTI's activity records. libcupti is part of the toolkit: it is loaded at
// run time where it is found (findCupti() in Cuda/Nvrtc.h), never linked, and
// none of its headers are needed. It slows down every call of the driver, so it
// is for processes that time nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_INSPECT_CUPTI_H
#define FASTK_LIB_WORKER_CUDA_INSPECT_CUPTI_H

#include <cstdint>
#include <string>
#include <vector>

namespace fastk::worker {

/// A kernel or a memset, with the GPU's times in nanoseconds.
struct Activity {
  bool isKernel = false;
  /// Of a kernel, as in its module.
  std::string name;
  uint64_t start = 0, end = 0;
};

/// CUPTI in this process. Errors are texts, empty for success.
class Cupti {
public:
  /// Loads the library and asks for records from here on. To be called before
  /// the driver is used.
  std::string start(const std::string &path);
  /// What the GPU has done since start() or the last take(), in the order of
  /// its start. Every context must be idle.
  std::string take(std::vector<Activity> &activities);

  /// The library's functions; see the CUPTI reference.
  struct Functions;

private:
  const Functions *functions = nullptr;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_INSPECT_CUPTI_H
