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

/// A program with the buffers of one call: all that its calls need is made when
/// it is bound, since enqueuing it is timed.
struct BoundProgram {
  union Value {
    cuda::CUdeviceptr address;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
  };
  struct Step {
    /// Null for a memset.
    cuda::CUfunction function = nullptr;
    cuda::Launch launch;
    std::vector<Value> values;
    /// Into values and into the maps.
    std::vector<void *> arguments;
    /// Of a memset.
    cuda::CUdeviceptr target = 0;
    size_t bytes = 0;
    unsigned char value = 0;
  };
  std::vector<cuda::CUtensorMap> maps;
  std::vector<Step> steps;

  BoundProgram() = default;
  BoundProgram(const BoundProgram &) = delete;
  BoundProgram &operator=(const BoundProgram &) = delete;
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
  /// Makes the steps of the plan for these buffers, zeroed workspaces first.
  std::string bind(const DeviceBuffers &buffers, BoundProgram &bound) const;
  /// Enqueues them.
  std::string enqueue(BoundProgram &bound, cuda::CUstream stream) const;

  LaunchPlan plan;

private:
  std::string checkResidency(const Launch &launch) const;
  std::string encodeMaps(const DeviceBuffers &buffers,
                         std::vector<cuda::CUtensorMap> &maps) const;

  const cuda::Driver &driver;
  cuda::CUmodule module = nullptr;
  std::map<std::string, cuda::CUfunction> functions;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_LOADEDPROGRAM_H
