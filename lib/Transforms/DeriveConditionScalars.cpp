//===- DeriveConditionScalars.cpp - Rules of error analysis ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarConditions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fastk;

Value ScalarConditions::constant(double value) {
  return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
}

Value ScalarConditions::magnitude(Value value) {
  return math::AbsFOp::create(b, value);
}

Value ScalarConditions::sum(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AddFOp::create(b, lhs, rhs);
}

Value ScalarConditions::scaled(Value value, double factor) {
  if (!value || factor == 1)
    return value;
  return arith::MulFOp::create(b, value, constant(factor));
}

Value ScalarConditions::product(Value factor, Value condition) {
  if (!condition)
    return nullptr;
  Value zero = constant(0);
  Value isZero =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, factor, zero);
  Value both = arith::MulFOp::create(b, factor, condition);
  return arith::SelectOp::create(b, isZero, zero, both);
}

Value ScalarConditions::reach(Value condition) {
  return scaled(condition, rounding.bound);
}

Value ScalarConditions::nearest(Value x, Value ofX) {
  Value size = magnitude(x);
  if (!ofX)
    return size;
  Value left = arith::SubFOp::create(b, size, reach(ofX));
  Value isInfinite =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, size,
                            constant(std::numeric_limits<double>::infinity()));
  return arith::SelectOp::create(
      b, isInfinite, size, arith::MaximumFOp::create(b, left, constant(0)));
}

/// The same beside a pole: zero only where it may be flushed to zero. An honest
/// sum of exponentials does not vanish, whatever its condition is.
Value ScalarConditions::nearestToPole(Value x, Value ofX) {
  if (!ofX)
    return magnitude(x);
  Value size = magnitude(x);
  Value least = larger(nearest(x, ofX), scaled(size, 0x1p-4));
  Value isNormal = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, size,
                                         constant(smallestNormal()));
  return arith::SelectOp::create(b, isNormal, least, constant(0));
}

Value ScalarConditions::larger(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::MaximumFOp::create(b, lhs, rhs);
}

Value ScalarConditions::effective(Value value) {
  if (Value known = get(value))
    return known;
  if (matchPattern(value, m_Constant()))
    return nullptr;
  // Below the smallest normal number all of it may be lost.
  Value size = magnitude(value);
  Value isNormal = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, size,
                                         constant(smallestNormal()));
  return arith::SelectOp::create(b, isNormal, size,
                                 scaled(size, 1 / rounding.bound));
}

double ScalarConditions::smallestNormal() const {
  return rounding.unit == 0x1p-53 ? 0x1p-1022 : 0x1p-126;
}

double ScalarConditions::flushed() const {
  return smallestNormal() / rounding.bound;
}

/// Where a result may be beyond its type, so may be what depends on it:
/// infinite, or anything that infinities lead to.
Value ScalarConditions::withRange(Operation *op, Value r, Value condition,
                                  Value size) {
  double largest = std::numeric_limits<float>::max();
  if (rounding.unit == 0x1p-53)
    largest = std::numeric_limits<double>::max();
  if (auto kept = op->getAttrOfType<TypeAttr>(kRoundedToAttr))
    if (kept.getValue().isF16())
      largest = 65504;
  Value infinity = constant(std::numeric_limits<double>::infinity());
  if (!size)
    size = magnitude(r);
  // An honest result is not off by more than itself.
  Value most = sum(size, arith::MinimumFOp::create(b, reach(condition), size));
  Value isInRange = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, most,
                                          constant(largest));
  // What is infinite in f64 is so in every type, unless rounding of what leads
  // there decides it, as for the exponential of a sum that cancels.
  Value isInfinite = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                           magnitude(r), infinity);
  auto isSureWhere = [&](arith::CmpFPredicate predicate, Value x, Value y) {
    Value isSo = arith::CmpFOp::create(b, predicate, x, y);
    isInfinite = arith::AndIOp::create(b, isInfinite, isSo);
  };
  for (Value operand : op->getOperands())
    if (Value known = get(operand); known && isa<FloatType>(known.getType()))
      isSureWhere(arith::CmpFPredicate::UNE, known, infinity);
  if (Value least = leastExponential(op))
    isSureWhere(arith::CmpFPredicate::OGT, least, constant(largest));
  Value beyond = arith::SelectOp::create(b, isInfinite, constant(0), infinity);
  return arith::SelectOp::create(b, isInRange, condition, beyond);
}

