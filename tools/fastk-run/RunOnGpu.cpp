//===- RunOnGpu.cpp - Run, check and time on a GPU ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "GpuRunner.h"
#include "Options.h"
#include "RunModel.h"
#include "fastk/Conversion/CudaCodegen.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::options;

/// Above this many elements read and written, the oracle runs on the GPU, too:
/// the host would take minutes.
static constexpr int64_t kHostOracleElements = int64_t(1) << 20;

namespace {
/// A model compiled for the GPU in this process, and the function to run.
struct CompiledForGpu {
  DeviceModel model;
  GpuFunction function;
};
} // namespace

static llvm::Expected<std::unique_ptr<CompiledForGpu>>
compileForGpu(Model model, Mode mode, Precision precision, const GpuRunner &gpu,
              llvm::StringRef name) {
  Machine machine = Machine::of(gpu.target(), 0);
  machine.model = gpu.device().model;
  auto module = lowerModelFor(model, mode, precision, gpu.target(), machine,
                              gpu.device().memoryBytes);
  if (!module)
    return module.takeError();
  std::optional<CudaTarget> target = CudaTarget::parse(gpu.target());
  if (!target)
    return llvm::createStringError("fastk does not know the architecture of " +
                                   gpu.device().model + " (" + gpu.target() +
                                   ")");
  auto compiled = compileDeviceModel(**module, *target, roleOf(mode));
  if (mlir::failed(compiled))
    return llvm::createStringError("the model could not be compiled");
  auto result = std::make_unique<CompiledForGpu>();
  result->model = std::move(*compiled);
  auto function = GpuRunner::find(result->model, name);
  if (!function)
    return function.takeError();
  result->function = std::move(*function);
  return result;
}

static int checkOnGpu(Model model, GpuRunner &gpu, Precision precision,
                      llvm::StringRef folder, const GpuFunction &function,
                      const std::vector<HostTensor> &inputs,
                      const std::vector<HostTensor> &outputs) {
  int64_t elements = 0;
  for (const HostTensor &tensor : inputs)
    elements += tensor.type().elements();
  for (const HostTensor &tensor : outputs)
    elements += tensor.type().elements();
  if (elements <= kHostOracleElements) {
    auto expected =
        runHostOracle(model, function.name, precision, folder, inputs);
    if (!expected)
      return fail(expected.takeError());
    return checkOutputs(functionOf(model, function.name), outputs, *expected,
                        " on the host", precision);
  }
  auto oracle =
      compileForGpu(model, Mode::Oracle, precision, gpu, function.name);
  if (!oracle)
    return fail(oracle.takeError());
  auto expected = gpu.run((*oracle)->function, inputs);
  if (!expected)
    return fail(expected.takeError());
  return checkOutputs(functionOf(model, function.name), outputs, *expected,
                      " on the GPU", precision);
}

int fastk::runOnGpu(Model model, const CompiledLibrary *library,
                    Precision precision, llvm::StringRef folder) {
  auto gpu = GpuRunner::create();
  if (!gpu)
    return fail(llvm::createStringError(
        "running for " + targetName +
        " needs a GPU: " + llvm::toString(gpu.takeError())));
  if (targetName != "cuda" && targetName != (*gpu)->target())
    return fail(llvm::createStringError(
        "the GPU here is " + (*gpu)->device().model + " (" + (*gpu)->target() +
        "), not " + targetName + ": compile for it with --target=cuda"));
  if (useGraphs)
    (*gpu)->useGraphs();
  std::unique_ptr<CompiledForGpu> compiled;
  GpuFunction function;
  if (library) {
    auto found = library->find(entry);
    if (!found)
      return fail(found.takeError());
    function = GpuRunner::of(**found);
  } else {
    auto made = compileForGpu(model, runOracle ? Mode::Oracle : Mode::Winners,
                              precision, **gpu, entry);
    if (!made)
      return fail(made.takeError());
    compiled = std::move(*made);
    function = compiled->function;
  }
  auto inputs = makeInputsFor(model, function.name, function.signature);
  if (!inputs)
    return fail(inputs.takeError());
  auto outputs = (*gpu)->run(function, *inputs);
  if (!outputs)
    return fail(outputs.takeError());
  if (llvm::Error error = writeOutputs(*outputs))
    return fail(std::move(error));
  int status = 0;
  if (check)
    status = checkOnGpu(model, **gpu, precision, folder, function, *inputs,
                        *outputs);
  if (!showTime || status == 1)
    return status;
  std::unique_ptr<CompiledForGpu> baseline;
  if (model) {
    auto made =
        compileForGpu(model, Mode::Default, precision, **gpu, function.name);
    if (!made)
      return fail(made.takeError());
    baseline = std::move(*made);
  }
  auto times = (*gpu)->time(function, baseline ? &baseline->function : nullptr,
                            *inputs, seconds);
  if (!times)
    return fail(times.takeError());
  auto inSeconds = [](std::vector<double> times) {
    for (double &time : times)
      time *= 1e-3;
    return times;
  };
  printTimes(inSeconds(times->model), inSeconds(times->baseline),
             std::string(useGraphs ? " as a CUDA graph" : "") + " on " +
                 (*gpu)->device().model + ", L2 emptied before each");
  return status;
}
