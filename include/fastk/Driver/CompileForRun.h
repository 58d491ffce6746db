//===- CompileForRun.h - A model compiled for a run -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_COMPILEFORRUN_H
#define FASTK_DRIVER_COMPILEFORRUN_H

#include "fastk/Bank/Machine.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Driver/GpuRunner.h"
#include "fastk/Driver/Session.h"
#include "fastk/Runtime/CompiledLibrary.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fastk {

/// How a model is compiled for a run.
enum class RunMode { Winners, Default, Oracle };

/// The model of a run; all is null where the input is a library.
struct RunModel {
  Session *session = nullptr;
  /// As it was given: fastk-opt may have put winners in.
  mlir::ModuleOp given;
  /// What it computes, without winners.
  mlir::ModuleOp definition;

  explicit operator bool() { return bool(given); }
  mlir::ModuleOp as(RunMode mode) {
    return mode == RunMode::Winners ? given : definition;
  }
};

/// What of a model is run, and which winners it may take.
struct RunRequest {
  /// The model's file, for messages.
  std::string input;
  /// The function to run; "" is the only one.
  std::string entry;
  Precision precision = Precision::ieee;
  Fusion fusion = Fusion::Greedy;
  /// Folders of winners, first wins.
  std::vector<std::string> banks;
  /// Winners that another machine measured are taken, too.
  bool anyMachine = false;
  bool requireDeterministic = false;
  /// The oracle runs for a comparison: errors say how to do without it.
  bool check = false;
  /// Gets what was applied, if it is set, each time that winners are.
  std::function<void(const ApplySummary &)> onApplied;
};

/// Erases the functions beside `entry` of a prepared model, in which none calls
/// another: they need not be compiled to run it. Nothing changes where there is
/// no such function.
void keepEntry(mlir::ModuleOp model, llvm::StringRef entry);

/// The model with its workloads lowered for `target`, which has so much memory.
/// Where a diagnostic has said what is wrong, the error is a ToldError.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
lowerForRun(RunModel model, RunMode mode, const RunRequest &request,
            llvm::StringRef target, const Machine &machine,
            int64_t availableBytes);

/// Compiles the model for the host to a shared library in `folder` and loads
/// it.
llvm::Expected<CompiledLibrary> compileForRun(RunModel model, RunMode mode,
                                              const RunRequest &request,
                                              llvm::StringRef folder);

/// Compiles function `name` of the model for that GPU; "" is the only one.
llvm::Expected<GpuFunction> compileForGpuRun(RunModel model, RunMode mode,
                                             const RunRequest &request,
                                             const GpuRunner &gpu,
                                             llvm::StringRef name);

/// What function `name` of the model, computed in f64 on this machine's
/// processors, gives. The oracle is compiled in `folder`.
llvm::Expected<std::vector<HostTensor>>
runHostOracle(RunModel model, llvm::StringRef name, const RunRequest &request,
              llvm::StringRef folder, const std::vector<HostTensor> &inputs);

} // namespace fastk

#endif // FASTK_DRIVER_COMPILEFORRUN_H
