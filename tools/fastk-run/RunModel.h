//===- RunModel.h - A model compiled and run --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_RUN_RUNMODEL_H
#define FASTK_TOOLS_FASTK_RUN_RUNMODEL_H

#include "fastk/Bank/Machine.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Driver/Session.h"
#include "fastk/Runtime/CompiledLibrary.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <vector>

namespace fastk {

/// How a model is compiled for a run.
enum class Mode { Winners, Default, Oracle };

/// What the input holds; all is null where it is a library.
struct Model {
  Session *session = nullptr;
  /// As it was given: fastk-opt may have put winners in.
  mlir::ModuleOp given;
  /// What it computes, without winners.
  mlir::ModuleOp definition;

  explicit operator bool() { return bool(given); }
  mlir::ModuleOp as(Mode mode) {
    return mode == Mode::Winners ? given : definition;
  }
};

/// Prints the error. The exit code.
int fail(llvm::Error error);

// Compiling: CompileForRun.cpp.
KernelRole roleOf(Mode mode);
/// The model with its workloads lowered for `target`, which has so much memory.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
lowerModelFor(Model model, Mode mode, Precision precision,
              llvm::StringRef target, const Machine &machine,
              int64_t availableBytes);
/// Compiles the model to a shared library in `folder` and loads it.
llvm::Expected<CompiledLibrary> compileModelFor(Model model, Mode mode,
                                                Precision precision,
                                                llvm::StringRef folder);

// What runs on the host and on a GPU have in common: RunModel.cpp.
/// `how` the times were taken; seconds, the second ones of the default
/// lowering.
void printTimes(const std::vector<double> &ours,
                const std::vector<double> &theirs, llvm::StringRef how);
llvm::Error writeOutputs(const std::vector<HostTensor> &outputs);
llvm::Expected<std::vector<HostTensor>>
makeInputsFor(Model model, llvm::StringRef function,
              const Signature &signature);
mlir::func::FuncOp functionOf(Model model, llvm::StringRef name);
/// What the model, computed in f64 on this machine's processors, gives.
llvm::Expected<std::vector<HostTensor>>
runHostOracle(Model model, llvm::StringRef name, Precision precision,
              llvm::StringRef folder, const std::vector<HostTensor> &inputs);

/// Runs, checks and times as the options say. `library` where the input is one,
/// else the model is compiled in `folder`. The exit code.
int runOnHost(Model model, std::optional<CompiledLibrary> library,
              Precision precision, llvm::StringRef folder);
int runOnGpu(Model model, const CompiledLibrary *library, Precision precision,
             llvm::StringRef folder);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_RUN_RUNMODEL_H
