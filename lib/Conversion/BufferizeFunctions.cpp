//===- BufferizeFunctions.cpp - Functions on tensors to memrefs -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DynamicInterface.h"
#include "HostPipeline.h"
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

/// Concatenates \p parts into a buffer of their own.
static Value concatIntoBuffer(OpBuilder &builder, Location loc, int64_t dim,
                              ValueRange parts) {
  RankedTensorType type =
      tensor::ConcatOp::inferResultType(dim, parts.getTypes());
  Value result = bufferization::AllocTensorOp::create(builder, loc, type,
                                                      /*dynamicSizes=*/{});
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  int64_t offset = 0;
  for (Value part : parts) {
    auto partType = cast<RankedTensorType>(part.getType());
    offsets[dim] = builder.getIndexAttr(offset);
    result = tensor::InsertSliceOp::create(
        builder, loc, part, result, offsets,
        getAsIndexOpFoldResult(builder.getContext(), partType.getShape()),
        strides);
    offset += partType.getDimSize(dim);
  }
  return result;
}

/// Splits a concatenation of very many tensors, as an unrolled recurrence
/// makes: One-Shot Analysis looks at each pair of writes to a buffer, and that
/// once a write. Each group is copied once more for it.
static void splitConcat(tensor::ConcatOp op) {
  constexpr size_t mostParts = 64, groupParts = 32;
  auto isStatic = [](Type type) {
    return cast<RankedTensorType>(type).hasStaticShape();
  };
  if (op.getInputs().size() <= mostParts ||
      !llvm::all_of(op->getOperandTypes(), isStatic))
    return;
  OpBuilder builder(op);
  auto dim = int64_t(op.getDim());
  SmallVector<Value> parts(op.getInputs());
  while (parts.size() > mostParts) {
    SmallVector<Value> groups;
    for (size_t i = 0; i < parts.size(); i += groupParts)
      groups.push_back(concatIntoBuffer(
          builder, op.getLoc(), dim,
          ValueRange(parts).slice(i, std::min(groupParts, parts.size() - i))));
    parts = std::move(groups);
  }
  op.getInputsMutable().assign(parts);
  // Readers need not be compared with each of these writes: for them it is a
  // buffer that is there.
  builder.setInsertionPointAfter(op);
  RankedTensorType type = op.getResultType();
  auto buffer = bufferization::ToBufferOp::create(
      builder, op.getLoc(),
      MemRefType::get(type.getShape(), type.getElementType()), op.getResult(),
      /*read_only=*/true);
  Value written = bufferization::ToTensorOp::create(builder, op.getLoc(), type,
                                                    buffer, /*restrict=*/true);
  op.getResult().replaceAllUsesExcept(written, buffer);
}

LogicalResult fastk::bufferizeFunctions(ModuleOp module) {
  MLIRContext *context = module.getContext();
  // Inputs belong to the caller: never write them.
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isDeclaration())
      for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
        func.setArgAttr(i,
                        bufferization::BufferizationDialect::kWritableAttrName,
                        BoolAttr::get(context, false));

  module.walk(splitConcat);
  if (failed(decomposeTensorOps(module)))
    return failure();

  {
    // Calls stand without the lowerings they name for a while.
    PassManager passes(context);
    passes.enableVerifier(false);
    passes.nest<func::FuncOp>().addPass(
        bufferization::createEmptyTensorEliminationPass());
    if (failed(runPasses(passes, module)))
      return failure();
  }

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

  PassManager passes(context);
  passes.enableVerifier(false);
  passes.nest<func::FuncOp>().addPass(createCanonicalizerPass());
  passes.nest<func::FuncOp>().addPass(createCSEPass());
  if (failed(runPasses(passes, module)))
    return failure();
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isDeclaration())
      continue;
    if (failed(moveResultsToArguments(func)) || failed(dropEmptyBuffers(func)))
      return failure();
    splitDynamicArguments(func);
  }
  fillSplats(module);
  return success();
}
