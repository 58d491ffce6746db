//===- Emit.cpp - What becomes of an applied model ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/Emit.h"
#include "OutputText.h"
#include "fastk/Conversion/DeviceModel.h"
#include "fastk/Conversion/ModelHeader.h"
#include "fastk/Conversion/WriteFile.h"
#include "fastk/Driver/Compile.h"
#include "fastk/Driver/ModelDiagnostics.h"
#include "fastk/Driver/ToldError.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Transforms/FileOf.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fastk;

static llvm::Error emitMLIR(ModuleOp module,
                            const std::optional<CudaTarget> &device,
                            StringRef output) {
  if (failed(inlineWorkloads(module)))
    return toldError();
  if (device)
    embedCode(module, *device);
  TimingScope step = timeStep("Output");
  return writeOutputText(output, [&](llvm::raw_ostream &os) {
    module->print(os, OpPrintingFlags());
    os << "\n";
  });
}

namespace {
/// A model as code of the host, and what it is linked with.
struct CompiledModel {
  std::unique_ptr<llvm::Module> code;
  std::vector<std::string> libraries;
};
} // namespace

/// Without a `device` the code is all of the model; with one it calls what
/// runs there.
static FailureOr<CompiledModel>
compile(ModuleOp module, llvm::LLVMContext &context, const HostTarget &target,
        const std::optional<CudaTarget> &device, const EmitOptions &options) {
  CompiledModel compiled;
  if (!device) {
    compiled.libraries = hostLibraries();
    auto code = compileModel(module, context, target, options.role);
    if (failed(code))
      return failure();
    compiled.code = std::move(*code);
    return compiled;
  }
  if (options.kind == EmitKind::SharedLibrary) {
    FailureOr<std::vector<std::string>> runtime =
        findDeviceRuntime(fileOf(module));
    if (failed(runtime))
      return failure();
    compiled.libraries = std::move(*runtime);
  }
  FailureOr<DeviceModel> model =
      compileDeviceModel(module, *device, options.role);
  if (failed(model))
    return failure();
  compiled.code = emitDeviceModel(*model, context, target);
  return compiled;
}

/// A library or an object and its header, both or neither.
static llvm::Error emitBinary(Location loc, const CompiledModel &compiled,
                              const HostTarget &target,
                              const EmitOptions &options) {
  llvm::Module &code = *compiled.code;
  FileBeside header(options.header);
  auto cannotWrite = [&](std::error_code ec) {
    return fileError(options.header, "write", ec.value());
  };
  if (!options.header.empty()) {
    std::string text =
        emitCHeader(code, llvm::sys::path::filename(options.header));
    if (std::error_code ec = writeFileAtomically(
            header.name(), [&](llvm::raw_ostream &os) { os << text; }))
      return cannotWrite(ec);
  }
  bool isWritten =
      options.kind == EmitKind::SharedLibrary
          ? succeeded(emitSharedLibrary(loc, code, target, options.output,
                                        compiled.libraries, options.shownAs))
          : succeeded(optimizeModule(code, target)) &&
                succeeded(emitObject(loc, code, target, options.output));
  if (!isWritten)
    return toldError();
  if (options.header.empty())
    return llvm::Error::success();
  if (std::error_code ec = header.keep())
    return cannotWrite(ec);
  return llvm::Error::success();
}

static llvm::Error emitPlan(ModuleOp module, const CudaTarget &device,
                            const EmitOptions &options) {
  FailureOr<DeviceModel> model =
      compileDeviceModel(module, device, options.role);
  if (failed(model))
    return toldError();
  TimingScope step = timeStep("Output");
  return writeOutputText(
      options.output, [&](llvm::raw_ostream &os) { os << model->planFile(); });
}

llvm::Error fastk::emitModel(ModuleOp module, StringRef targetName,
                             const EmitOptions &options) {
  std::optional<CudaTarget> device = CudaTarget::parse(targetName);
  if (options.kind == EmitKind::MLIR)
    return emitMLIR(module, device, options.output);
  auto isEntry = [](func::FuncOp func) { return func.isPublic(); };
  if (llvm::none_of(module.getOps<func::FuncOp>(), isEntry)) {
    emitError(module.getLoc())
        << "the module has no public func.func, so a compiled model would have "
           "nothing to call: give the function that is the model no 'private'";
    return toldError();
  }
  if (failed(lowerWorkloads(module, targetName)))
    return toldError();
  if (options.kind == EmitKind::Plan)
    return emitPlan(module, *device, options);
  llvm::LLVMContext context;
  HostTarget target = device ? HostTarget::baseline() : HostTarget::detect();
  FailureOr<CompiledModel> compiled =
      compile(module, context, target, device, options);
  if (failed(compiled))
    return toldError();
  TimingScope step = timeStep("LLVM and output");
  if (hasHeader(options.kind))
    return emitBinary(fileOf(module), *compiled, target, options);
  if (failed(optimizeModule(*compiled->code, target)))
    return toldError();
  return writeOutputText(options.output, [&](llvm::raw_ostream &os) {
    os << emitLLVMText(*compiled->code);
  });
}
