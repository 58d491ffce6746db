//===- DeriveConditionFunctions.cpp - Conditions of roots, powers, exp ----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarConditions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fastk;

/// Of an exponent within the range of the type, or a little beyond it: what is
/// finite stays so.
Value ScalarConditions::clampedExp(Value exponent) {
  return math::ExpOp::create(
      b, arith::MinimumFOp::create(
             b, exponent, constant(rounding.unit == 0x1p-53 ? 1000 : 100)));
}

/// The least magnitude that a function which grows as e^x does may have within
/// the reach of x. Null for other functions, and where x is exact.
Value ScalarConditions::leastExponential(Operation *op) {
  if (!isa<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::SinhOp,
           math::CoshOp>(op))
    return nullptr;
  Value x = op->getOperand(0), ofX = get(x);
  if (!ofX)
    return nullptr;
  Value least = isa<math::SinhOp, math::CoshOp>(op)
                    ? nearest(x, ofX)
                    : arith::SubFOp::create(b, x, reach(ofX)).getResult();
  Operation *atLeast = b.clone(*op);
  atLeast->setOperand(0, least);
  return atLeast->getResult(0);
}

/// Of e^x, where x may be as large as \p most. A large value that rounding may
/// make infinite may as well be none of its size: what divides by 1 + e^x is
/// off by orders of magnitude that no linear rule tells. That is infinite.
/// A value that is not large, as the terms of a softmax, adds what it may.
Value ScalarConditions::orOverflow(Value most, Value x, Value condition) {
  bool isWide = rounding.unit == 0x1p-53;
  double largest = isWide ? std::numeric_limits<double>::max()
                          : std::numeric_limits<float>::max();
  Value overflows = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, most,
                                          constant(std::log(largest)));
  // Of less, nearestToPole() has all that is left.
  Value isLarge = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x,
                                        constant(std::log(16.0)));
  return arith::SelectOp::create(
      b, arith::AndIOp::create(b, overflows, isLarge),
      constant(std::numeric_limits<double>::infinity()), condition);
}

/// A root moves by no more than that of what moves its operand. One below zero
/// is NaN, unless nothing but what is flushed leads there.
Value ScalarConditions::ofRoot(Value x, Value r, Value ofX) {
  if (!ofX)
    return nullptr;
  Value moved = reach(ofX);
  Value isAway = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, moved, x);
  Value least = math::SqrtOp::create(b, nearest(x, ofX));
  Value change = arith::DivFOp::create(b, ofX, sum(r, least));
  Value root = scaled(math::SqrtOp::create(b, moved), 1 / rounding.bound);
  Value isFlushed = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, moved,
                                          constant(smallestNormal() * 0x1p30));
  Value atZero = arith::SelectOp::create(
      b, isFlushed, root, constant(std::numeric_limits<double>::infinity()));
  return arith::SelectOp::create(b, isAway, change, atZero);
}

Value ScalarConditions::ofPower(Value base, Value exponent, Value r,
                                Value ofBase, Value ofExponent) {
  Value size = magnitude(r);
  Value logarithm =
      magnitude(math::LogOp::create(b, magnitude(base)).getResult());
  // Relative changes: of the exponent times the logarithm; that of e is rounded
  // before e is raised to it.
  Value change = product(magnitude(exponent), logarithm);
  if (ofExponent)
    change = sum(change, product(ofExponent, logarithm));
  Value own = sum(arith::MulFOp::create(b, change, clampedExp(reach(change))),
                  constant(3));
  Value result = product(size, own);
  if (!ofBase)
    return result;
  // Of the base the steepest slope within its reach.
  Value one = constant(1);
  Value isSteepAtZero =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, exponent, one);
  Value steepest =
      arith::SelectOp::create(b, isSteepAtZero, nearestToPole(base, ofBase),
                              sum(magnitude(base), reach(ofBase)));
  Value slope = math::PowFOp::create(
      b, steepest, arith::SubFOp::create(b, exponent, one).getResult());
  return sum(result, product(ofBase, product(magnitude(exponent), slope)));
}

