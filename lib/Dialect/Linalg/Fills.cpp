//===- Fills.cpp - Tensors and buffers of one value -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Linalg/Fills.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

Value fastk::fillOf(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0)
    return Value();
  Block *body = op.getBlock();
  Value yielded = body->getTerminator()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (argument && argument.getOwner() == body &&
      argument.getArgNumber() < op.getNumDpsInputs())
    return op.getDpsInputs()[argument.getArgNumber()];
  return yielded;
}

Value fastk::fillOf(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  return op && isa<linalg::FillOp, linalg::GenericOp>(op.getOperation())
             ? fillOf(op)
             : Value();
}

bool fastk::isZero(Value tensor) {
  if (matchPattern(tensor, m_AnyZeroFloat()))
    return true;
  Value fill = fillOf(tensor);
  return fill && matchPattern(fill, m_AnyZeroFloat());
}
