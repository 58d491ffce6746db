//===- CompileDeviceKernel.cpp - One lowering to a GPU program ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../HostPipeline.h"
#include "DeviceKernels.h"
#include "EmitPTX.h"
#include "RowGroups.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fastk;

std::optional<CudaTarget> CudaTarget::parse(StringRef target) {
  std::optional<worker::PlanLimits> limits = planLimitsOf(target);
  if (!limits)
    return std::nullopt;
  CudaTarget result;
  result.chip = target.split(':').second.str();
  result.limits = *limits;
  result.libdevice = cuda::findLibdevice();
  return result;
}

static LogicalResult generalize(ModuleOp module) {
  PassManager passes(module.getContext());
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createLinalgGeneralizeNamedOpsPass());
  functions.addPass(createLinalgInlineScalarOperandsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  return passes.run(module);
}

/// One op per result instead of one per step: what lies between stays in
/// registers.
static LogicalResult fuseElementwise(ModuleOp module) {
  PassManager passes(module.getContext());
  // Calls name functions of another module.
  passes.enableVerifier(false);
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createLinalgElementwiseOpFusionPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  return passes.run(module);
}

/// The compiler's own lowering of a function on tensors.
static FailureOr<DeviceProgram>
lowerPattern(ModuleOp module, unsigned numInputs, const CudaTarget &target) {
  if (failed(generalize(module)))
    return failure();
  auto func = *module.getOps<func::FuncOp>().begin();
  OwningOpRef<ModuleOp> groups = ModuleOp::create(module.getLoc());
  inlineCheapBroadcasts(func);
  outlineRowGroups(func, *groups);
  if (failed(fuseElementwise(module)) || failed(bufferizeFunctions(module)) ||
      failed(planBuffers(func)))
    return failure();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto device = gpu::GPUModuleOp::create(builder, module.getLoc(), "fastk");
  DeviceKernels kernels(device, func, numInputs, *groups, target.limits);
  if (failed(kernels.run()))
    return failure();
  FailureOr<std::string> ptx = emitPTX(device, target);
  if (failed(ptx))
    return failure();
  return DeviceProgram{DeviceCode::PTX, std::move(*ptx),
                       std::move(kernels.plan)};
}

/// A program that comes with its plan.
static FailureOr<DeviceProgram> compileSource(LoweringOp lowering,
                                              const CudaTarget &target) {
  if (!lowering.getSource()) {
    lowering.emitOpError() << "has no source: read " << *lowering.getFile()
                           << " into it first (required by 'fastk.language')";
    return failure();
  }
  FailureOr<worker::LaunchPlan> plan = readPlan(lowering);
  if (failed(plan))
    return failure();
  if (lowering.getLanguage() == Language::cuda)
    return DeviceProgram{DeviceCode::CudaC, lowering.getSource()->str(),
                         std::move(*plan)};
  FunctionType type = lowering.getWorkloadType();
  return compileGPUProgram(
      lowering.getLoc(), *lowering.getSource(), *lowering.getFile(), *plan,
      {bufferBytes(type.getInputs()), bufferBytes(type.getResults())}, target);
}

FailureOr<DeviceProgram> fastk::compileDeviceKernel(LoweringOp lowering,
                                                    KernelRole role,
                                                    const CudaTarget &target) {
  loadHostDialects(lowering.getContext());
  lowering.getContext()->loadDialect<gpu::GPUDialect>();
  if (role == KernelRole::Program &&
      llvm::is_contained({Language::cuda, Language::gpu},
                         lowering.getLanguage()))
    return compileSource(lowering, target);
  if (role == KernelRole::Program &&
      lowering.getLanguage() != Language::generic) {
    lowering.emitOpError() << "language '"
                           << stringifyLanguage(lowering.getLanguage())
                           << "' has no lowering for " << target.chip
                           << " (required by 'fastk.language')";
    return failure();
  }
  auto module = createPatternFunction(lowering, "pattern");
  if (failed(module))
    return failure();
  if (role == KernelRole::Oracle) {
    PassManager passes(lowering.getContext());
    passes.addNestedPass<func::FuncOp>(createFastkPromoteToF64Pass());
    if (failed(passes.run(**module)))
      return failure();
  }
  return lowerPattern(**module, lowering.getWorkloadType().getNumInputs(),
                      target);
}
