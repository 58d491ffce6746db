//===- DeviceCode.cpp - The code of winners for GPUs ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Support/DurableFile.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>

using namespace fastk;
using namespace fastk::bank;

/// A winner was proved before: a slow machine may take its time.
static constexpr unsigned kSeconds = 120;
/// Far above the PTX of any program.
static constexpr size_t kCodeLimit = size_t(64) << 20;

std::string fastk::bank::siblingOf(llvm::StringRef executable,
                                   llvm::StringRef name) {
  llvm::SmallString<128> path(llvm::sys::path::parent_path(executable));
  llvm::sys::path::append(path, name);
  return std::string(path);
}

std::optional<worker::LaunchPlan> fastk::bank::planOf(LoweringOp lowering) {
  if (lowering.getPlan().empty())
    return std::nullopt;
  mlir::FailureOr<worker::LaunchPlan> plan = readPlan(lowering);
  return mlir::succeeded(plan) ? std::optional(std::move(*plan)) : std::nullopt;
}

DeviceCode::DeviceCode(llvm::StringRef executable)
    : compiler(siblingOf(executable, "fastk-opt")) {}

llvm::Expected<CompiledKernel> DeviceCode::lower(const Winner &winner) {
  if (!kernels) {
    if (std::error_code code = folder.create("fastk-bank"))
      return llvm::createStringError(code, explainTemporaryFileError(code));
    kernels.emplace(compiler, folder.path());
  }
  llvm::Expected<CompiledKernel> kernel =
      kernels->begin(winner.getLowering(), "program", kSeconds)->wait({});
  if (!kernel)
    return kernel.takeError();
  if (!kernel->problem.empty() || !kernel->program.plan)
    return llvm::createStringError("does not compile: " + kernel->problem);
  return kernel;
}

llvm::Expected<LaunchRecipe> DeviceCode::recipeOf(const Winner &winner) {
  LoweringOp lowering = winner.getLowering();
  if (lowering.getLanguage() == Language::cuda)
    if (std::optional<worker::LaunchPlan> plan = planOf(lowering))
      return makeRecipe(winner, LaunchRecipe::Code::CudaC,
                        lowering.getSource()->str(), std::move(*plan));
  // Before anything is compiled for it.
  if (lowering.getTarget() == "host")
    return makeRecipe(winner, LaunchRecipe::Code::PTX, {}, {});
  llvm::Expected<CompiledKernel> kernel = lower(winner);
  if (!kernel)
    return kernel.takeError();
  llvm::Expected<std::string> ptx = readRegularFile(
      AT_FDCWD, kernel->program.path, kernel->program.path, kCodeLimit);
  if (!ptx)
    return ptx.takeError();
  return makeRecipe(winner, LaunchRecipe::Code::PTX, std::move(*ptx),
                    std::move(*kernel->program.plan));
}

llvm::Expected<cuda::CompileResult>
DeviceCode::compile(const LaunchRecipe &recipe) {
  cuda::CompileLimits limits;
  limits.cpuSeconds = limits.wallSeconds = kSeconds;
  limits.program = compiler;
  cuda::CompileResult result;
  if (recipe.kind == LaunchRecipe::Code::CudaC) {
    cuda::CompileRequest request;
    request.source = recipe.code;
    request.arch = recipe.chip;
    result = cuda::compileCached(request, limits);
  } else {
    result = cuda::assembleCached({recipe.code, recipe.chip}, limits);
    result.ptx = recipe.code;
  }
  if (!result.ok())
    return llvm::createStringError(result.error);
  return result;
}
