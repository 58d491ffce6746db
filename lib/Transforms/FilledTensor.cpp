//===- FilledTensor.cpp - Tensors of one value
//-----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FilledTensor.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

Value fastk::fillOf(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return fill.getInputs()[0];
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic->getNumResults() != 1 ||
      generic.getNumReductionLoops() != 0)
    return Value();
  Value yielded = generic.getBlock()->getTerminator()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (argument && argument.getOwner() == generic.getBlock() &&
      argument.getArgNumber() < generic.getNumDpsInputs())
    return generic.getInputs()[argument.getArgNumber()];
  return yielded;
}

bool fastk::isZero(Value tensor) {
  if (matchPattern(tensor, m_AnyZeroFloat()))
    return true;
  Value fill = fillOf(tensor);
  return fill && matchPattern(fill, m_AnyZeroFloat());
}
