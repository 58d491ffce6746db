//===- GpuRunner.h - Models on the GPU of this machine ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_GPURUNNER_H
#define FASTK_DRIVER_GPURUNNER_H

#include "fastk/Conversion/DeviceModel.h"
#include "fastk/Cuda/Driver.h"
#include "fastk/Runtime/CompiledLibrary.h"
#include "fastk/Target/DeviceDescription.h"
#include <functional>
#include <memory>

namespace fastk {

/// A function of a model, on device pointers: inputs, then outputs. Both return
/// 0, or leave a text for fastk_last_error().
struct GpuFunction {
  std::string name;
  Signature signature;
  std::function<int(void **)> call;
  std::function<int()> prepare;
};

/// The function of that name of a file of `fastk-opt --emit=plan`; "" is the
/// only one. Needs no GPU.
llvm::Expected<GpuFunction> openPlanFile(llvm::StringRef path,
                                         llvm::StringRef name);

/// Milliseconds of each run, in order.
struct GpuTimes {
  std::vector<double> model, baseline;
};

/// The GPU of this machine: memory, a stream, clocks.
class GpuRunner {
public:
  /// The error says what is missing and how to get it.
  static llvm::Expected<std::unique_ptr<GpuRunner>> create();
  ~GpuRunner();

  const DeviceDescription &device() const { return description; }
  /// "cuda:sm_90a".
  std::string target() const { return "cuda:" + description.arch; }

  /// A function of a model that was compiled in this process; "" is the only
  /// one.
  static llvm::Expected<GpuFunction> find(const DeviceModel &model,
                                          llvm::StringRef name);
  /// A function of a library for a GPU.
  static GpuFunction of(const CompiledFunction &function);

  /// From now on functions are captured into a CUDA graph, prepared but not
  /// called before, and what runs is the graph.
  void useGraphs() { graphs = true; }

  /// Copies the inputs to the GPU, runs, copies the results back.
  llvm::Expected<std::vector<HostTensor>>
  run(const GpuFunction &function, const std::vector<HostTensor> &inputs);

  /// Runs both in turn for about that long, with the L2 cache emptied before
  /// each run; times are those of the GPU's own clock.
  llvm::Expected<GpuTimes> time(const GpuFunction &function,
                                const GpuFunction *baseline,
                                const std::vector<HostTensor> &inputs,
                                double seconds);

private:
  /// Memory of one call, freed with it.
  class Buffers;

  GpuRunner() = default;
  std::string start();
  /// What enqueues one run of a function on these buffers.
  class Call;
  std::string timeOnce(Call &call, double &milliseconds);

  const cuda::Driver *driver = nullptr;
  DeviceDescription description;
  bool graphs = false;
  cuda::CUstream stream = nullptr;
  cuda::CUevent begin = nullptr, end = nullptr;
  /// What is written to empty the L2 cache.
  cuda::CUdeviceptr flushed = 0;
  size_t flushBytes = 0;
};

} // namespace fastk

#endif // FASTK_DRIVER_GPURUNNER_H
