//===- RooflineReassociation.cpp - Products in another order --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RooflineBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fastk {

/// Through conversions that keep the value.
static Value skipExtensions(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static bool isProduct(linalg::LinalgOp op) {
  return llvm::any_of(op.getBlock()->without_terminator(), [&](Operation &s) {
    Operation *product = productOf(op, &s);
    return product && skipExtensions(product->getOperand(0)) !=
                          skipExtensions(product->getOperand(1));
  });
}

/// True when the body is linear in the operands that `path` holds, together.
static bool isLinear(linalg::LinalgOp op, const DenseSet<Value> &operands) {
  DenseSet<Value> path;
  for (OpOperand &operand : op->getOpOperands())
    if (operands.contains(operand.get()) &&
        operand.getOperandNumber() < op.getBlock()->getNumArguments())
      path.insert(op.getMatchingBlockArgument(&operand));
  for (Operation &scalar : op.getBlock()->without_terminator()) {
    SmallVector<unsigned> on;
    for (OpOperand &use : scalar.getOpOperands())
      if (path.contains(use.get()))
        on.push_back(use.getOperandNumber());
    if (on.empty())
      continue;
    bool linear =
        isa<arith::AddFOp, arith::SubFOp, arith::ExtFOp, arith::TruncFOp,
            arith::NegFOp>(scalar) ||
        (isa<arith::MulFOp>(scalar) && on.size() == 1) ||
        (isa<arith::DivFOp>(scalar) && on.size() == 1 && on.front() == 0);
    if (!linear)
      return false;
    path.insert(scalar.getResult(0));
  }
  return true;
}

/// A product that is only ever summed again, by other products or by sums, may
/// be computed in another order, or not at all: (A·B)·C as A·(B·C), the sum of
/// A·B from the sums of A. Neither it nor what consumes it is charged.
void RooflineBuilder::findReassociable() {
  for (Operation &first : block.without_terminator()) {
    auto product = dyn_cast<linalg::LinalgOp>(first);
    if (!product || !isProduct(product))
      continue;
    DenseSet<Value> reached(first.result_begin(), first.result_end());
    SmallVector<Operation *> ends;
    bool linear = true;
    for (Operation *op = first.getNextNode(); op && linear;
         op = op->getNextNode()) {
      if (llvm::none_of(op->getOperands(),
                        [&](Value v) { return reached.contains(v); }))
        continue;
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      if (linalgOp) {
        linear = isLinear(linalgOp, reached);
        bool summed = llvm::any_of(linalgOp.getDpsInputOperands(),
                                   [&](OpOperand *operand) {
                                     return reached.contains(operand->get());
                                   });
        if (linalgOp.getNumReductionLoops() && summed)
          ends.push_back(op);
        else
          reached.insert(op->result_begin(), op->result_end());
        continue;
      }
      linear = isa<tensor::TensorDialect>(op->getDialect());
      reached.insert(op->result_begin(), op->result_end());
    }
    if (!linear || ends.empty())
      continue;
    reassociable.insert(&first);
    reassociable.insert(ends.begin(), ends.end());
  }
}

} // namespace fastk
