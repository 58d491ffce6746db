//===- CompileKernel.cpp - One lowering to a shared library ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileKernel.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fastk;

/// Writes one file of a program's folder.
static LogicalResult writeFile(Location loc, StringRef folder, StringRef name,
                               StringRef text) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  std::error_code ec;
  llvm::raw_fd_ostream os(path, ec);
  if (!ec) {
    os << text;
    os.close();
    ec = os.error();
    os.clear_error();
  }
  if (ec)
    return emitError(loc) << "cannot write " << path << ": " << ec.message();
  return success();
}

/// A program for a GPU: a folder with the code and plan.json.
static LogicalResult compileDeviceProgram(LoweringOp lowering, KernelRole role,
                                          bool writeKernels, StringRef output,
                                          const CudaTarget &target) {
  std::string kernels;
  FailureOr<DeviceProgram> program =
      compileDeviceKernel(lowering, role, target, &kernels);
  if (failed(program))
    return failure();
  Location loc = lowering.getLoc();
  if (std::error_code ec = llvm::sys::fs::create_directories(output))
    return emitError(loc) << "cannot make the folder " << output << ": "
                          << ec.message();
  StringRef name =
      program->kind == DeviceCode::PTX ? "kernel.ptx" : "kernel.cu";
  if (failed(writeFile(loc, output, name, program->code)))
    return failure();
  if (writeKernels && failed(writeFile(loc, output, "kernels.mlir", kernels)))
    return failure();
  return writeFile(loc, output, "plan.json", worker::toJSON(program->plan));
}

LogicalResult fastk::compileKernelLibrary(ModuleOp module, StringRef role,
                                          StringRef output,
                                          StringRef targetName) {
  auto lowerings = llvm::to_vector(module.getOps<LoweringOp>());
  if (lowerings.size() != 1)
    return module.emitError()
           << "--compile-kernel needs a module with one fastk.lowering, this "
              "one has "
           << lowerings.size();
  KernelRole kernelRole;
  bool writeKernels = role == "kernels" && targetName != "host";
  if (role == "program" || writeKernels)
    kernelRole = KernelRole::Program;
  else if (role == "oracle")
    kernelRole = KernelRole::Oracle;
  else
    return module.emitError()
           << "--compile-kernel takes program, oracle or, for a GPU, kernels, "
              "not '"
           << role << "'";
  if (output.empty() || output == "-")
    return module.emitError()
           << "--compile-kernel writes a program: name it with -o";
  if (targetName != "host") {
    std::optional<CudaTarget> device = CudaTarget::parse(targetName);
    if (!device)
      return module.emitError() << "unknown target '" << targetName << "'";
    return compileDeviceProgram(lowerings.front(), kernelRole, writeKernels,
                                output, *device);
  }
  HostTarget target = HostTarget::detect();
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> kernel = compileKernel(
      lowerings.front(), kernelRole, "fastk_kernel", context, target);
  if (failed(kernel))
    return failure();
  return emitSharedLibrary(lowerings.front().getLoc(), **kernel, target,
                           output);
}
