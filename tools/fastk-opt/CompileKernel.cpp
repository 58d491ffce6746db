//===- CompileKernel.cpp - One lowering to a shared library ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileKernel.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace fastk;

LogicalResult fastk::compileKernelLibrary(ModuleOp module, StringRef role,
                                          StringRef output) {
  auto lowerings = llvm::to_vector(module.getOps<LoweringOp>());
  if (lowerings.size() != 1)
    return module.emitError()
           << "--compile-kernel needs a module with one fastk.lowering, this "
              "one has "
           << lowerings.size();
  KernelRole kernelRole;
  if (role == "program")
    kernelRole = KernelRole::Program;
  else if (role == "oracle")
    kernelRole = KernelRole::Oracle;
  else
    return module.emitError()
           << "--compile-kernel takes program or oracle, not '" << role << "'";
  if (output.empty() || output == "-")
    return module.emitError()
           << "--compile-kernel writes a shared library: name it with -o";
  HostTarget target = HostTarget::detect();
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> kernel = compileKernel(
      lowerings.front(), kernelRole, "fastk_kernel", context, target);
  if (failed(kernel))
    return failure();
  return emitSharedLibrary(lowerings.front().getLoc(), **kernel, target,
                           output);
}
