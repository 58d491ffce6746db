//===- GuardDivision.cpp - Integer divisions that do not trap -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostPipeline.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fastk;

static bool isSigned(Operation *op) {
  return isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp>(op);
}

/// The constant `value` of an integer or index type, or a vector of it.
static Value constant(OpBuilder &builder, Location loc, Type type,
                      const APInt &value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = builder.getIntegerAttr(element, value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, attr);
  return arith::ConstantOp::create(builder, loc, attr);
}

static void guard(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value dividend = op->getOperand(0), divisor = op->getOperand(1);
  Type type = divisor.getType();
  Type element = getElementTypeOrSelf(type);
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  auto equals = [&](Value value, const APInt &to) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                                 constant(builder, loc, type, to));
  };
  Value traps = equals(divisor, APInt::getZero(width));
  if (isSigned(op)) {
    Value overflows = arith::AndIOp::create(
        builder, loc, equals(divisor, APInt::getAllOnes(width)),
        equals(dividend, APInt::getSignedMinValue(width)));
    traps = arith::OrIOp::create(builder, loc, traps, overflows);
  }
  op->setOperand(
      1, arith::SelectOp::create(builder, loc, traps,
                                 constant(builder, loc, type, APInt(width, 1)),
                                 divisor));
}

void fastk::guardDivisions(ModuleOp module) {
  SmallVector<Operation *> divisions;
  module.walk([&](Operation *op) {
    if (!isSigned(op) &&
        !isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op))
      return;
    APInt divisor;
    bool isSafe = matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
                  !divisor.isZero() && !divisor.isAllOnes();
    if (!isSafe)
      divisions.push_back(op);
  });
  for (Operation *op : divisions)
    guard(op);
}
