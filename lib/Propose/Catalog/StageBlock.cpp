//===- StageBlock.cpp - A stage as a workload of its own ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageBlock.h"

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fastk;
using fastk::catalog::StageBlock;

StageBlock::StageBlock(Value root, llvm::function_ref<bool(Value)> isOperand)
    : builder(root.getContext()) {
  builder.setInsertionPointToEnd(&block);
  copy(root, isOperand);
  YieldOp::create(builder, root.getLoc(), mapping.lookup(root));
}

/// Whether the operand's elements count: what a result is written to may be
/// there for its type alone.
static bool isRead(OpOperand &operand) {
  auto generic = dyn_cast<linalg::GenericOp>(operand.getOwner());
  return !generic || !generic.isDpsInit(&operand) ||
         generic.payloadUsesValueFromOperand(&operand);
}

static bool isInside(Value value, Operation *op) {
  Operation *owner = value.getDefiningOp();
  if (!owner)
    owner = value.getParentBlock()->getParentOp();
  return op->isAncestor(owner);
}

void StageBlock::copy(Value value, llvm::function_ref<bool(Value)> isOperand) {
  if (mapping.contains(value))
    return;
  if (isOperand(value)) {
    mapping.map(value, block.addArgument(value.getType(), value.getLoc()));
    inputs.push_back(value);
    return;
  }
  Operation *op = value.getDefiningOp();
  // Of the op itself, and of bodies that use values from outside.
  SmallVector<unsigned> unread;
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands()) {
      if (inner != op && isInside(operand.get(), op))
        continue;
      if (inner == op && !isRead(operand))
        unread.push_back(operand.getOperandNumber());
      else
        copy(operand.get(), isOperand);
    }
  });
  Operation *copied = builder.clone(*op, mapping);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(copied);
  for (unsigned operand : unread) {
    auto type = cast<RankedTensorType>(copied->getOperand(operand).getType());
    copied->setOperand(operand, tensor::EmptyOp::create(builder, op->getLoc(),
                                                        type.getShape(),
                                                        type.getElementType()));
  }
}
