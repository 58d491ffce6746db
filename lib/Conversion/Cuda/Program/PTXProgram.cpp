//===- PTXProgram.cpp - A program in PTX ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/PTXProgram.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Cuda/CompileInChild.h"

using namespace mlir;
using namespace fastk;

/// A winner was proved before: a slow machine may take its time.
static constexpr double kSeconds = 120;

FailureOr<DeviceProgram>
fastk::compilePTXProgram(Location loc, StringRef text, StringRef name,
                         const worker::LaunchPlan &plan,
                         const CudaTarget &target) {
  std::vector<cuda::Refusal> refusals =
      cuda::checkPTXProgram(text, plan, target.chip);
  if (refusals.empty())
    return DeviceProgram{DeviceCode::PTX, text.str(), plan};
  InFlightDiagnostic diagnostic = emitError(loc)
                                  << cuda::describe({refusals.front()}, name);
  for (const cuda::Refusal &refusal : llvm::drop_begin(refusals))
    diagnostic.attachNote() << "also: " << cuda::describe({refusal}, name);
  return failure();
}

LogicalResult fastk::assembleProgram(Location loc, StringRef name,
                                     DeviceProgram &program,
                                     const CudaTarget &target) {
  cuda::CompileLimits limits;
  limits.cpuSeconds = limits.wallSeconds = kSeconds;
  cuda::CompileResult result =
      cuda::assembleCached({program.code, target.chip}, limits);
  // The driver assembles it when it is loaded.
  if (result.missingTool || result.toolFailed)
    return success();
  if (!result.ok())
    return emitError(loc) << name << " does not compile: " << result.error;
  program.code = std::move(result.cubin);
  return success();
}
