//===- RunModel.h - A model compiled and run --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_RUN_RUNMODEL_H
#define FASTK_TOOLS_FASTK_RUN_RUNMODEL_H

#include "fastk/Driver/CompileForRun.h"
#include "fastk/Runtime/CompiledLibrary.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <vector>

namespace fastk {

/// Prints the error. The exit code.
int fail(llvm::Error error);

// Compiling: CompileForRun.cpp.
/// `how` the times were taken; seconds, the second ones of the default
/// lowering.
void printTimes(const std::vector<double> &ours,
                const std::vector<double> &theirs, llvm::StringRef how);
llvm::Error writeOutputs(const std::vector<HostTensor> &outputs);
llvm::Expected<std::vector<HostTensor>>
makeInputsFor(RunModel model, llvm::StringRef function,
              const Signature &signature);
mlir::func::FuncOp functionOf(RunModel model, llvm::StringRef name);
/// Runs, checks and times as the options say. `library` or `opened` where the
/// input is compiled, else the model is compiled in `folder`. The exit code.
int runOnHost(RunModel model, std::optional<CompiledLibrary> library,
              const RunRequest &request, llvm::StringRef folder);
int runOnGpu(RunModel model, const GpuFunction *opened,
             const RunRequest &request, llvm::StringRef folder);
/// Prints what is in a plan file. The exit code.
int describePlanFile(llvm::StringRef path);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_RUN_RUNMODEL_H
