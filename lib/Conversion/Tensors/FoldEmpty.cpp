//===- FoldEmpty.cpp - Loops that never run -------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum over nothing is what it starts from, and a tensor without elements
// needs no computing. Done before anything else, so that no other part has to
// think of loops of length zero.
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fastk;

static bool isEmpty(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasStaticShape() &&
         llvm::is_contained(shaped.getShape(), 0);
}

static void foldEmpty(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  for (auto func : module.getOps<func::FuncOp>())
    for (BlockArgument argument : func.getArguments())
      if (isEmpty(argument.getType()) && !argument.use_empty()) {
        rewriter.setInsertionPointToStart(&func.getBody().front());
        auto type = cast<RankedTensorType>(argument.getType());
        auto empty = tensor::EmptyOp::create(
            rewriter, argument.getLoc(), type.getShape(), type.getElementType(),
            type.getEncoding());
        rewriter.replaceAllUsesWith(argument, empty.getResult());
      }
  // Tensors are the affair of a function's own block: bodies hold elements.
  SmallVector<Operation *> ops;
  for (auto func : module.getOps<func::FuncOp>())
    for (Block &block : func.getBody())
      for (Operation &op : block.without_terminator())
        if (op.getNumResults() && !isa<tensor::EmptyOp>(op))
          ops.push_back(&op);
  // Users first: what only an op without elements needed goes with it.
  for (Operation *op : llvm::reverse(ops)) {
    if (isOpTriviallyDead(op)) {
      rewriter.eraseOp(op);
      continue;
    }
    rewriter.setInsertionPoint(op);
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      if (linalgOp.hasPureTensorSemantics() &&
          llvm::is_contained(linalgOp.getStaticLoopRanges(), 0) &&
          !llvm::all_of(op->getResultTypes(), isEmpty)) {
        rewriter.replaceOp(op, linalgOp.getDpsInits());
        continue;
      }
    for (OpResult result : op->getResults())
      if (isEmpty(result.getType()) && !result.use_empty()) {
        auto type = cast<RankedTensorType>(result.getType());
        if (type.hasStaticShape())
          rewriter.replaceAllUsesWith(
              result, tensor::EmptyOp::create(
                          rewriter, op->getLoc(), type.getShape(),
                          type.getElementType(), type.getEncoding()));
      }
    if (isOpTriviallyDead(op))
      rewriter.eraseOp(op);
  }
}

LogicalResult fastk::dropEmptyBuffers(func::FuncOp func) {
  // A pointer that nobody follows has a type that the calling convention knows.
  auto standIn = [](Type type) {
    return MemRefType::get({1}, cast<MemRefType>(type).getElementType());
  };
  SmallVector<Operation *> copies;
  func.walk([&](memref::CopyOp op) {
    if (isEmpty(op.getSource().getType()))
      copies.push_back(op);
  });
  for (Operation *op : copies)
    op->erase();
  OpBuilder builder(func);
  func.walk([&](CallOp call) {
    for (OpOperand &operand : call->getOpOperands())
      if (isEmpty(operand.get().getType())) {
        builder.setInsertionPoint(call);
        operand.set(memref::AllocOp::create(builder, call.getLoc(),
                                            standIn(operand.get().getType())));
      }
  });
  // Users first.
  SmallVector<Operation *> dead;
  func.walk([&](Operation *op) {
    if (isa<memref::AllocOp>(op) || isMemoryEffectFree(op))
      dead.push_back(op);
  });
  for (Operation *op : llvm::reverse(dead))
    if (op->use_empty() && op->getNumResults() == 1 && !op->getNumRegions() &&
        isEmpty(op->getResult(0).getType()))
      op->erase();
  for (BlockArgument argument : func.getArguments()) {
    if (!isEmpty(argument.getType()))
      continue;
    if (!argument.use_empty())
      return func.emitError()
             << "does something with " << argument.getType()
             << ", which has no elements; fastk compiles only what it can "
                "leave out of that (required by 'fastk.empty_tensor')";
    argument.setType(standIn(argument.getType()));
  }
  func.setFunctionType(FunctionType::get(func.getContext(),
                                         func.front().getArgumentTypes(),
                                         func.getResultTypes()));
  return success();
}

namespace fastk {
#define GEN_PASS_DEF_FASTKFOLDEMPTYPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkFoldEmptyPass : impl::FastkFoldEmptyPassBase<FastkFoldEmptyPass> {
  using Base::Base;
  void runOnOperation() override { foldEmpty(getOperation()); }
};
} // namespace
} // namespace fastk
