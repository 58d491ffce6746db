//===- CompileKernel.cpp - One lowering to a shared library ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/CompileKernel.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Conversion/WriteFile.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/Sha256.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fastk;

/// Writes one file of a program's folder.
static LogicalResult writeText(Location loc, StringRef folder, StringRef name,
                               StringRef text) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  if (std::error_code ec = writeFileAtomically(
          path, [&](llvm::raw_pwrite_stream &os) { os << text; }))
    return emitError(loc) << llvm::toString(
               fileError(path, "write", ec.value()));
  return success();
}

/// A program for a GPU: a folder with the code and plan.json.
static LogicalResult compileDeviceProgram(LoweringOp lowering, KernelRole role,
                                          StringRef what, StringRef output,
                                          const CudaTarget &target) {
  bool withCubin = what == "cubin";
  std::string kernels;
  FailureOr<DeviceProgram> program =
      compileDeviceKernel(lowering, role, target, &kernels);
  if (failed(program))
    return failure();
  Location loc = lowering.getLoc();
  FailureOr<std::string> cubin = std::string();
  if (withCubin && program->kind != DeviceCode::PTX)
    return emitError(loc) << "--compile-kernel=cubin is for programs that "
                             "become PTX; CUDA-C is compiled where it runs";
  if (withCubin && failed(cubin = assemblePTX(loc, program->code, target)))
    return failure();
  if (llvm::Error error = createDirectories(output))
    return emitError(loc) << llvm::toString(std::move(error));
  StringRef name =
      program->kind == DeviceCode::PTX ? "kernel.ptx" : "kernel.cu";
  if (failed(writeText(loc, output, name, program->code)))
    return failure();
  if (what == "kernels" &&
      failed(writeText(loc, output, "kernels.mlir", kernels)))
    return failure();
  if (withCubin && failed(writeText(loc, output, "kernel.cubin", *cubin)))
    return failure();
  return writeText(loc, output, "plan.json", worker::toJSON(program->plan));
}

LogicalResult fastk::checkKernelTools(ModuleOp module, StringRef role,
                                      StringRef targetName) {
  if (targetName != "host")
    return success();
  for (auto lowering : module.getOps<LoweringOp>())
    if (lowering.getLanguage() == Language::c && role == "program" &&
        failed(findCCompiler(lowering.getLoc())))
      return failure();
  return checkLinker(module.getLoc());
}

FailureOr<std::string> fastk::compileKernelLibrary(ModuleOp module,
                                                   StringRef role,
                                                   StringRef output,
                                                   StringRef targetName) {
  auto lowerings = llvm::to_vector(module.getOps<LoweringOp>());
  if (lowerings.size() != 1)
    return module.emitError()
           << "--compile-kernel needs a module with one fastk.lowering, this "
              "one has "
           << lowerings.size();
  KernelRole kernelRole;
  // For another machine, which may have C's libraries alone: it runs there,
  // however fast.
  bool isPortable = role.consume_front("portable-");
  bool withCubin = role == "cubin", withKernels = role == "kernels";
  if (role == "program" || withCubin || withKernels)
    kernelRole = KernelRole::Program;
  else if (role == "oracle")
    kernelRole = KernelRole::Oracle;
  else if (role == "condition")
    kernelRole = KernelRole::Condition;
  else if (role == "condition-tf32")
    kernelRole = KernelRole::ConditionOfTF32;
  else
    return module.emitError() << "--compile-kernel takes program, oracle, "
                                 "condition, condition-tf32, cubin or "
                                 "kernels, not '"
                              << role << "'";
  if ((withCubin || withKernels) && targetName == "host")
    return module.emitError()
           << "--compile-kernel=" << role
           << " is for GPUs: name one by --target=cuda:sm_90a";
  if (output.empty() || output == "-")
    return module.emitError()
           << "--compile-kernel writes a program: name it with -o";
  if (isPortable && targetName != "host")
    return module.emitError()
           << "--compile-kernel=portable-" << role << " is for the host";
  if (targetName != "host") {
    std::optional<CudaTarget> device = CudaTarget::parse(targetName);
    if (!device)
      return module.emitError() << "unknown target '" << targetName << "'";
    if (failed(compileDeviceProgram(lowerings.front(), kernelRole, role, output,
                                    *device)))
      return failure();
    return std::string();
  }
  HostTarget target =
      isPortable ? HostTarget::baseline() : HostTarget::detect();
  target.hasThreads = !isPortable;
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> kernel = compileKernel(
      lowerings.front(), kernelRole, "fastk_kernel", context, target);
  if (failed(kernel))
    return failure();
  std::string object;
  if (failed(emitSharedLibrary(lowerings.front().getLoc(), **kernel, target,
                               output, hostLibraries(target.hasThreads),
                               /*what=*/{}, &object)))
    return failure();
  return sha256(object);
}
