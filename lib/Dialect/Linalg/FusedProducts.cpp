//===- FusedProducts.cpp - What may be rounded once -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Linalg/FusedProducts.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

/// Whether a value of a linalg op's body is what the op has summed so far.
static bool isSumSoFar(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  auto op = dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp());
  return op && argument.getOwner() == op.getBlock() &&
         argument.getArgNumber() >= op.getNumDpsInputs() &&
         op.getNumReductionLoops() > 0;
}

void fastk::addFastMathFlags(Operation *op, arith::FastMathFlags flags) {
  auto math = dyn_cast_or_null<arith::ArithFastMathInterface>(op);
  if (!math)
    return;
  if (arith::FastMathFlagsAttr given = math.getFastMathFlagsAttr())
    flags = flags | given.getValue();
  op->setAttr(math.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(op->getContext(), flags));
}

void fastk::allowFusedProduct(Operation &op, IRMapping &clones) {
  if (op.getNumResults() != 1 || !isa<arith::AddFOp, arith::SubFOp>(op))
    return;
  for (auto [sum, product] : {std::pair(op.getOperand(0), op.getOperand(1)),
                              std::pair(op.getOperand(1), op.getOperand(0))})
    if (isSumSoFar(sum) && product.getDefiningOp<arith::MulFOp>() &&
        product.getDefiningOp()->getBlock() == op.getBlock()) {
      addFastMathFlags(clones.lookup(op.getResult(0)).getDefiningOp(),
                       arith::FastMathFlags::contract);
      addFastMathFlags(clones.lookup(product).getDefiningOp(),
                       arith::FastMathFlags::contract);
    }
}
