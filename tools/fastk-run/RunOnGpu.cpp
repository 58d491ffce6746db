//===- RunOnGpu.cpp - Run, check and time on a GPU ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Options.h"
#include "RunModel.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::options;

/// Above this many elements read and written, the oracle runs on the GPU, too:
/// the host would take minutes.
static constexpr int64_t kHostOracleElements = int64_t(1) << 20;

static int checkOnGpu(RunModel model, GpuRunner &gpu, const RunRequest &request,
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
        runHostOracle(model, function.name, request, folder, inputs);
    if (!expected)
      return fail(expected.takeError());
    return checkOutputs(functionOf(model, function.name), outputs, *expected,
                        " on the host", request.precision);
  }
  auto oracle =
      compileForGpuRun(model, RunMode::Oracle, request, gpu, function.name);
  if (!oracle)
    return fail(oracle.takeError());
  auto expected = gpu.run(*oracle, inputs);
  if (!expected)
    return fail(expected.takeError());
  return checkOutputs(functionOf(model, function.name), outputs, *expected,
                      " on the GPU", request.precision);
}

int fastk::runOnGpu(RunModel model, const GpuFunction *opened,
                    const RunRequest &request, llvm::StringRef folder) {
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
  GpuFunction function;
  if (opened) {
    function = *opened;
  } else {
    auto made =
        compileForGpuRun(model, runOracle ? RunMode::Oracle : RunMode::Winners,
                         request, **gpu, entry);
    if (!made)
      return fail(made.takeError());
    function = std::move(*made);
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
    status =
        checkOnGpu(model, **gpu, request, folder, function, *inputs, *outputs);
  if (!showTime || status == 1)
    return status;
  std::optional<GpuFunction> baseline;
  if (model) {
    auto made = compileForGpuRun(model, RunMode::Default, request, **gpu,
                                 function.name);
    if (!made)
      return fail(made.takeError());
    baseline = std::move(*made);
  }
  auto times =
      (*gpu)->time(function, baseline ? &*baseline : nullptr, *inputs, seconds);
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
