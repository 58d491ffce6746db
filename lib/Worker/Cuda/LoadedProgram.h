//===- LoadedProgram.h - A GPU program, loaded and launched -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_LOADEDPROGRAM_H
#define FASTK_LIB_WORKER_CUDA_LOADEDPROGRAM_H

#include "fastk/Cuda/Driver.h"
#include "fastk/Worker/LaunchPlan.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fastk::worker {

/// Where the buffers of one call begin.
struct DeviceBuffers {
  std::vector<cuda::CUdeviceptr> inputs, outputs, workspaces;
};

/// A program in the current context. Errors are texts, empty for success.
class LoadedProgram {
public:
  explicit LoadedProgram(const cuda::Driver &driver) : driver(driver) {}
  LoadedProgram(const LoadedProgram &) = delete;
  LoadedProgram &operator=(const LoadedProgram &) = delete;
  ~LoadedProgram();

  /// Loads PTX or a cubin and asks for what the plan needs of each entry.
  std::string load(std::string_view image, LaunchPlan thePlan);
  /// Encodes the tensor maps for these buffers.
  std::string bind(const DeviceBuffers &buffers,
                   std::vector<cuda::CUtensorMap> &maps) const;
  /// Enqueues every step of the plan, zeroed workspaces first.
  std::string enqueue(const DeviceBuffers &buffers,
                      std::vector<cuda::CUtensorMap> &maps,
                      cuda::CUstream stream) const;

  LaunchPlan plan;

private:
  std::string checkResidency(const Launch &launch) const;

  const cuda::Driver &driver;
  cuda::CUmodule module = nullptr;
  std::map<std::string, cuda::CUfunction> functions;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_LOADEDPROGRAM_H
