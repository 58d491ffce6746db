//===- LowerPattern.cpp - A function on tensors to kernels ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/LowerPattern.h"
#include "Cuda/Kernels/DeviceKernels.h"
#include "Cuda/Model/OutlineScalars.h"
#include "Cuda/Rows/RowGroups.h"
#include "Cuda/Schedule/MappedKernel.h"
#include "Host/HostPipeline.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fastk;

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

FailureOr<LoweredPattern> fastk::lowerPattern(ModuleOp module,
                                              unsigned numInputs,
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
  return LoweredPattern{device, std::move(kernels.plan), choices.kernels()};
}
