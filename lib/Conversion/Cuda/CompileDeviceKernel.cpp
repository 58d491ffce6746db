//===- CompileDeviceKernel.cpp - One lowering to a GPU program ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Kernels/DeviceKernels.h"
#include "Cuda/Model/OutlineScalars.h"
#include "Cuda/PTX/EmitPTX.h"
#include "Cuda/Rows/RowGroups.h"
#include "Cuda/Schedule/MappedKernel.h"
#include "Host/HostPipeline.h"
#include "Schedule/ScheduleRules.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Target/DeviceDescription.h"
#include "fastk/Transforms/Passes.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

static void loadDeviceDialects(MLIRContext *context) {
  loadHostDialects(context);
  context->loadDialect<gpu::GPUDialect>();
}

/// Constants in another type are constants, also where they are rounded: MLIR
/// folds only those that keep their value.
static void foldRoundings(ModuleOp module) {
  SmallVector<arith::TruncFOp> ops;
  module.walk([&](arith::TruncFOp op) { ops.push_back(op); });
  IRRewriter rewriter(module.getContext());
  for (arith::TruncFOp op : ops) {
    FloatAttr value;
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type || op.getRoundingmode() ||
        !matchPattern(op.getIn(), m_Constant(&value)))
      continue;
    APFloat number = value.getValue();
    bool isInexact;
    number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &isInexact);
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, rewriter.getFloatAttr(type, number));
  }
}

static LogicalResult generalize(ModuleOp module) {
  foldRoundings(module);
  PassManager passes(module.getContext());
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createLinalgGeneralizeNamedOpsPass());
  functions.addPass(createLinalgInlineScalarOperandsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  return runPasses(passes, module);
}

/// One op per result instead of one per step: what lies between stays in
/// registers.
static LogicalResult fuseElementwise(ModuleOp module) {
  // MLIR keeps the result of a producer that reads it, also where it varies
  // along a loop that the consumer reduces: no point could own it.
  RewritePatternSet patterns(module.getContext());
  linalg::populateMoveInitOperandsToInputPattern(patterns);
  if (failed(applyPatternsGreedily(module, std::move(patterns))))
    return failure();
  PassManager passes(module.getContext());
  // Calls name functions of another module.
  passes.enableVerifier(false);
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createLinalgElementwiseOpFusionPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  return runPasses(passes, module);
}

/// Lets the hardware approximate what it can in f32, if that was chosen.
static void approximate(gpu::GPUModuleOp device, KernelChoices &choices) {
  SmallVector<Operation *> ops;
  device.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()) || isa<arith::DivFOp>(op))
      if (isa<arith::ArithFastMathInterface>(op) &&
          getElementTypeOrSelf(op->getResult(0).getType()).isF32())
        ops.push_back(op);
  });
  if (ops.empty() || !choices.decide("approximate", 0))
    return;
  using arith::FastMathFlags;
  auto flags = arith::FastMathFlagsAttr::get(
      device.getContext(),
      FastMathFlags::afn | FastMathFlags::arcp | FastMathFlags::contract);
  for (Operation *op : ops)
    op->setAttr(cast<arith::ArithFastMathInterface>(op).getFastMathAttrName(),
                flags);
}

namespace {
/// What a function on tensors has become.
struct Lowered {
  gpu::GPUModuleOp device;
  worker::LaunchPlan plan;
  std::vector<KernelDescription> kernels;
};
} // namespace

/// The compiler's own lowering of a function on tensors, and of what a schedule
/// has left of one. The kernels are added to `module`.
static FailureOr<Lowered> lowerPattern(ModuleOp module, unsigned numInputs,
                                       const CudaTarget &target,
                                       KernelChoices &choices) {
  if (failed(generalize(module)))
    return failure();
  auto func = *module.getOps<func::FuncOp>().begin();
  OwningOpRef<ModuleOp> groups = ModuleOp::create(module.getLoc());
  inlineCheapBroadcasts(func);
  outlineRowGroups(func, *groups);
  if (failed(fuseElementwise(module)) || failed(bufferizeFunctions(module)))
    return failure();
  if (!func.getOps<scf::ForallOp>().empty()) {
    // Copies of a buffer to itself, which are seen only now.
    PassManager passes(module.getContext());
    passes.enableVerifier(false);
    passes.addNestedPass<func::FuncOp>(createCanonicalizerPass());
    if (failed(runPasses(passes, module)))
      return failure();
    keepMappedBuffers(func);
  } else if (failed(outlineScalars(func))) {
    return failure();
  }
  if (failed(planBuffers(func)))
    return failure();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto device = gpu::GPUModuleOp::create(builder, module.getLoc(), "fastk");
  DeviceKernels kernels(device, func, numInputs, *groups, target.limits,
                        choices);
  if (failed(kernels.run()))
    return failure();
  approximate(device, choices);
  if (failed(choices.checkAllUsed(func)))
    return failure();
  return Lowered{device, std::move(kernels.plan), choices.kernels()};
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
  FunctionType type = lowering.getWorkloadType();
  return compileGPUProgram(
      lowering.getLoc(), *lowering.getSource(), *lowering.getFile(), *plan,
      {bufferBytes(type.getInputs()), bufferBytes(type.getResults())}, target);
}

/// The pattern's function, of scalar ops that have a lowering.
static FailureOr<OwningOpRef<ModuleOp>> createLegalPattern(LoweringOp lowering,
                                                           KernelRole role) {
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
  if (role == KernelRole::Program &&
      llvm::is_contained({Language::cuda, Language::gpu},
                         lowering.getLanguage()))
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
  FailureOr<KernelChoices> choices = KernelChoices::take(func);
  if (failed(choices))
    return failure();
  FailureOr<Lowered> lowered = lowerPattern(
      **module, lowering.getWorkloadType().getNumInputs(), target, *choices);
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
fastk::describeDeviceKernels(LoweringOp lowering, const CudaTarget &target,
                             const std::map<std::string, int64_t> &given) {
  loadDeviceDialects(lowering.getContext());
  KernelChoices choices(given);
  if (failed(choices.verify(lowering)))
    return failure();
  auto module = createLegalPattern(lowering, KernelRole::Program);
  if (failed(module))
    return failure();
  FailureOr<Lowered> lowered = lowerPattern(
      **module, lowering.getWorkloadType().getNumInputs(), target, choices);
  if (failed(lowered))
    return failure();
  return std::move(lowered->kernels);
}
