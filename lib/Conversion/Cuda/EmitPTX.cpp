//===- EmitPTX.cpp - A gpu.module to PTX ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitPTX.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include <mutex>

using namespace mlir;
using namespace fastk;

/// The first PTX version that knows everything of sm_90a (CUDA 12.0).
static constexpr StringLiteral kPTXFeature = "+ptx80";

static LogicalResult lowerToNVVM(gpu::GPUModuleOp module) {
  PassManager passes(module.getContext(), gpu::GPUModuleOp::getOperationName());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createConvertComplexToStandardPass());
  passes.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.useVectorAlignment = true;
  passes.addPass(createConvertVectorToLLVMPass(vectors));
  ConvertGpuOpsToNVVMOpsOptions options;
  options.useBarePtrCallConv = true;
  passes.addPass(createConvertGpuOpsToNVVMOps(options));
  passes.addPass(createConvertNVVMToLLVMPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  return passes.run(module);
}

static std::unique_ptr<llvm::TargetMachine>
createMachine(const CudaTarget &target, std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.chip, kPTXFeature, options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

/// Dynamic shared memory begins behind the static one when it is external, and
/// on top of it when it is internal, as gpu.dynamic_shared_memory is lowered.
static void placeDynamicShared(llvm::Module &module) {
  for (llvm::GlobalVariable &global : module.globals()) {
    if (!global.getName().starts_with("__dynamic_shmem__"))
      continue;
    global.setInitializer(nullptr);
    global.setLinkage(llvm::GlobalValue::ExternalLinkage);
    global.setDSOLocal(false);
  }
}

/// Links the functions of libdevice that are called.
static LogicalResult linkLibdevice(Location loc, llvm::Module &module,
                                   const CudaTarget &target) {
  std::string missing;
  for (llvm::Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with("__nv_"))
      missing = function.getName().str();
  if (missing.empty())
    return success();
  if (target.libdevice.empty())
    return emitError(loc)
           << "needs " << missing
           << " of libdevice.10.bc, which was not found: run "
              "scripts/install-deps.sh --cuda, or set FASTK_CUDA_PATH to a "
              "CUDA of version 12.4 or later; docs/cuda.md says where it is "
              "looked for (required by 'fastk.libdevice')";
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> library =
      llvm::parseIRFile(target.libdevice, problem, module.getContext());
  if (!library)
    return emitError(loc) << target.libdevice
                          << " does not read as LLVM bitcode: "
                          << problem.getMessage().str();
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  bool failed = llvm::Linker::linkModules(
      module, std::move(library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &merged, const llvm::StringSet<> &taken) {
        llvm::internalizeModule(merged, [&](const llvm::GlobalValue &value) {
          return !value.hasName() || !taken.contains(value.getName());
        });
      });
  if (failed)
    return emitError(loc) << target.libdevice << " could not be linked";
  // Without it __nvvm_reflect("__CUDA_FTZ") stays; denormals are kept.
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", uint32_t(0));
  return success();
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

FailureOr<std::string> fastk::emitPTX(gpu::GPUModuleOp module,
                                      const CudaTarget &target) {
  Location loc = module.getLoc();
  if (failed(lowerToNVVM(module)))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "fastk");
  if (!llvmModule) {
    emitError(loc) << "kernels could not be translated to LLVM IR";
    return failure();
  }
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  if (!machine) {
    emitError(loc) << "this LLVM has no NVPTX backend: " << error;
    return failure();
  }
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  placeDynamicShared(*llvmModule);
  if (failed(linkLibdevice(loc, *llvmModule, target)))
    return failure();
  optimize(*llvmModule, *machine);
  SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile)) {
    emitError(loc) << "this LLVM cannot print PTX";
    return failure();
  }
  passes.run(*llvmModule);
  return std::string(text);
}
