//===- LegalizeScalars.cpp - Scalar ops that have no lowering -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LegalizeScalars.h"
#include "fastk/Support/PowerBySquaring.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKLEGALIZESCALARSPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

using fastk::FloatBuilder;
using fastk::powerBySquaring;

/// An index as the integer that it is on all targets.
static Value toInteger(FloatBuilder &b, Value value) {
  if (!isa<IndexType>(value.getType()))
    return value;
  return arith::IndexCastOp::create(b, b.getI64Type(), value);
}

/// Computes an op of indices on integers.
static Value lowerOnIndices(FloatBuilder &b, Operation *op) {
  Operation *copy = b.clone(*op);
  for (OpOperand &operand : copy->getOpOperands()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(copy);
    operand.set(toInteger(b, operand.get()));
  }
  copy->getResult(0).setType(b.getI64Type());
  return arith::IndexCastOp::create(b, b.getIndexType(), copy->getResult(0));
}

/// x^exponent by products; null where it takes many, which are less accurate,
/// or where no wider type is known.
static Value powerByProducts(FloatBuilder &b, Value x, int64_t exponent) {
  Type type = x.getType(), f64 = b.getF64Type();
  if (!type.isF16() && !type.isBF16() && !type.isF32() && !type.isF64())
    return Value();
  // What f64 multiplies is rounded once at the end: for f64 itself few
  // products.
  int64_t most = type.isF64() ? 4 : 64;
  if (std::abs(exponent) > most)
    return Value();
  if (exponent == 0)
    return b.constant(type, 1.0);
  if (exponent == -1)
    return b.div(b.constant(type, 1.0), x);
  if (type.isF64() && exponent < 0)
    return Value();
  // Up to 4 f32 will do: halves have its precision and range to spare.
  Type wide = exponent < 0 || exponent > 4         ? f64
              : type.getIntOrFloatBitWidth() == 16 ? Type(b.getF32Type())
                                                   : type;
  Value power =
      powerBySquaring(b.convert(x, wide), std::abs(exponent),
                      [&](Value lhs, Value rhs) { return b.mul(lhs, rhs); });
  if (exponent < 0)
    power = b.div(b.constant(wide, 1.0), power);
  return b.convert(power, type);
}

/// x^y by products; null where y is not a constant, whole and small.
static Value lowerPowF(FloatBuilder &b, math::PowFOp op) {
  APFloat exponent(0.0);
  // What does not fit is no exponent of products.
  APSInt whole(/*BitWidth=*/16, /*isUnsigned=*/false);
  bool isExact;
  if (!matchPattern(op.getRhs(), m_ConstantFloat(&exponent)) ||
      exponent.convertToInteger(whole, APFloat::rmTowardZero, &isExact) !=
          APFloat::opOK)
    return Value();
  return powerByProducts(b, op.getLhs(), whole.getSExtValue());
}

/// x^n. The sign is that of the exponent's parity, which an exponent converted
/// to f64 no longer has beyond 2^53.
static Value lowerFPowI(FloatBuilder &b, math::FPowIOp op, bool isOracle) {
  Type type = op.getType(), f64 = b.getF64Type();
  APInt constant;
  if (!isOracle && matchPattern(op.getRhs(), m_ConstantInt(&constant)) &&
      constant.getSignificantBits() <= 8)
    if (Value power = powerByProducts(b, op.getLhs(), constant.getSExtValue()))
      return power;
  Value x = b.convert(op.getLhs(), f64), n = toInteger(b, op.getRhs());
  Value magnitude =
      math::PowFOp::create(b, b.abs(x), arith::SIToFPOp::create(b, f64, n));
  Value one = arith::ConstantOp::create(b, b.getIntegerAttr(n.getType(), 1));
  Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                      arith::AndIOp::create(b, n, one), one);
  Value isNegative =
      b.less(math::CopySignOp::create(b, b.constant(f64, 1.0), x),
             b.constant(f64, 0.0));
  Value power = b.select(arith::AndIOp::create(b, isOdd, isNegative),
                         b.negate(magnitude), magnitude);
  return b.convert(power, type);
}

/// x^n modulo 2^width. A negative power of anything but 1 and -1 is 0.
static Value lowerIPowI(FloatBuilder &b, math::IPowIOp op) {
  Value base = toInteger(b, op.getLhs()), exponent = toInteger(b, op.getRhs());
  auto type = cast<IntegerType>(base.getType());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(type, APInt(type.getWidth(), value,
                                        /*isSigned=*/true,
                                        /*implicitTrunc=*/true)));
  };
  auto isEqual = [&](Value lhs, Value rhs) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lhs, rhs);
  };
  Value zero = constant(0), one = constant(1), minusOne = constant(-1);
  Value x = base, rest = exponent, power = one;
  for (unsigned bit = 0; bit < type.getWidth(); ++bit) {
    Value isSet = isEqual(arith::AndIOp::create(b, rest, one), one);
    power = b.select(isSet, arith::MulIOp::create(b, power, base), power);
    if (bit + 1 == type.getWidth())
      break;
    base = arith::MulIOp::create(b, base, base);
    rest = arith::ShRUIOp::create(b, rest, one);
  }
  Value isOdd = isEqual(arith::AndIOp::create(b, exponent, one), one);
  Value ofMinusOne = b.select(isOdd, minusOne, one);
  Value inverse = b.select(isEqual(x, one), one,
                           b.select(isEqual(x, minusOne), ofMinusOne, zero));
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, exponent, zero);
  Value result = b.select(isNegative, inverse, power);
  if (isa<IndexType>(op.getType()))
    return arith::IndexCastOp::create(b, op.getType(), result);
  return result;
}

