//===- LoadedProgram.h - A GPU program, loaded and launched -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// How a plan becomes calls of the driver: what judges a program and what runs a
// compiled model do it by this one class.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_LOADEDPROGRAM_H
#define FASTK_CUDA_LOADEDPROGRAM_H

#include "fastk/Cuda/Driver.h"
#include "fastk/Protocol/LaunchPlan.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fastk::cuda {

/// Where the buffers of one call begin.
struct DeviceBuffers {
  std::vector<CUdeviceptr> inputs, outputs, workspaces;
};

/// Device code of a program: a cubin or PTX.
struct CodeImage {
  /// A launch of the entry `relu` of the image `w_1` says `w_1::relu`; of an
  /// image without a name, `relu`.
  std::string_view name;
  std::string_view code;
};

/// A program with the buffers of one call: all that its calls need is made when
/// it is bound, since enqueuing it is timed.
struct BoundProgram {
  union Value {
    CUdeviceptr address;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
  };
  /// What is elsewhere in each iteration of the repeats around a step.
  struct Moving {
    enum class What { Argument, Map, Target };
    What what = What::Target;
    /// Of the value or of the tensor map.
    size_t index = 0;
    /// In the first iteration.
    CUdeviceptr start = 0;
    /// Of the plan.
    const std::vector<worker::Motion> *motions = nullptr;
  };
  struct Step {
    /// Null for a memset, and for a repeat.
    CUfunction function = nullptr;
    Launch launch;
    std::vector<Value> values;
    /// Into values and into the maps.
    std::vector<void *> arguments;
    /// Of a memset.
    CUdeviceptr target = 0;
    size_t bytes = 0;
    unsigned char value = 0;
    /// Of a repeat: how often the `size` steps behind it run. 0: it is none.
    int64_t count = 0;
    size_t size = 0;
    std::vector<Moving> moving;
  };
  std::vector<CUtensorMap> maps;
  std::vector<Step> steps;

  BoundProgram() = default;
  BoundProgram(const BoundProgram &) = delete;
  BoundProgram &operator=(const BoundProgram &) = delete;
};

/// A program in the current context. Errors are texts, empty for success.
class LoadedProgram {
public:
  explicit LoadedProgram(const Driver &driver) : driver(driver) {}
  LoadedProgram(const LoadedProgram &) = delete;
  LoadedProgram &operator=(const LoadedProgram &) = delete;
  ~LoadedProgram();

  /// Loads the code and asks for what the plan needs of each entry, whose
  /// parameters must be what the plan passes. After it no launch of the plan
  /// loads anything.
  std::string load(const std::vector<CodeImage> &images,
                   worker::LaunchPlan thePlan);
  std::string load(std::string_view image, worker::LaunchPlan thePlan) {
    return load({CodeImage{{}, image}}, std::move(thePlan));
  }
  /// Makes the steps of the plan for these buffers, zeroed workspaces first.
  /// They name the plan: it stays as it is while they are used.
  std::string bind(const DeviceBuffers &buffers, BoundProgram &bound) const;
  /// Enqueues them, those of a repeat once an iteration. Neither waits nor
  /// allocates: the stream may be capturing.
  std::string enqueue(BoundProgram &bound, CUstream stream) const;

  /// An image that was loaded; null where there is none of that name.
  CUmodule module(std::string_view image = {}) const;
  /// Writes a variable of the program's modules, by its name in them.
  std::string setVariable(const std::string &name, std::string_view bytes);

  worker::LaunchPlan plan;

private:
  std::string findFunction(const std::string &kernel, CUfunction &function);
  std::string checkResidency(const worker::Launch &launch,
                             CUfunction function) const;
  std::string encodeMap(size_t number, CUdeviceptr address,
                        CUtensorMap &map) const;
  std::string encodeMaps(const DeviceBuffers &buffers,
                         std::vector<CUtensorMap> &maps) const;
  /// The steps from \p first to before \p last; \p iterations are those of the
  /// repeats around them.
  std::string enqueue(BoundProgram &bound, size_t first, size_t last,
                      std::vector<int64_t> &iterations, CUstream stream) const;
  /// Puts what moves in a step to where it is in these iterations.
  std::string move(BoundProgram &bound, BoundProgram::Step &step,
                   const std::vector<int64_t> &iterations) const;

  const Driver &driver;
  std::map<std::string, CUmodule, std::less<>> modules;
  /// Of each step; null for a memset.
  std::vector<CUfunction> functions;
};

} // namespace fastk::cuda

#endif // FASTK_CUDA_LOADEDPROGRAM_H
