//===- GPUProgram.cpp - A program in the gpu dialect to PTX ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUProgram.h"
#include "Cuda/PTX/EmitPTX.h"
#include "FirstError.h"
#include "fastk/Cuda/CheckDeviceCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace fastk;

/// The same as for programs in C.
static constexpr size_t kMaxTextBytes = 512 * 1024;

FailureOr<DeviceProgram> fastk::compileGPUModule(gpu::GPUModuleOp module,
                                                 const worker::LaunchPlan &plan,
                                                 const ProgramBuffers &buffers,
                                                 const CudaTarget &target) {
  if (failed(checkGPUProgram(module)) ||
      failed(checkGPULaunches(module, plan, buffers)))
    return failure();
  module.getContext()->loadDialect<LLVM::LLVMDialect>();
  adaptGPUKernels(module, plan);
  FailureOr<std::string> ptx = emitPTX(module, target);
  if (failed(ptx))
    return failure();
  // The last word: what the device will run, inline assembly included.
  std::vector<cuda::Refusal> refusals = cuda::checkDeviceCode(*ptx);
  if (refusals.empty())
    return DeviceProgram{DeviceCode::PTX, std::move(*ptx), plan};
  InFlightDiagnostic diagnostic =
      module.emitError() << "its PTX may not run: " << refusals.front().text
                         << " (required by '" << refusals.front().rule << "')";
  for (const cuda::Refusal &refusal : llvm::drop_begin(refusals))
    diagnostic.attachNote() << "also: " << refusal.text << " (required by '"
                            << refusal.rule << "')";
  return failure();
}

/// The one gpu.module of a file, which may stand in a module of its own.
static FailureOr<gpu::GPUModuleOp> findProgram(ModuleOp file) {
  auto &ops = file.getBody()->getOperations();
  auto program = llvm::hasSingleElement(ops)
                     ? dyn_cast<gpu::GPUModuleOp>(ops.front())
                     : nullptr;
  if (!program) {
    file.emitError() << "must hold one gpu.module and nothing else (required "
                        "by 'fastk.gpu_program')";
    return failure();
  }
  for (NamedAttribute attribute : file->getDiscardableAttrs())
    if (attribute.getName() != gpu::GPUDialect::getContainerModuleAttrName()) {
      file.emitError() << "has the attribute '" << attribute.getName().strref()
                       << "'; the module around a gpu.module has none "
                          "(required by 'fastk.gpu_program')";
      return failure();
    }
  return program;
}

/// Says what to do where the parser's own advice is for another tool.
static std::string explain(std::string message) {
  if (StringRef(message).contains("with an unregistered dialect"))
    return "an op of a dialect that programs may not use; docs/cuda.md lists "
           "the dialects";
  if (StringRef(message).contains("not found for custom op"))
    message += "; docs/cuda.md lists the dialects";
  return message;
}

FailureOr<DeviceProgram>
fastk::compileGPUProgram(Location loc, StringRef text, StringRef name,
                         const worker::LaunchPlan &plan,
                         const ProgramBuffers &buffers,
                         const CudaTarget &target) {
  if (text.size() > kMaxTextBytes) {
    emitError(loc) << name << ": has " << text.size() << " bytes; the limit is "
                   << kMaxTextBytes << " (required by 'fastk.gpu_program')";
    return failure();
  }
  // A context of its own: what other dialects could do is not known to it, and
  // what the text defines (resources, locations) stays in it.
  DialectRegistry registry;
  registerGPUProgramDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  FirstError error(&context, name, explain);
  auto compile = [&]() -> FailureOr<DeviceProgram> {
    llvm::SourceMgr manager;
    manager.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name),
                               SMLoc());
    OwningOpRef<ModuleOp> file =
        parseSourceFile<ModuleOp>(manager, ParserConfig(&context));
    if (!file)
      return failure();
    FailureOr<gpu::GPUModuleOp> program = findProgram(*file);
    if (failed(program))
      return failure();
    DialectRegistry codegen;
    registerHostCodegen(codegen);
    registerCudaCodegen(codegen);
    context.appendDialectRegistry(codegen);
    return compileGPUModule(*program, plan, buffers, target);
  };
  FailureOr<DeviceProgram> result = compile();
  if (succeeded(result))
    return result;
  InFlightDiagnostic diagnostic = emitError(loc);
  diagnostic << (error.place.empty() ? name.str() : error.place) << ": "
             << (error.text.empty() ? "does not compile" : error.text);
  if (!StringRef(error.text).contains("(required by '"))
    diagnostic << " (required by 'fastk.gpu_program')";
  return failure();
}