Value ScalarConditions::jump(Value distance) {
  // Of equal infinities the difference is NaN, and nothing is at stake.
  Value isNumber =
      arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, distance, distance);
  Value cost = scaled(distance, 1 / rounding.bound);
  return arith::SelectOp::create(b, isNumber, cost, constant(0));
}

Value ScalarConditions::isUnsure(Value x, Value y) {
  Value both = sum(get(x), get(y));
  if (!both)
    return nullptr;
  Value distance = magnitude(arith::SubFOp::create(b, x, y));
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, distance,
                               scaled(both, rounding.bound));
}

/// The condition of x where \p isFirst, else of y. Where that is unsure either
/// may be taken; \p jumps: they may differ then.
Value ScalarConditions::ofChoice(Value isFirst, Value unsure, Value x, Value y,
                                 bool jumps) {
  Value ofX = get(x), ofY = get(y);
  if (!ofX && !ofY && !(unsure && jumps))
    return nullptr;
  Value zero = constant(0);
  Value taken =
      arith::SelectOp::create(b, isFirst, ofX ? ofX : zero, ofY ? ofY : zero);
  if (!unsure)
    return taken;
  Value either = larger(ofX, ofY);
  if (jumps)
    either = sum(either, jump(magnitude(arith::SubFOp::create(b, x, y))));
  return arith::SelectOp::create(b, unsure, either ? either : zero, taken);
}

Value ScalarConditions::withStorage(Operation *op, Value r, Value condition) {
  auto kept = op->getAttrOfType<TypeAttr>(kRoundedToAttr);
  if (!kept)
    return condition;
  // Half of the last place, of the last subnormal place near zero; and a tenth.
  const llvm::fltSemantics &semantics =
      cast<FloatType>(kept.getValue()).getFloatSemantics();
  int digits = static_cast<int>(APFloat::semanticsPrecision(semantics));
  int least = APFloat::semanticsMinExponent(semantics);
  double part = 1.1 / rounding.bound;
  Value rounding = scaled(magnitude(r), std::ldexp(part, -digits));
  Value smallest = constant(std::ldexp(part, least - digits));
  return sum(condition, sum(rounding, smallest));
}

/// Coordinates, and what is computed of them alone.
bool ScalarConditions::noteCoordinates(Operation *op) {
  bool isCoordinate = isa<linalg::IndexOp>(op) ||
                      (isMemoryEffectFree(op) && op->getNumOperands() != 0 &&
                       llvm::all_of(op->getOperands(), [&](Value operand) {
                         return coordinates.contains(operand) ||
                                matchPattern(operand, m_Constant());
                       }));
  if (isCoordinate)
    coordinates.insert(op->result_begin(), op->result_end());
  return isCoordinate;
}

LogicalResult ScalarConditions::visit(Operation *op) {
  // A step in coordinates is where the workload has it; no operand moves it.
  if (noteCoordinates(op) &&
      isa<arith::FPToSIOp, arith::FPToUIOp, arith::CmpFOp, math::FloorOp,
          math::CeilOp, math::RoundOp, math::RoundEvenOp, math::TruncOp>(op))
    return success();
  // What does not touch floats is exact, unless a decision is unsure.
  bool anyKnown = llvm::any_of(op->getOperands(), [&](Value operand) {
    return get(operand) != nullptr;
  });
  if (isa<linalg::YieldOp>(op))
    return success();
  if (isa<arith::ConstantOp, linalg::IndexOp, arith::SIToFPOp, arith::UIToFPOp>(
          op) &&
      !anyKnown)
    return success();
  bool anyFloat =
      llvm::any_of(llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                       llvm::to_vector(op->getResults())),
                   [](Value value) { return isa<FloatType>(value.getType()); });
  if (!anyFloat && !anyKnown)
    return success();
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return op->emitOpError() << "has no rule of error analysis (required by "
                                "'fastk-derive-condition')";
  if (failed(visitInexact(op)))
    return failure();
  Value r = op->getResult(0);
  if (!isa<FloatType>(r.getType()))
    return success();
  set(r, withStorage(op, r, get(r)));
  // What moves, or only makes smaller, is within the range of its operands.
  if (get(r) && (op->hasAttr(kRoundedToAttr) ||
                 isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
                     math::FmaOp, math::ExpOp, math::Exp2Op, math::ExpM1Op,
                     math::PowFOp, math::FPowIOp, math::SinhOp, math::CoshOp,
                     math::RsqrtOp, math::TanOp>(op)))
    set(r, withRange(op, r, get(r)));
  return success();
}

