//===- PlanLoops.cpp - Loops that a plan has, too -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/PlanLoops.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include <numeric>

using namespace mlir;
using namespace fastk;

bool fastk::isPlanLoop(Operation *op) {
  if (!isa<scf::ForOp>(op))
    return false;
  Operation *parent = op->getParentOp();
  return isa<FunctionOpInterface>(parent) || isPlanLoop(parent);
}

int64_t LoopNumber::divisor() const {
  int64_t divisor = constant;
  for (const Term &term : terms)
    divisor = std::gcd(std::gcd(divisor, term.each), term.odd);
  return divisor;
}

LoopNumber &LoopNumber::operator+=(const LoopNumber &other) {
  constant += other.constant;
  for (const Term &term : other.terms) {
    auto *own = llvm::find_if(
        terms, [&](const Term &each) { return each.loop == term.loop; });
    if (own == terms.end()) {
      terms.push_back(term);
      continue;
    }
    own->each += term.each;
    own->odd += term.odd;
  }
  return *this;
}

LoopNumber &LoopNumber::operator*=(int64_t factor) {
  constant *= factor;
  for (Term &term : terms) {
    term.each *= factor;
    term.odd *= factor;
  }
  return *this;
}

static LoopNumber constantNumber(int64_t value) {
  LoopNumber number;
  number.constant = value;
  return number;
}

/// The parity of a number, where that is one.
static std::optional<LoopNumber> parityOf(const LoopNumber &number) {
  // Of no negative number: what is behind a zero remains as it is.
  if (number.constant < 0 || number.terms.size() > 1)
    return std::nullopt;
  LoopNumber parity = constantNumber(number.constant % 2);
  if (number.terms.empty())
    return parity;
  const LoopNumber::Term &term = number.terms.front();
  if (term.each < 0 || term.odd != 0)
    return std::nullopt;
  if (term.each % 2 != 0)
    parity.terms.push_back({term.loop, 0, parity.constant ? -1 : 1});
  return parity;
}

static std::optional<LoopNumber>
evaluate(AffineExpr expr, ArrayRef<LoopNumber> operands, unsigned numDims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constantNumber(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operands[numDims + symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto left = evaluate(binary.getLHS(), operands, numDims),
       right = evaluate(binary.getRHS(), operands, numDims);
  if (!left || !right)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add)
    return *left += *right;
  if (!right->terms.empty())
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Mul)
    return *left *= right->constant;
  if (binary.getKind() == AffineExprKind::Mod && right->constant == 2)
    return parityOf(*left);
  return std::nullopt;
}

/// The counter of a loop.
static std::optional<LoopNumber> counterOf(BlockArgument argument) {
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument != loop.getInductionVar() || !isPlanLoop(loop))
    return std::nullopt;
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!lower || !step)
    return std::nullopt;
  LoopNumber number = constantNumber(*lower);
  number.terms.push_back({loop, *step, 0});
  return number;
}

std::optional<LoopNumber> fastk::findLoopNumber(OpFoldResult value) {
  if (auto known = getConstantIntValue(value))
    return constantNumber(*known);
  return findLoopNumber(cast<Value>(value));
}

std::optional<LoopNumber> fastk::findLoopNumber(Value value) {
  if (!value.getType().isIndex())
    return std::nullopt;
  if (auto known = getConstantIntValue(value))
    return constantNumber(*known);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return counterOf(argument);
  Operation *op = value.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::RemUIOp,
           arith::RemSIOp, affine::AffineApplyOp>(op))
    return std::nullopt;
  SmallVector<LoopNumber> operands;
  for (Value operand : op->getOperands()) {
    std::optional<LoopNumber> number = findLoopNumber(operand);
    if (!number)
      return std::nullopt;
    operands.push_back(*number);
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return evaluate(apply.getAffineMap().getResult(0), operands,
                    apply.getAffineMap().getNumDims());
  LoopNumber &left = operands[0], &right = operands[1];
  if (isa<arith::AddIOp>(op))
    return left += right;
  if (isa<arith::SubIOp>(op))
    return left += (right *= -1);
  if (isa<arith::MulIOp>(op)) {
    if (!left.terms.empty() && !right.terms.empty())
      return std::nullopt;
    return left.terms.empty() ? right *= left.constant : left *= right.constant;
  }
  if (right.terms.empty() && right.constant == 2)
    return parityOf(left);
  return std::nullopt;
}

bool fastk::isPlaceArithmetic(Operation *op) {
  return isPlanLoop(op->getParentOp()) && op->getNumResults() == 1 &&
         findLoopNumber(op->getResult(0));
}

/// Whether it is a tensor of known size, with elements.
static bool isStaticTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() > 0;
}

/// Whether a plan can say where an op of a loop's block works, and on how much.
static bool isAtKnownPlace(Operation &op) {
  auto isKnown = [](Type type) {
    return !isa<ShapedType>(type) || isStaticTensor(type);
  };
  if (!llvm::all_of(op.getOperandTypes(), isKnown) ||
      !llvm::all_of(op.getResultTypes(), isKnown))
    return false;
  if (auto inner = dyn_cast<scf::ForOp>(op))
    return canBePlanLoop(inner);
  // State is the function's, and other control flow is no loop.
  if (isa_and_nonnull<scf::SCFDialect, ml_program::MLProgramDialect>(
          op.getDialect()))
    return isa<scf::YieldOp>(op);
  auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op);
  return !slice || (slice.getSizes().empty() && slice.getStrides().empty() &&
                    llvm::all_of(slice.getOffsets(), [](Value offset) {
                      return findLoopNumber(offset).has_value();
                    }));
}

bool fastk::canBePlanLoop(scf::ForOp loop) {
  return isPlanLoop(loop) && loop.getStaticTripCount() &&
         loop.getInductionVar().getType().isIndex() &&
         loop.getNumResults() != 0 &&
         llvm::all_of(loop.getResultTypes(), isStaticTensor) &&
         llvm::all_of(*loop.getBody(), isAtKnownPlace);
}
