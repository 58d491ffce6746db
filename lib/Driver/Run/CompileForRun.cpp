//===- CompileForRun.cpp - A model compiled for a run ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/CompileForRun.h"
#include "fastk/Analysis/LeastMemory.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Driver/Compile.h"
#include "fastk/Driver/Emit.h"
#include "fastk/Driver/ToldError.h"
#include "fastk/System/AvailableMemory.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fastk;

static KernelRole roleOf(RunMode mode) {
  return mode == RunMode::Oracle ? KernelRole::Oracle : KernelRole::Program;
}

/// Whether the shapes say that the function to run cannot have the memory that
/// it takes. `formed` is the model, or its oracle, with its workloads formed.
static llvm::Error checkMemory(ModuleOp formed, RunMode mode,
                               const RunRequest &request, int64_t available) {
  for (auto function : formed.getOps<func::FuncOp>()) {
    if (!function.isPublic() ||
        (!request.entry.empty() && function.getName() != request.entry))
      continue;
    std::string shortage = leastMemory(function).explainShortage(available);
    if (!shortage.empty())
      return llvm::createStringError(
          (mode == RunMode::Oracle ? "the oracle of @" : "@") +
          function.getName() +
          (mode == RunMode::Oracle ? ", which computes in f64, " : " ") +
          shortage + ": run it on a machine with more memory" +
          (mode == RunMode::Oracle && request.check ? ", without --check"
                                                    : "") +
          ", or export the model with smaller shapes");
  }
  return llvm::Error::success();
}

/// The model with its workloads formed and, for the mode of that name, its
/// winners applied, for a machine that has so much memory.
static llvm::Expected<OwningOpRef<ModuleOp>>
applyForRun(RunModel model, RunMode mode, const RunRequest &request,
            llvm::StringRef target, const Machine &machine,
            int64_t availableBytes) {
  OwningOpRef<ModuleOp> module(model.as(mode).clone());
  if (mode == RunMode::Oracle && failed(promoteToF64(*module)))
    return toldError();
  if (mode != RunMode::Winners) {
    if (failed(runFormWorkloads(*module, request.fusion)))
      return toldError();
  } else {
    Session &session = *model.session;
    if (llvm::Error error = session.openBanks(
            {request.fusion, request.banks,
             WinnerFilter{target.str(), request.precision, machine,
                          request.anyMachine, request.requireDeterministic}}))
      return std::move(error);
    if (failed(session.form(*module)))
      return toldError();
    FailureOr<ApplySummary> summary = session.apply(*module);
    if (failed(summary))
      return toldError();
    if (request.onApplied)
      request.onApplied(*summary);
  }
  if (llvm::Error error = checkMemory(*module, mode, request, availableBytes))
    return std::move(error);
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>>
fastk::lowerForRun(RunModel model, RunMode mode, const RunRequest &request,
                   llvm::StringRef target, const Machine &machine,
                   int64_t availableBytes) {
  auto module =
      applyForRun(model, mode, request, target, machine, availableBytes);
  if (module && failed(lowerWorkloads(**module, target)))
    return toldError();
  return module;
}

llvm::Expected<CompiledLibrary> fastk::compileForRun(RunModel model,
                                                     RunMode mode,
                                                     const RunRequest &request,
                                                     llvm::StringRef folder) {
  auto module = applyForRun(model, mode, request, "host", Machine::host(),
                            availableMemory());
  if (!module)
    return module.takeError();
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, mode == RunMode::Winners   ? "winners.so"
                                : mode == RunMode::Default ? "default.so"
                                                           : "oracle.so");
  EmitOptions options;
  options.kind = EmitKind::SharedLibrary;
  options.output = std::string(path);
  options.role = roleOf(mode);
  options.shownAs = "the model";
  if (llvm::Error error = emitModel(**module, "host", options))
    return std::move(error);
  return CompiledLibrary::open(path, request.input);
}

llvm::Expected<GpuFunction>
fastk::compileForGpuRun(RunModel model, RunMode mode, const RunRequest &request,
                        const GpuRunner &gpu, llvm::StringRef name) {
  Machine machine = Machine::of(gpu.target(), 0);
  machine.model = gpu.device().model;
  auto module = lowerForRun(model, mode, request, gpu.target(), machine,
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
  return GpuRunner::find(*compiled, name);
}

llvm::Expected<std::vector<HostTensor>>
fastk::runHostOracle(RunModel model, llvm::StringRef name,
                     const RunRequest &request, llvm::StringRef folder,
                     const std::vector<HostTensor> &inputs) {
  auto oracle = compileForRun(model, RunMode::Oracle, request, folder);
  if (!oracle)
    return oracle.takeError();
  auto function = oracle->find(name);
  if (!function)
    return function.takeError();
  std::vector<HostTensor> expected = (*function)->makeOutputs();
  if (llvm::Error error = (**function)(inputs, expected))
    return std::move(error);
  return expected;
}
