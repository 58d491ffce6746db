//===- BufferizeFunctions.cpp - Functions on tensors to memrefs -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "Host/Model/DynamicInterface.h"
#include "fastk/Conversion/Passes.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fastk;

/// Follows `value` through reshapes to the allocation behind it and makes that
/// allocation live in `out`. False when something else stands in between.
static bool allocateInto(Value value, BlockArgument out, OpBuilder &builder) {
  SmallVector<Operation *> reshapes;
  while (Operation *op = value.getDefiningOp()) {
    if (isa<memref::ExpandShapeOp, memref::CollapseShapeOp>(op)) {
      if (!cast<MemRefType>(op->getOperand(0).getType())
               .getLayout()
               .isIdentity())
        return false;
      reshapes.push_back(op);
      value = op->getOperand(0);
      continue;
    }
    auto alloc = dyn_cast<memref::AllocOp>(op);
    if (!alloc || !alloc.getDynamicSizes().empty() ||
        alloc->getBlock() != out.getOwner() ||
        !alloc.getType().getLayout().isIdentity())
      return false;
    // Undo the reshapes on the way from the result to the allocation.
    builder.setInsertionPointToStart(out.getOwner());
    Value current = out;
    for (Operation *reshape : reshapes) {
      Location loc = reshape->getLoc();
      if (auto expand = dyn_cast<memref::ExpandShapeOp>(reshape))
        current = memref::CollapseShapeOp::create(
            builder, loc, cast<MemRefType>(expand.getSrc().getType()), current,
            expand.getReassociationIndices());
      else
        current = memref::ExpandShapeOp::create(
            builder, loc,
            cast<MemRefType>(reshape->getOperand(0).getType()).getShape(),
            current,
            cast<memref::CollapseShapeOp>(reshape).getReassociationIndices());
    }
    alloc.replaceAllUsesWith(current);
    alloc.erase();
    return true;
  }
  return false;
}

/// Turns the results of `func` into trailing arguments. Upstream's pass copies
/// results that are reshaped, which most results of a model are.
static LogicalResult moveResultsToArguments(func::FuncOp func) {
  Block &entry = func.getBody().front();
  auto ret = cast<func::ReturnOp>(entry.getTerminator());
  OpBuilder builder(func);
  for (unsigned i = 0, e = ret.getNumOperands(); i < e; ++i) {
    // Read anew: an earlier result may have moved this one.
    Value result = ret.getOperand(i);
    auto type = dyn_cast<MemRefType>(result.getType());
    if (!type)
      return func.emitError()
             << "result of type " << result.getType()
             << " is no ranked tensor; the host's calling convention has "
                "pointers only (required by 'fastk.kernel_abi')";
    if (!type.hasStaticShape()) {
      moveDynamicResult(func, ret, result);
      continue;
    }
    auto plain = MemRefType::get(type.getShape(), type.getElementType());
    BlockArgument out = entry.addArgument(plain, result.getLoc());
    if (type.getLayout().isIdentity() && allocateInto(result, out, builder))
      continue;
    builder.setInsertionPoint(ret);
    memref::CopyOp::create(builder, ret.getLoc(), result, out);
  }
  ret->setOperands({});
  func.setFunctionType(
      builder.getFunctionType(entry.getArgumentTypes(), TypeRange{}));
  // The attributes spoke of tensors.
  func.removeArgAttrsAttr();
  func.removeResAttrsAttr();
  return success();
}

/// Functions on tensors to functions on memrefs.
static LogicalResult bufferize(ModuleOp module) {
  // Inputs belong to the caller: never write them.
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isDeclaration())
      for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
        func.setArgAttr(i,
                        bufferization::BufferizationDialect::kWritableAttrName,
                        BoolAttr::get(module.getContext(), false));
  bufferization::OneShotBufferizationOptions options;
  options.bufferizeFunctionBoundaries = true;
  // A loop may carry a buffer that its body makes.
  options.allowReturnAllocsFromLoops = true;
  options.setFunctionBoundaryTypeConversion(
      bufferization::LayoutMapOption::IdentityLayoutMap);
  options.opFilter.denyOperation([](Operation *op) {
    return isa<LoweringOp>(op) || op->getParentOfType<LoweringOp>();
  });
  bufferization::BufferizationState state;
  if (failed(bufferization::runOneShotModuleBufferize(module, options, state)))
    return failure();
  bufferization::removeBufferizationAttributesInModule(module);
  return success();
}

static LogicalResult moveResultsToArguments(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isDeclaration())
      continue;
    if (failed(moveResultsToArguments(func)) || failed(dropEmptyBuffers(func)))
      return failure();
    splitDynamicArguments(func);
  }
  return success();
}

namespace fastk {
#define GEN_PASS_DEF_FASTKBUFFERIZEPASS
#define GEN_PASS_DEF_FASTKRESULTSTOARGUMENTSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkBufferizePass : impl::FastkBufferizePassBase<FastkBufferizePass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(bufferize(getOperation())))
      signalPassFailure();
  }
};

struct FastkResultsToArgumentsPass
    : impl::FastkResultsToArgumentsPassBase<FastkResultsToArgumentsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(moveResultsToArguments(getOperation())))
      signalPassFailure();
  }
};
} // namespace
} // namespace fastk

void fastk::buildBufferizePipeline(OpPassManager &passes) {
  OpPassManager &before = passes.nest<func::FuncOp>();
  before.addPass(createFastkDecomposeTensorOpsPass());
  before.addPass(bufferization::createEmptyTensorEliminationPass());
  passes.addPass(createFastkBufferizePass());
  OpPassManager &after = passes.nest<func::FuncOp>();
  after.addPass(createCanonicalizerPass());
  after.addPass(createCSEPass());
  passes.addPass(createFastkResultsToArgumentsPass());
  passes.addPass(createFastkFillSplatsPass());
}

LogicalResult fastk::bufferizeFunctions(ModuleOp module) {
  PassManager passes(module.getContext());
  // Calls may stand without the lowerings they name.
  passes.enableVerifier(false);
  buildBufferizePipeline(passes);
  return runPasses(passes, module);
}
