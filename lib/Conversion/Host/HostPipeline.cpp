//===- HostPipeline.cpp - Memrefs to the LLVM dialect ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostPipeline.h"
#include "fastk/Conversion/Passes.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fastk;

/// Linalg to loops, and which of them run on threads.
static void addLoops(OpPassManager &passes, const HostPipelineOptions &options,
                     bool isModel) {
  passes.addPass(createFastkLowerTMTensorPass());
  passes.addNestedPass<func::FuncOp>(createFastkCopiesToLinalgPass());
  passes.addPass(createFastkLinalgToLoopsPass(
      {options.vectorBytes, options.approximate, options.threads}));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  OpPassManager &loops = passes.nest<func::FuncOp>();
  loops.addPass(createFastkDecideParallelismPass(
      {options.threads, /*atRunTime=*/isModel}));
  // Before the plan: an allocation in a serial loop moves out of it, but not
  // out of the parallel body, whose iterations need one each.
  loops.addPass(bufferization::createBufferLoopHoistingPass());
}

/// What is left to the LLVM dialect, when the buffers are planned.
static void addLLVM(OpPassManager &passes, const HostPipelineOptions &options,
                    bool isModel) {
  passes.addPass(createFastkGuardDivisionsPass());
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(memref::createFoldMemRefAliasOpsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createConvertVectorToSCFPass(
      VectorTransferToSCFOptions().enableFullUnroll()));
  functions.addPass(createFastkLowerVectorsPass());
  if (options.approximate)
    functions.addPass(createFastkApproximateMathPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createConvertSCFToOpenMPPass());
  passes.addPass(createFastkPlaceThreadBuffersPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createSCFToControlFlowPass());
  if (isModel)
    passes.addPass(createFastkLowerAssertsPass());
  // The oracle's complex functions are the library's.
  if (!options.approximate)
    passes.addPass(createConvertComplexToLibm());
  passes.addPass(createConvertComplexToStandardPass());
  passes.addPass(createFastkCallExactFunctionsPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createConvertComplexToLLVMPass());
  FinalizeMemRefToLLVMConversionPassOptions memrefs;
  memrefs.useAlignedAlloc = true;
  passes.addPass(createFinalizeMemRefToLLVMConversionPass(memrefs));
  ConvertFuncToLLVMPassOptions functionsToLLVM;
  functionsToLLVM.useBarePtrCallConv = true;
  passes.addPass(createConvertFuncToLLVMPass(functionsToLLVM));
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertOpenMPToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void fastk::buildKernelToLLVMPipeline(OpPassManager &passes,
                                      const HostPipelineOptions &options) {
  addLoops(passes, options, /*isModel=*/false);
  passes.addNestedPass<func::FuncOp>(createFastkPlanBuffersPass());
  addLLVM(passes, options, /*isModel=*/false);
}

void fastk::buildModelToLLVMPipeline(OpPassManager &passes,
                                     const HostPipelineOptions &options) {
  addLoops(passes, options, /*isModel=*/true);
  passes.addPass(createFastkPlanModelBuffersPass());
  addLLVM(passes, options, /*isModel=*/true);
}

void fastk::registerConversionPipelines() {
  PassPipelineRegistration<>(
      "fastk-bufferize-functions",
      "Functions on tensors to functions on memrefs, results as arguments",
      buildBufferizePipeline);
  PassPipelineRegistration<HostPipelineOptions>(
      "fastk-kernel-to-llvm",
      "A bufferized kernel for the host to the LLVM dialect",
      buildKernelToLLVMPipeline);
  PassPipelineRegistration<HostPipelineOptions>(
      "fastk-model-to-llvm",
      "The bufferized functions of a model for the host to the LLVM dialect",
      buildModelToLLVMPipeline);
  PassPipelineRegistration<GPUPipelineOptions>(
      "fastk-lower-to-gpu",
      "A function on tensors to GPU kernels and a plan that launches them",
      buildLowerToGPUPipeline);
}

LogicalResult fastk::lowerToLLVMDialect(ModuleOp module,
                                        const HostTarget &target,
                                        bool approximate, bool isModel) {
  HostPipelineOptions options;
  options.vectorBytes = target.vectorBytes;
  options.threads = target.hasThreads;
  options.approximate = approximate;
  PassManager passes(module.getContext());
  (isModel ? buildModelToLLVMPipeline : buildKernelToLLVMPipeline)(passes,
                                                                   options);
  return runPasses(passes, module);
}