/// Null where there is no rule. \p x may be anything within its reach: the
/// slope is the largest there.
Value ScalarConditions::ofFunction(Operation *op) {
  Value x = op->getOperand(0), r = op->getResult(0);
  Value ofX = effective(x), size = magnitude(r);
  if (!ofX)
    ofX = constant(0);
  Value moved = reach(ofX), least = nearest(x, ofX);
  auto one = [&] { return constant(1); };
  auto mul = [&](Value l, Value m) -> Value {
    return arith::MulFOp::create(b, l, m);
  };
  auto div = [&](Value l, Value m) -> Value {
    return arith::DivFOp::create(b, l, m);
  };
  auto add = [&](Value l, Value m) -> Value {
    return arith::AddFOp::create(b, l, m);
  };
  auto sub = [&](Value l, Value m) -> Value {
    return arith::SubFOp::create(b, l, m);
  };
  auto result = [&](Value derivative, double weight) {
    return sum(product(magnitude(derivative), ofX), scaled(size, weight));
  };
  auto atMostOne = [&](Value slope) -> Value {
    return arith::MinimumFOp::create(b, slope, one());
  };
  auto logarithm = [&](double scale) {
    return result(div(constant(scale), nearestToPole(x, ofX)), 2);
  };
  // The slopes of sine and cosine change by no more than their argument.
  auto wave = [&](Value slope) {
    return result(atMostOne(add(magnitude(slope), scaled(moved, 0.5))), 3);
  };
  // Of e to the power of x, a sum of x and its reach; of -inf there is none.
  auto steepest = [&](double scale) -> Value {
    Value isInfinite = arith::CmpFOp::create(
        b, arith::CmpFPredicate::OEQ, magnitude(x),
        constant(std::numeric_limits<double>::infinity()));
    Value most = arith::SelectOp::create(b, isInfinite, x, add(x, moved));
    return clampedExp(scaled(most, scale));
  };
  auto exponential = [&](double scale) {
    // Beyond these nothing is left, or nothing is finite.
    Value limit = constant(1100);
    Value argument = arith::MinimumFOp::create(b, magnitude(x), limit);
    Value own = sum(scaled(argument, scale), constant(2));
    Value passed = product(scaled(steepest(scale), scale), ofX);
    Value all = sum(sum(passed, product(size, own)), constant(flushed()));
    return get(x)
               ? orOverflow(scaled(add(x, moved), scale), scaled(x, scale), all)
               : all;
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::ExpOp>([&](auto) { return exponential(1); })
      .Case<math::Exp2Op>([&](auto) { return exponential(std::log(2.0)); })
      .Case<math::ExpM1Op>([&](auto) { return result(steepest(1), 4); })
      .Case<math::LogOp>([&](auto) { return logarithm(1); })
      .Case<math::Log2Op>([&](auto) { return logarithm(1 / std::log(2.0)); })
      .Case<math::Log10Op>([&](auto) { return logarithm(1 / std::log(10.0)); })
      .Case<math::Log1pOp>([&](auto) {
        // An operand that is exact needs no sum with 1.
        Value base = add(one(), x);
        return result(div(one(), get(x) ? nearestToPole(base, ofX) : base), 4);
      })
      .Case<math::SqrtOp>(
          [&](auto) { return sum(ofRoot(x, r, ofX), scaled(size, 2)); })
      .Case<math::RsqrtOp>([&](auto) {
        Value away = nearestToPole(x, ofX);
        Value root = math::RsqrtOp::create(b, away);
        return result(div(scaled(root, 0.5), away), 3);
      })
      .Case<math::CbrtOp>([&](auto) {
        // As a square root; it has a value on both sides of zero.
        Value root = math::CbrtOp::create(b, scaled(moved, 4)).getResult();
        Value most = scaled(root, 1 / rounding.bound);
        Value isAway = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                             least, constant(0));
        Value rise =
            div(scaled(math::CbrtOp::create(b, least), 1.0 / 3), least);
        Value change = arith::MinimumFOp::create(b, product(rise, ofX), most);
        return sum(arith::SelectOp::create(b, isAway, change, most),
                   scaled(size, 3));
      })
      .Case<math::TanhOp>([&](auto) {
        Value lowest = math::TanhOp::create(b, least);
        return result(sub(one(), mul(lowest, lowest)), 4);
      })
      .Case<math::ErfOp>([&](auto) {
        Value power =
            math::ExpOp::create(b, arith::NegFOp::create(b, mul(least, least)));
        return result(scaled(power, 2 / std::sqrt(std::acos(-1.0))), 4);
      })
      .Case<math::SinOp>([&](auto) { return wave(math::CosOp::create(b, x)); })
      .Case<math::CosOp>([&](auto) { return wave(math::SinOp::create(b, x)); })
      .Case<math::TanOp>([&](auto) {
        // Away from a pole by about 1 / |r|.
        Value left = arith::MaximumFOp::create(b, sub(one(), mul(moved, size)),
                                               constant(0x1p-4));
        return result(div(add(one(), mul(r, r)), mul(left, left)), 4);
      })
      .Case<math::AtanOp>([&](auto) {
        return result(div(one(), add(one(), mul(least, least))), 4);
      })
      .Case<math::SinhOp>([&](auto) {
        return result(mul(math::CoshOp::create(b, x), clampedExp(moved)), 4);
      })
      .Case<math::CoshOp>([&](auto) {
        Value slope = add(math::SinhOp::create(b, magnitude(x)), moved);
        return result(mul(slope, clampedExp(moved)), 4);
      })
      .Case<math::AsinhOp>([&](auto) {
        Value root = math::SqrtOp::create(b, add(one(), mul(least, least)));
        return result(div(one(), root), 4);
      })
      .Default([](Operation *) { return Value(); });
}
