//===- LowerToGPU.cpp - All phases to kernels -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelPhases.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace fastk;

FailureOr<LoweredPattern> fastk::lowerPattern(ModuleOp module,
                                              const CudaTarget &target) {
  if (failed(prepareKernels(module)))
    return failure();
  FailureOr<func::FuncOp> func = findPreparedFunction(module);
  if (failed(func) || failed(chooseKernels(*func, target)))
    return failure();
  return emitKernels(*func, target);
}

void fastk::buildLowerToGPUPipeline(OpPassManager &passes,
                                    const GPUPipelineOptions &options) {
  passes.addPass(createFastkPrepareKernelsPass());
  passes.addPass(createFastkChooseKernelsPass({options.target}));
  passes.addPass(createFastkEmitKernelsPass({options.target}));
}