static Value lowerIsNormal(FloatBuilder &b, math::IsNormalOp op) {
  auto type = cast<FloatType>(op.getOperand().getType());
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  Value magnitude = b.abs(op.getOperand());
  Value least = b.constant(type, APFloat::getSmallestNormalized(semantics));
  Value most = b.constant(type, APFloat::getLargest(semantics));
  using arith::CmpFPredicate;
  return arith::AndIOp::create(
      b, arith::CmpFOp::create(b, CmpFPredicate::OGE, magnitude, least),
      arith::CmpFOp::create(b, CmpFPredicate::OLE, magnitude, most));
}

static Value lowerIsInf(FloatBuilder &b, math::IsInfOp op) {
  auto type = cast<FloatType>(op.getOperand().getType());
  Value infinity = b.constant(type, APFloat::getInf(type.getFloatSemantics()));
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                               b.abs(op.getOperand()), infinity);
}

/// NaN stays: no comparison with it holds.
static Value lowerClampF(FloatBuilder &b, math::ClampFOp op) {
  Value x = op.getValue();
  x = b.select(b.less(x, op.getMin()), op.getMin(), x);
  return b.select(b.less(op.getMax(), x), op.getMax(), x);
}

/// By way of f32, where the last bit is set when anything was lost: what is
/// halfway between two numbers there is not halfway here, so the second
/// rounding goes where a single one would (Boldo and Melquiond, "Emulation of
/// FMA and correctly rounded sums", IEEE Transactions on Computers 57, 2008).
static Value lowerTruncToBF16(FloatBuilder &b, arith::TruncFOp op) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value x = op.getIn();
  Value near = arith::TruncFOp::create(b, f32, x);
  Value back = arith::ExtFOp::create(b, b.getF64Type(), near);
  Value bits = arith::BitcastOp::create(b, i32, near);
  Value one = b.constant(i32, int64_t(1));
  // Towards zero first; an infinity that came from rounding up steps back, too.
  Value isBeyond = b.less(b.abs(x), b.abs(back));
  bits = b.select(isBeyond, arith::SubIOp::create(b, bits, one), bits);
  // Ordered: NaN keeps its bits.
  Value isInexact =
      arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, x, back);
  bits = b.select(isInexact, arith::OrIOp::create(b, bits, one), bits);
  Value odd = arith::BitcastOp::create(b, f32, bits);
  return arith::TruncFOp::create(b, op.getType(), odd);
}

/// Of a conversion to i1, by way of i32: LLVM's NVPTX backend compares the bits
/// of the float with 0 and says that 0 is true. On the host it is the same.
static Value lowerToBool(FloatBuilder &b, Value x) {
  Value number = arith::FPToSIOp::create(b, b.getI32Type(), x);
  return arith::TruncIOp::create(b, b.getI1Type(), number);
}

/// Of a conversion from i1, whose sign that backend loses on the way to bf16. A
/// choice between constants, since LLVM folds a conversion by way of i32 back.
static Value lowerFromBool(FloatBuilder &b, Operation *op) {
  Type type = op->getResult(0).getType();
  double ofTrue = isa<arith::UIToFPOp>(op) ? 1.0 : -1.0;
  return b.select(op->getOperand(0), b.constant(type, ofTrue),
                  b.constant(type, 0.0));
}

static bool isTruncToBF16(arith::TruncFOp op) {
  return op.getIn().getType().isF64() && op.getType().isBF16() &&
         !op.getRoundingmodeAttr();
}

namespace {
struct FastkLegalizeScalarsPass
    : fastk::impl::FastkLegalizeScalarsPassBase<FastkLegalizeScalarsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::ArithDialect, math::MathDialect, complex::ComplexDialect>(
              op->getDialect()) &&
          op->getNumResults() == 1 &&
          !isa<ShapedType>(op->getResult(0).getType()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (Value value = lower(op)) {
        op->getResult(0).replaceAllUsesWith(value);
        op->erase();
      }
    }
    // The conversions that the replacements made.
    SmallVector<arith::TruncFOp> truncations;
    getOperation()->walk([&](arith::TruncFOp op) {
      if (isTruncToBF16(op))
        truncations.push_back(op);
    });
    for (arith::TruncFOp op : truncations) {
      FloatBuilder b(op.getLoc(), op);
      op.replaceAllUsesWith(lowerTruncToBF16(b, op));
      op.erase();
    }
  }

private:
  /// What computes the same; null where the op is good as it is.
  Value lower(Operation *op) {
    FloatBuilder b(op->getLoc(), op);
    if (auto power = dyn_cast<math::FPowIOp>(op))
      return lowerFPowI(b, power, isOracle);
    if (auto power = dyn_cast<math::PowFOp>(op))
      return isOracle ? Value() : lowerPowF(b, power);
    if (auto power = dyn_cast<math::IPowIOp>(op))
      return lowerIPowI(b, power);
    if (auto test = dyn_cast<math::IsNormalOp>(op))
      return lowerIsNormal(b, test);
    if (auto test = dyn_cast<math::IsInfOp>(op))
      return lowerIsInf(b, test);
    if (auto clamp = dyn_cast<math::ClampFOp>(op))
      return lowerClampF(b, clamp);
    if (isa<arith::FPToSIOp, arith::FPToUIOp>(op) &&
        op->getResult(0).getType().isInteger(1))
      return lowerToBool(b, op->getOperand(0));
    if (isa<arith::SIToFPOp, arith::UIToFPOp>(op) &&
        op->getOperand(0).getType().isInteger(1))
      return lowerFromBool(b, op);
    if (isa<math::AbsIOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp,
            math::CtPopOp>(op) &&
        isa<IndexType>(op->getResult(0).getType()))
      return lowerOnIndices(b, op);
    return fastk::lowerComplexFunction(b, op, hasComplexLibm);
  }
};
} // namespace