Value ScalarConditions::orBeyond(Value condition, Value otherwise) {
  Value infinity = constant(std::numeric_limits<double>::infinity());
  Value isBeyond =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, condition, infinity);
  return arith::SelectOp::create(b, isBeyond, infinity, otherwise);
}

/// What an error of one factor makes of the product: zero times what is beyond
/// its type is NaN.
Value ScalarConditions::ofFactor(Value x, Value condition) {
  if (!condition)
    return nullptr;
  return orBeyond(condition, product(magnitude(x), condition));
}

void ScalarConditions::visitArithmetic(Operation *op) {
  Value r = op->getResult(0);
  auto operand = [&](unsigned i) { return op->getOperand(i); };
  llvm::TypeSwitch<Operation *>(op)
      .Case<arith::AddFOp, arith::SubFOp>([&](auto) {
        set(r, sum(sum(effective(operand(0)), effective(operand(1))),
                   magnitude(r)));
      })
      .Case<arith::MulFOp>([&](auto) {
        if (op->hasAttr(kConversionAttr)) {
          set(r, get(operand(0)));
          return;
        }
        Value ofA = effective(operand(0)), ofB = effective(operand(1));
        Value passed =
            sum(ofFactor(operand(0), ofB), ofFactor(operand(1), ofA));
        // Both may be off at once, which counts where one is near zero.
        if (get(operand(0)) && get(operand(1)))
          passed = sum(passed, product(reach(ofA), ofB));
        set(r, sum(sum(passed, scaled(magnitude(r), ofA && ofB ? 2 : 1)),
                   constant(flushed())));
      })
      .Case<arith::DivFOp>([&](auto) {
        Value size = magnitude(r);
        Value moved =
            sum(effective(operand(0)), product(size, effective(operand(1))));
        Value own = sum(scaled(size, 2), constant(flushed()));
        if (moved) {
          moved = arith::DivFOp::create(
              b, moved, nearestToPole(operand(1), effective(operand(1))));
          own = sum(moved, own);
        }
        // A divisor that may be infinite or not.
        if (Value known = get(operand(1)))
          own = orBeyond(known, own);
        set(r, own);
      })
      .Case<math::FmaOp>([&](auto) {
        Value passed =
            sum(product(magnitude(operand(0)), effective(operand(1))),
                product(magnitude(operand(1)), effective(operand(0))));
        Value term = arith::MulFOp::create(b, operand(0), operand(1));
        passed = sum(passed, scaled(magnitude(term), 2));
        set(r, sum(sum(passed, effective(operand(2))), magnitude(r)));
      });
}

