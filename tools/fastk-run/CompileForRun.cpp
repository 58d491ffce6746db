//===- CompileForRun.cpp - A model compiled for a run ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "RunModel.h"
#include "fastk/Analysis/LeastMemory.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Driver/Compile.h"
#include "fastk/Driver/ModelDiagnostics.h"
#include "fastk/System/AvailableMemory.h"
#include "fastk/Transforms/RunPasses.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::options;

KernelRole fastk::roleOf(Mode mode) {
  return mode == Mode::Oracle ? KernelRole::Oracle : KernelRole::Program;
}

/// Whether the shapes say that the function to run cannot have the memory that
/// it takes. `formed` is the model, or its oracle, with its workloads formed.
static llvm::Error checkMemory(ModuleOp formed, Mode mode, int64_t available) {
  for (auto function : formed.getOps<func::FuncOp>()) {
    if (!function.isPublic() || (!entry.empty() && function.getName() != entry))
      continue;
    std::string shortage = leastMemory(function).explainShortage(available);
    if (!shortage.empty())
      return llvm::createStringError(
          (mode == Mode::Oracle ? "the oracle of @" : "@") +
          function.getName() +
          (mode == Mode::Oracle ? ", which computes in f64, " : " ") +
          shortage + ": run it on a machine with more memory" +
          (mode == Mode::Oracle && check ? ", without --check" : "") +
          ", or export the model with smaller shapes");
  }
  return llvm::Error::success();
}

llvm::Expected<OwningOpRef<ModuleOp>>
fastk::lowerModelFor(Model model, Mode mode, Precision precision,
                     llvm::StringRef target, const Machine &machine,
                     int64_t availableBytes) {
  auto failed = [&] {
    return llvm::createStringError("the model could not be compiled");
  };
  OwningOpRef<ModuleOp> module(model.as(mode).clone());
  if (mode == Mode::Oracle && mlir::failed(promoteToF64(*module)))
    return failed();
  if (mode != Mode::Winners) {
    if (mlir::failed(runFormWorkloads(*module, fusion)))
      return failed();
  } else {
    std::vector<std::string> folders(banks.begin(), banks.end());
    if (folders.empty())
      folders = defaultBanks(llvm::sys::fs::getMainExecutable(
          nullptr, reinterpret_cast<void *>(&fail)));
    llvm::Expected<BankStack> stack = BankStack::open(folders);
    if (!stack)
      return stack.takeError();
    WorkloadMatcher matcher(*stack, {target.str(), precision, machine,
                                     /*anyMachine=*/winnersFrom == "any",
                                     requireDeterministic});
    FailureOr<ApplySummary> summary =
        compileWithWinners(*module, fusion, matcher);
    if (mlir::failed(summary))
      return failed();
    llvm::errs() << "fastk-run: " << summary->str() << "\n";
  }
  if (llvm::Error error = checkMemory(*module, mode, availableBytes))
    return std::move(error);
  if (mlir::failed(lowerWorkloads(*module, target)))
    return failed();
  return module;
}

llvm::Expected<CompiledLibrary> fastk::compileModelFor(Model model, Mode mode,
                                                       Precision precision,
                                                       llvm::StringRef folder) {
  auto failed = [&] {
    return llvm::createStringError("the model could not be compiled");
  };
  auto module = lowerModelFor(model, mode, precision, "host", Machine::host(),
                              availableMemory());
  if (!module)
    return module.takeError();
  llvm::LLVMContext context;
  HostTarget target = HostTarget::detect();
  auto compiled = compileModel(**module, context, target, roleOf(mode));
  if (mlir::failed(compiled))
    return failed();
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, mode == Mode::Winners   ? "winners.so"
                                : mode == Mode::Default ? "default.so"
                                                        : "oracle.so");
  if (mlir::failed(emitSharedLibrary(fileOf(**module), **compiled, target, path,
                                     hostLibraries(), "the model")))
    return failed();
  return CompiledLibrary::open(path, inputPath);
}
