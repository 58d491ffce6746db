//===- RooflineCounts.cpp - Scalar ops of linalg bodies, counted ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RooflineBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>

using namespace mlir;

namespace fastk {

bool isAccumulator(linalg::LinalgOp op, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == op.getBlock() &&
         argument.getArgNumber() >= op.getNumDpsInputs();
}

Operation *productOf(linalg::LinalgOp op, Operation *scalar) {
  if (!isa<arith::AddFOp, arith::SubFOp>(scalar) ||
      op.getNumReductionLoops() == 0)
    return nullptr;
  for (unsigned i : {0, 1}) {
    if (!isAccumulator(op, scalar->getOperand(i)))
      continue;
    auto multiply = scalar->getOperand(1 - i).getDefiningOp<arith::MulFOp>();
    if (multiply && multiply->hasOneUse())
      return multiply;
  }
  return nullptr;
}

/// The points of the demand, counted along these dimensions alone.
static double pointsOver(const Demand &use, const llvm::BitVector &dims) {
  return countPoints(use.box, use.constraints, dims) * use.fraction;
}

static bool accumulatesIn(linalg::LinalgOp op, Operation *scalar) {
  return llvm::any_of(scalar->getOperands(), [&](Value operand) {
    return isAccumulator(op, operand);
  });
}

void RooflineBuilder::charge(Operation *scalar, const Demand &use, Group group,
                             double slots) {
  Type type = getElementTypeOrSelf(scalar->getOperand(0).getType());
  bool isDouble = type.isF64() || scalar->getResult(0).getType().isF64();
  // Packed 16-bit arithmetic does two at a time where there is any.
  double width = type.isF16() || type.isBF16() ? 0.5 : 1;
  elementwise[isDouble][group] += slots * width * use.certain;
}

/// Adds what is no arithmetic of floats: a function, or integer arithmetic.
void RooflineBuilder::countFunction(Operation *scalar, const Demand &use,
                                    double points) {
  OperationCounts &ops = result.ops;
  bool isFloat = isa<FloatType>(scalar->getResult(0).getType());
  if (isa<math::MathDialect>(scalar->getDialect()) && isFloat) {
    if (isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
            math::TruncOp>(scalar)) {
      ops.compare += points;
      charge(scalar, use, Compare, points);
      return;
    }
    ops.transcendental += points;
    // The shortest known ones take a reduction and a multiply-add.
    charge(scalar, use, Multiply, 2 * points);
  } else if (isa<arith::ArithDialect>(scalar->getDialect()) && !isFloat &&
             scalar->getResult(0).getType().isIntOrIndex() &&
             !isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
                  arith::IndexCastOp, arith::IndexCastUIOp>(scalar)) {
    ops.integer += points;
  }
}

/// Adds an op of arithmetic to the group it belongs to. With a constant it may
/// be folded into another.
void RooflineBuilder::countArithmetic(const Body &body, Operation *scalar,
                                      const Demand &use, double points) {
  linalg::LinalgOp linalgOp = body.op;
  SmallVector<const Facts *> operands;
  bool hasConstant = false;
  bool accumulates = accumulatesIn(linalgOp, scalar);
  for (Value operand : scalar->getOperands()) {
    auto it = body.facts.find(operand);
    operands.push_back(it == body.facts.end() ? nullptr : &it->second);
    hasConstant |= !operands.back() || operands.back()->isConstant();
  }
  OperationCounts &ops = result.ops;
  auto charge = [&](Group group, double slots) {
    this->charge(scalar, use, group, slots);
  };
  llvm::TypeSwitch<Operation *>(scalar)
      .Case<arith::AddFOp, arith::SubFOp>([&](Operation *) {
        if (Operation *product = productOf(linalgOp, scalar)) {
          ops.multiplyAdd += points;
          countContraction(body, product, points * use.certain);
        } else if (hasConstant && !accumulates) {
          ops.foldable += points;
        } else {
          ops.addSub += points;
          charge(Add, points);
        }
      })
      .Case([&](arith::MulFOp) {
        for (Operation *user : scalar->getUsers())
          if (productOf(linalgOp, user) == scalar)
            return; // Counted with its addition.
        if (hasConstant) {
          ops.foldable += points;
          return;
        }
        ops.multiply += points;
        charge(Multiply, points);
      })
      .Case([&](arith::DivFOp) {
        if (operands[1] && operands[1]->isConstant()) {
          ops.foldable += points;
          return;
        }
        double divisions =
            operands[1] ? pointsOver(use, operands[1]->varies) : 0;
        if (divisions < points) {
          ops.divide += divisions;
          ops.multiply += points;
          charge(Multiply, points);
        } else {
          ops.divide += points;
          charge(Multiply, points);
        }
      })
      .Case<arith::NegFOp, math::AbsFOp, math::CopySignOp>(
          [&](Operation *) { ops.foldable += points; })
      .Case<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
            arith::MinNumFOp>([&](Operation *) {
        ops.compare += points;
        charge(Compare, points);
      })
      .Case([&](arith::CmpFOp) {
        // A comparison that only feeds a select is one min, max or blend.
        bool selects = llvm::all_of(scalar->getUsers(), [](Operation *user) {
          return isa<arith::SelectOp>(user);
        });
        if (!selects) {
          ops.compare += points;
          charge(Compare, points);
        }
      })
      .Case([&](arith::SelectOp select) {
        // With a mask known ahead of time it is a choice of what to compute.
        const Facts *condition = operands[0];
        if (!condition || !condition->fromInputs ||
            !isa<FloatType>(select.getType()))
          return;
        ops.compare += points;
        charge(Compare, points);
      })
      .Case<math::SqrtOp, math::RsqrtOp>([&](Operation *) {
        ops.squareRoot += points;
        charge(Multiply, points);
      })
      .Case([&](math::FmaOp) {
        ops.multiplyAdd += points;
        charge(Multiply, points);
        charge(Add, points);
      })
      .Case<math::FPowIOp>([&](Operation *) {
        ops.multiply += points;
        charge(Multiply, points);
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::FPToSIOp, arith::FPToUIOp>(
          [&](Operation *) { ops.conversion += points; })
      .Default([&](Operation *) { countFunction(scalar, use, points); });
}

void RooflineBuilder::count(const Body &body, Operation *scalar,
                            const Demand &use) {
  const Facts &facts = body.facts.find(scalar->getResult(0))->second;
  if (!facts.fromInputs)
    return; // Constants and index arithmetic.
  linalg::LinalgOp linalgOp = body.op;
  double points = pointsOver(use, facts.varies);
  bool accumulates = accumulatesIn(linalgOp, scalar);
  if (accumulates && body.hasReduction && !productOf(linalgOp, scalar)) {
    // The first element of a sum that starts from a constant needs no add.
    double length = 1;
    SmallVector<unsigned> reduced;
    linalgOp.getReductionDims(reduced);
    for (unsigned d : reduced)
      length *= use.box[d].count();
    bool fromConstant = llvm::all_of(linalgOp.getDpsInits(), [&](Value init) {
      return !factsOf(init).fromInputs;
    });
    if (fromConstant && length > 0)
      points *= (length - 1) / length;
  }

  countArithmetic(body, scalar, use, points);
}

/// Multiplications that a fast convolution algorithm saves, as a factor >= 1:
/// F(4, r) along each window dimension of stride 1.
static double fastConvolutionFactor(linalg::LinalgOp op) {
  double factor = 1;
  auto iterators = op.getIteratorTypesArray();
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  for (OpOperand *operand : op.getDpsInputOperands())
    for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
      auto form = LinearForm::ofExpr(expr, loops.size());
      if (!form || isa<AffineDimExpr>(expr))
        continue;
      int64_t window = 1, image = 1;
      bool unitStride = false;
      for (auto [d, coefficient] : llvm::enumerate(form->coefficients)) {
        if (!coefficient)
          continue;
        if (iterators[d] == utils::IteratorType::reduction) {
          window = loops[d];
        } else {
          unitStride = coefficient == 1;
          image = loops[d];
        }
      }
      if (!unitStride || window == 1)
        continue;
      double m = std::min<int64_t>(4, image);
      factor *= m * window / (m + window - 1);
    }
  return factor;
}

void RooflineBuilder::countContraction(const Body &body, Operation *multiply,
                                       double pairs) {
  if (reassociable.contains(body.op))
    return;
  pairs /= fastConvolutionFactor(body.op);
  // A constant factor (a mean as a matrix product) leaves additions.
  unsigned bits = 0;
  // One operand that holds 16-bit values suffices: the other may be rounded
  // (its error may vanish in the result's type), so one 16-bit product a pair
  // is all that is certain. Attention in f16 multiplies f32 weights by f16.
  bool brain = false, half = false;
  for (Value operand : multiply->getOperands()) {
    auto it = body.facts.find(operand);
    Type type = operand.getType();
    if (it != body.facts.end() &&
        isa_and_nonnull<FloatType>(it->second.storage))
      type = it->second.storage;
    bits = std::max(bits, type.getIntOrFloatBitWidth());
    brain |= type.isBF16();
    half |= type.isF16();
  }
  if (bits > 32)
    result.contraction64 += pairs;
  else if (brain)
    result.contractionB16 += pairs;
  else if (half)
    result.contraction16 += pairs;
  else
    result.contraction32 += pairs;
}

} // namespace fastk