/// Maxima, comparisons, and what is decided by them.
LogicalResult ScalarConditions::visitChoice(Operation *op) {
  Value r = op->getResult(0);
  auto operand = [&](unsigned i) { return op->getOperand(i); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
            arith::MinNumFOp>([&](auto) {
        Value x = operand(0), y = operand(1);
        Value unsure = isUnsure(x, y);
        bool isMax = isa<arith::MaximumFOp, arith::MaxNumFOp>(op);
        if (unsure) {
          Value isFirst = arith::CmpFOp::create(
              b, isMax ? arith::CmpFPredicate::OGE : arith::CmpFPredicate::OLE,
              x, y);
          set(r, ofChoice(isFirst, unsure, x, y, /*jumps=*/false));
        }
        return success();
      })
      .Case<arith::CmpFOp>([&](auto) {
        set(r, isUnsure(operand(0), operand(1)));
        return success();
      })
      .Case<arith::SelectOp>([&](auto) -> LogicalResult {
        Value unsure = get(operand(0)), x = operand(1), y = operand(2);
        if (isa<FloatType>(r.getType())) {
          set(r, ofChoice(operand(0), unsure, x, y, /*jumps=*/true));
          return success();
        }
        if (!unsure && !get(x) && !get(y))
          return success();
        if (!r.getType().isInteger(1))
          return op->emitOpError()
                 << "chooses an integer by rounded values, which has no rule "
                    "of error analysis (required by 'fastk-derive-condition')";
        Value flags[] = {unsure, get(x), get(y)};
        for (Value flag : flags)
          if (flag)
            set(r, get(r) ? arith::OrIOp::create(b, get(r), flag).getResult()
                          : flag);
        return success();
      })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>([&](auto) {
        Value x = get(operand(0)), y = get(operand(1));
        set(r, x && y ? arith::OrIOp::create(b, x, y).getResult() : x ? x : y);
        return success();
      });
}

/// An unsure flag made a number: off by one where it is.
void ScalarConditions::visitFlag(Operation *op) {
  Value unsure = get(op->getOperand(0));
  set(op->getResult(0), unsure ? arith::SelectOp::create(
                                     b, unsure, jump(constant(1)), constant(0))
                                     .getResult()
                               : Value());
}

/// Near a step the result may be off by one.
void ScalarConditions::visitStep(Operation *op) {
  Value known = get(op->getOperand(0));
  if (!known)
    return;
  Value x = op->getOperand(0);
  Value reach = scaled(known, rounding.bound);
  Value low = arith::SubFOp::create(b, x, reach);
  Value high = arith::AddFOp::create(b, x, reach);
  Operation *atLow = b.clone(*op), *atHigh = b.clone(*op);
  atLow->setOperand(0, low);
  atHigh->setOperand(0, high);
  set(op->getResult(0), jump(arith::SubFOp::create(b, atHigh->getResult(0),
                                                   atLow->getResult(0))));
}

/// From integers to floats and back, and rounding to whole numbers.
LogicalResult ScalarConditions::visitConversion(Operation *op) {
  auto operand = [&](unsigned i) { return op->getOperand(i); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<arith::UIToFPOp, arith::SIToFPOp>([&](auto) -> LogicalResult {
        if (operand(0).getType().isInteger(1)) {
          visitFlag(op);
          return success();
        }
        return op->emitOpError()
               << "converts an integer that depends on rounding (required by "
                  "'fastk-derive-condition')";
      })
      .Case<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
            math::TruncOp>([&](auto) {
        visitStep(op);
        return success();
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp, math::IsNaNOp, math::IsFiniteOp,
            math::IsInfOp>([&](auto) -> LogicalResult {
        if (!get(operand(0)))
          return success();
        return op->emitOpError()
               << "makes an integer of a rounded value, which has no rule of "
                  "error analysis (required by 'fastk-derive-condition')";
      });
}

LogicalResult ScalarConditions::visitInexact(Operation *op) {
  Value r = op->getResult(0);
  auto operand = [&](unsigned i) { return op->getOperand(i); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
            math::FmaOp>([&](auto) {
        visitArithmetic(op);
        return success();
      })
      .Case<arith::NegFOp, arith::ExtFOp, math::AbsFOp, math::CopySignOp>(
          [&](auto) {
            set(r, get(operand(0)));
            return success();
          })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
            arith::MinNumFOp, arith::CmpFOp, arith::SelectOp, arith::AndIOp,
            arith::OrIOp, arith::XOrIOp>([&](auto) { return visitChoice(op); })
      .Case<arith::UIToFPOp, arith::SIToFPOp, math::FloorOp, math::CeilOp,
            math::RoundOp, math::RoundEvenOp, math::TruncOp, arith::FPToSIOp,
            arith::FPToUIOp, math::IsNaNOp, math::IsFiniteOp, math::IsInfOp>(
          [&](auto) { return visitConversion(op); })
      .Case<math::PowFOp>([&](auto) {
        set(r, ofPower(operand(0), operand(1), r, effective(operand(0)),
                       effective(operand(1))));
        return success();
      })
      .Case<math::FPowIOp>([&](auto) {
        Value exponent = arith::SIToFPOp::create(b, b.getF64Type(), operand(1));
        set(r,
            ofPower(operand(0), exponent, r, effective(operand(0)), nullptr));
        return success();
      })
      .Case<tensor::ExtractOp>([&](auto) { return success(); })
      .Default([&](Operation *) -> LogicalResult {
        Value condition = op->getNumOperands() == 1 &&
                                  isa<FloatType>(operand(0).getType()) &&
                                  isa<FloatType>(r.getType())
                              ? ofFunction(op)
                              : Value();
        if (!condition)
          return op->emitOpError()
                 << "has no rule of error analysis (required by "
                    "'fastk-derive-condition')";
        set(r, condition);
        return success();
      });
}
