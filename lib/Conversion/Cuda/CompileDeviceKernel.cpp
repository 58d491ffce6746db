//===- CompileDeviceKernel.cpp - One lowering to a GPU program ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Kernels/KernelChoices.h"
#include "Cuda/PTX/EmitPTX.h"
#include "Cuda/PassTarget.h"
#include "Cuda/Phases/KernelPhases.h"
#include "Host/HostPipeline.h"
#include "Schedule/ScheduleRules.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Target/DeviceDescription.h"
#include "fastk/Transforms/Passes.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fastk;

std::optional<CudaTarget> CudaTarget::parse(StringRef target) {
  std::optional<worker::PlanLimits> limits =
      planLimitsOf(target, memoryBytesOf(target.str()));
  if (!limits)
    return std::nullopt;
  CudaTarget result;
  result.chip = target.split(':').second.str();
  result.limits = *limits;
  result.libdevice = cuda::findLibdevice();
  return result;
}

FailureOr<CudaTarget> fastk::targetOfPass(ModuleOp module, StringRef target,
                                          StringRef pass) {
  if (std::optional<CudaTarget> device = CudaTarget::parse(target))
    return *device;
  return module.emitError()
         << "target '" << target
         << "' is no GPU that fastk knows: write cuda:sm_80 or later "
            "(required by '"
         << pass << "')";
}

static void loadDeviceDialects(MLIRContext *context) {
  loadHostDialects(context);
  context->loadDialect<gpu::GPUDialect>();
}

/// Whether a plan that a schedule led to keeps the rules of the target.
static LogicalResult checkPlan(LoweringOp lowering,
                               const worker::LaunchPlan &plan,
                               const CudaTarget &target) {
  FunctionType type = lowering.getWorkloadType();
  std::vector<std::string> problems =
      worker::verifyLaunchPlan(plan, bufferBytes(type.getInputs()),
                               bufferBytes(type.getResults()), target.limits);
  if (problems.empty())
    return success();
  return lowering.emitOpError()
         << "is lowered to a plan that breaks a rule of its target: "
         << problems.front() << " (required by 'fastk.schedule')";
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
  if (lowering.getLanguage() == Language::ptx)
    return compilePTXProgram(lowering.getLoc(), *lowering.getSource(),
                             *lowering.getFile(), *plan, target);
  FunctionType type = lowering.getWorkloadType();
  return compileGPUProgram(
      lowering.getLoc(), *lowering.getSource(), *lowering.getFile(), *plan,
      {bufferBytes(type.getInputs()), bufferBytes(type.getResults())}, target);
}

/// The pattern's function, of scalar ops that have a lowering.
static FailureOr<OwningOpRef<ModuleOp>> createLegalPattern(LoweringOp lowering,
                                                           KernelRole role) {
  if (role == KernelRole::Program)
    return createScheduledFunction(lowering);
  auto module = createPatternFunction(lowering, "pattern");
  if (failed(module) ||
      failed(legalizePattern(**module, role, /*hasComplexLibm=*/false)))
    return failure();
  return module;
}

FailureOr<DeviceProgram> fastk::compileDeviceKernel(LoweringOp lowering,
                                                    KernelRole role,
                                                    const CudaTarget &target,
                                                    std::string *kernels) {
  loadDeviceDialects(lowering.getContext());
  bool isSchedule = role == KernelRole::Program &&
                    lowering.getLanguage() == Language::schedule;
  if (role == KernelRole::Program && hasLaunchPlan(lowering.getLanguage()))
    return compileSource(lowering, target);
  if (role == KernelRole::Program && !isSchedule &&
      lowering.getLanguage() != Language::generic) {
    lowering.emitOpError() << "language '"
                           << stringifyLanguage(lowering.getLanguage())
                           << "' has no lowering for " << target.chip
                           << " (required by 'fastk.language')";
    return failure();
  }
  auto module = createLegalPattern(lowering, role);
  if (failed(module))
    return failure();
  auto func = *(*module)->getOps<func::FuncOp>().begin();
  if (isSchedule && failed(applySchedule(lowering, func)))
    return failure();
  FailureOr<LoweredPattern> lowered = lowerPattern(**module, target);
  if (failed(lowered) ||
      (isSchedule && failed(checkPlan(lowering, lowered->plan, target))))
    return failure();
  if (kernels)
    llvm::raw_string_ostream(*kernels) << lowered->device << "\n";
  FailureOr<std::string> ptx = emitPTX(lowered->device, target);
  if (failed(ptx))
    return failure();
  return DeviceProgram{DeviceCode::PTX, std::move(*ptx),
                       std::move(lowered->plan)};
}

FailureOr<std::vector<KernelDescription>>
fastk::planDeviceKernels(LoweringOp lowering, const CudaTarget &target,
                         const std::map<std::string, int64_t> &given) {
  loadDeviceDialects(lowering.getContext());
  KernelChoices choices(given);
  if (failed(choices.verify(lowering)))
    return failure();
  auto module = createLegalPattern(lowering, KernelRole::Program);
  if (failed(module))
    return failure();
  choices.write(*(*module)->getOps<func::FuncOp>().begin());
  if (failed(prepareKernels(**module)))
    return failure();
  FailureOr<func::FuncOp> func = findPreparedFunction(**module);
  if (failed(func))
    return failure();
  return chooseKernels(*func, target);
}
