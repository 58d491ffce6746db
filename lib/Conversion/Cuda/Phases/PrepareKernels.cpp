//===- PrepareKernels.cpp - Tensors to what kernels are made of ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Model/OutlineScalars.h"
#include "Cuda/Rows/RowGroups.h"
#include "Cuda/Schedule/MappedKernel.h"
#include "Cuda/TMTensor/LowerTMTensorForDevice.h"
#include "Host/HostPipeline.h"
#include "KernelPhases.h"
#include "fastk/Conversion/Passes.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
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

LogicalResult fastk::prepareKernels(ModuleOp module) {
  auto func = *module.getOps<func::FuncOp>().begin();
  unsigned numInputs = func.getNumArguments();
  if (failed(generalize(module)))
    return failure();
  // Beside the function only when it is done: groups stay on tensors.
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
  } else if (failed(lowerTMTensorForDevice(func)) ||
             failed(outlineScalars(func))) {
    return failure();
  }
  if (failed(planBuffers(func)))
    return failure();
  func->setAttr(kInputsAttr, Builder(func).getI64IntegerAttr(numInputs));
  Block::OpListType &ops = module.getBody()->getOperations();
  ops.splice(ops.end(), groups->getBody()->getOperations());
  return success();
}

namespace fastk {
#define GEN_PASS_DEF_FASTKPREPAREKERNELSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkPrepareKernelsPass
    : impl::FastkPrepareKernelsPassBase<FastkPrepareKernelsPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerHostDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
    func::FuncOp func;
    if (llvm::hasSingleElement(module.getOps<func::FuncOp>()))
      func = *module.getOps<func::FuncOp>().begin();
    if (func && !func.isDeclaration() &&
        llvm::all_of(func.getArgumentTypes(), isTensor) &&
        llvm::all_of(func.getResultTypes(), isTensor)) {
      if (failed(prepareKernels(module)))
        signalPassFailure();
      return;
    }
    module.emitError()
        << "is not one function on tensors: fastk-extract-kernel makes one "
           "of a lowering (required by 'fastk-lower-to-gpu')";
    signalPassFailure();
  }
};
} // namespace
} // namespace fastk
