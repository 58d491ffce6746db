//===- TotalOrder.cpp - Comparisons in which NaN has its place ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerTMTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fastk;
using arith::CmpFPredicate;

/// The arguments of the two elements of one tensor are neighbours.
static bool areOfOneTensor(Value a, Value b) {
  auto first = dyn_cast<BlockArgument>(a), second = dyn_cast<BlockArgument>(b);
  return first && second &&
         first.getArgNumber() / 2 == second.getArgNumber() / 2 &&
         first.getArgNumber() != second.getArgNumber();
}

bool fastk::isTotalOrder(Block &body) {
  if (!llvm::hasNItems(body, 2) ||
      body.getTerminator()->getOperand(0).getDefiningOp() != &body.front())
    return false;
  Operation &compare = body.front();
  if (compare.getNumOperands() != 2 ||
      !areOfOneTensor(compare.getOperand(0), compare.getOperand(1)))
    return false;
  if (auto op = dyn_cast<arith::CmpIOp>(compare))
    return op.getPredicate() != arith::CmpIPredicate::eq &&
           op.getPredicate() != arith::CmpIPredicate::ne;
  auto op = dyn_cast<arith::CmpFOp>(compare);
  if (!op)
    return false;
  switch (op.getPredicate()) {
  case CmpFPredicate::OGT:
  case CmpFPredicate::OGE:
  case CmpFPredicate::OLT:
  case CmpFPredicate::OLE:
  case CmpFPredicate::UGT:
  case CmpFPredicate::UGE:
  case CmpFPredicate::ULT:
  case CmpFPredicate::ULE:
    return true;
  default:
    return false;
  }
}

Value fastk::emitOrder(OpBuilder &builder, Block &body, ValueRange arguments) {
  auto op = dyn_cast<arith::CmpFOp>(body.front());
  if (!op || !isTotalOrder(body))
    return emitBody(builder, body, arguments);
  Location loc = op.getLoc();
  auto argumentOf = [&](Value value) {
    return arguments[cast<BlockArgument>(value).getArgNumber()];
  };
  auto compare = [&](CmpFPredicate how, Value x, Value y) -> Value {
    return arith::CmpFOp::create(builder, loc, how, x, y);
  };
  Value a = argumentOf(op.getLhs()), b = argumentOf(op.getRhs());
  CmpFPredicate how = op.getPredicate();
  bool isDescending = how == CmpFPredicate::OGT || how == CmpFPredicate::OGE ||
                      how == CmpFPredicate::UGT || how == CmpFPredicate::UGE;
  bool isStrict = how == CmpFPredicate::OGT || how == CmpFPredicate::OLT ||
                  how == CmpFPredicate::UGT || how == CmpFPredicate::ULT;
  if (isDescending)
    std::swap(a, b);
  Value isNaN = compare(CmpFPredicate::UNO, b, b);
  if (!isStrict)
    return arith::OrIOp::create(builder, loc, compare(CmpFPredicate::OLE, a, b),
                                isNaN);
  // Less than NaN is every number, and NaN is not.
  isNaN = arith::AndIOp::create(builder, loc, isNaN,
                                compare(CmpFPredicate::ORD, a, a));
  return arith::OrIOp::create(builder, loc, compare(CmpFPredicate::OLT, a, b),
                              isNaN);
}
