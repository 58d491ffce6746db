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
#include "fastk/Driver/Emit.h"
#include "fastk/Driver/ToldError.h"
#include "fastk/System/AvailableMemory.h"
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

/// The model with its workloads formed and, for the mode of that name, its
/// winners applied, for a machine that has so much memory.
static llvm::Expected<OwningOpRef<ModuleOp>>
applyModelFor(Model model, Mode mode, Precision precision,
              llvm::StringRef target, const Machine &machine,
              int64_t availableBytes) {
  OwningOpRef<ModuleOp> module(model.as(mode).clone());
  if (mode == Mode::Oracle && failed(promoteToF64(*module)))
    return toldError();
  if (mode != Mode::Winners) {
    if (failed(runFormWorkloads(*module, fusion)))
      return toldError();
  } else {
    std::vector<std::string> folders(banks.begin(), banks.end());
    if (folders.empty())
      folders = defaultBanks(llvm::sys::fs::getMainExecutable(
          nullptr, reinterpret_cast<void *>(&fail)));
    Session &session = *model.session;
    if (llvm::Error error =
            session.openBanks({fusion, folders,
                               WinnerFilter{target.str(), precision, machine,
                                            /*anyMachine=*/winnersFrom == "any",
                                            requireDeterministic}}))
      return std::move(error);
    if (failed(session.form(*module)))
      return toldError();
    FailureOr<ApplySummary> summary = session.apply(*module);
    if (failed(summary))
      return toldError();
    llvm::errs() << "fastk-run: " << summary->str() << "\n";
  }
  if (llvm::Error error = checkMemory(*module, mode, availableBytes))
    return std::move(error);
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>>
fastk::lowerModelFor(Model model, Mode mode, Precision precision,
                     llvm::StringRef target, const Machine &machine,
                     int64_t availableBytes) {
  auto module =
      applyModelFor(model, mode, precision, target, machine, availableBytes);
  if (module && failed(lowerWorkloads(**module, target)))
    return toldError();
  return module;
}

llvm::Expected<CompiledLibrary> fastk::compileModelFor(Model model, Mode mode,
                                                       Precision precision,
                                                       llvm::StringRef folder) {
  auto module = applyModelFor(model, mode, precision, "host", Machine::host(),
                              availableMemory());
  if (!module)
    return module.takeError();
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, mode == Mode::Winners   ? "winners.so"
                                : mode == Mode::Default ? "default.so"
                                                        : "oracle.so");
  EmitOptions options;
  options.kind = EmitKind::SharedLibrary;
  options.output = std::string(path);
  options.role = roleOf(mode);
  options.shownAs = "the model";
  if (llvm::Error error = emitModel(**module, "host", options))
    return std::move(error);
  return CompiledLibrary::open(path, inputPath);
}
