//===- RunOnHost.cpp - Run, check and time on this machine ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Options.h"
#include "Profile.h"
#include "RunModel.h"
#include "fastk/Analysis/LeastMemory.h"
#include "fastk/System/AvailableMemory.h"
#include <chrono>

using namespace mlir;
using namespace fastk;
using namespace fastk::options;

/// Whether the signature says that the function cannot have the memory that it
/// takes; what it has for itself is not known.
static llvm::Error checkMemory(const CompiledFunction &function) {
  MemoryNeed need;
  auto sum = [](const std::vector<fastk::TensorType> &types) {
    double bytes = 0;
    for (const fastk::TensorType &type : types)
      if (!type.isDynamic())
        bytes += double(type.bytes());
    return bytes;
  };
  need.arguments = sum(function.signature.inputs);
  need.results = sum(function.signature.outputs);
  std::string shortage = need.explainShortage(availableMemory());
  if (shortage.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      inputPath + ": @" + function.name + " " + shortage +
      ": run it on a machine with more memory, or compile the model with "
      "smaller shapes");
}

/// Times the functions in turn, so that drift of the machine hits both.
static void timeFunctions(const CompiledFunction &winners,
                          const CompiledFunction *baseline,
                          const std::vector<HostTensor> &inputs) {
  using Clock = std::chrono::steady_clock;
  std::vector<HostTensor> outputs = winners.makeOutputs();
  // The inputs are those of a run that went well.
  auto once = [&](const CompiledFunction &function) {
    Clock::time_point start = Clock::now();
    llvm::cantFail(function(inputs, outputs));
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::vector<double> ours, theirs;
  Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(seconds));
  once(winners);
  if (baseline)
    once(*baseline);
  while (ours.size() < 5 || Clock::now() < end) {
    ours.push_back(once(winners));
    if (baseline)
      theirs.push_back(once(*baseline));
  }
  printTimes(ours, theirs, "");
}

int fastk::runOnHost(RunModel model, std::optional<CompiledLibrary> library,
                     const RunRequest &request, llvm::StringRef folder) {
  if (!library) {
    llvm::Expected<CompiledLibrary> compiled = compileForRun(
        model, runOracle ? RunMode::Oracle : RunMode::Winners, request, folder);
    if (!compiled)
      return fail(compiled.takeError());
    library = std::move(*compiled);
  }
  auto function = library->find(entry);
  if (!function)
    return fail(function.takeError());
  if (!model)
    if (llvm::Error error = checkMemory(**function))
      return fail(std::move(error));
  auto inputs = makeInputsFor(model, (*function)->name, (*function)->signature);
  if (!inputs)
    return fail(inputs.takeError());
  std::vector<HostTensor> outputs = (*function)->makeOutputs();
  if (llvm::Error error = (**function)(*inputs, outputs))
    return fail(std::move(error));
  if (llvm::Error error = writeOutputs(outputs))
    return fail(std::move(error));
  int status = 0;
  if (check) {
    auto expected =
        runHostOracle(model, (*function)->name, request, folder, *inputs);
    if (!expected)
      return fail(expected.takeError());
    status = checkOutputs(functionOf(model, (*function)->name), outputs,
                          *expected, "", request.precision);
  }
  if (showProfile) {
    // The same winners once more, which were told of.
    RunRequest told = request;
    told.onApplied = nullptr;
    auto lowered = lowerForRun(model, RunMode::Winners, told, "host",
                               Machine::host(), availableMemory());
    if (!lowered)
      return fail(lowered.takeError());
    if (llvm::Error error = profileOnHost(**lowered, folder, (*function)->name,
                                          *inputs, seconds))
      return fail(std::move(error));
  }
  if (!showTime)
    return status;
  std::optional<CompiledLibrary> baseline;
  const CompiledFunction *baselineFunction = nullptr;
  if (model) {
    auto compiled = compileForRun(model, RunMode::Default, request, folder);
    if (!compiled)
      return fail(compiled.takeError());
    baseline = std::move(*compiled);
    auto found = baseline->find((*function)->name);
    if (!found)
      return fail(found.takeError());
    baselineFunction = *found;
  }
  timeFunctions(**function, baselineFunction, *inputs);
  return status;
}
