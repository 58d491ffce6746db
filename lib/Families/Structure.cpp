//===- Structure.cpp - What the ops of a pattern are ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

bool catalog::isElementwise(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0;
}

Value catalog::stripReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      value = expand.getSrc();
    else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      value = collapse.getSrc();
    else if (auto pad = dyn_cast<tensor::PadOp>(op);
             pad && pad.hasZeroLowPad() && pad.hasZeroHighPad())
      value = pad.getSource();
    else
      break;
  }
  return value;
}

std::optional<CombinerKind> catalog::combinerOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<CombinerKind>>(op)
      .Case<arith::AddFOp, arith::AddIOp>(
          [](auto) { return CombinerKind::Add; })
      .Case<arith::MulFOp, arith::MulIOp>(
          [](auto) { return CombinerKind::Mul; })
      .Case<arith::MaximumFOp>([](auto) { return CombinerKind::Max; })
      .Case<arith::MinimumFOp>([](auto) { return CombinerKind::Min; })
      .Case<arith::MaxNumFOp>([](auto) { return CombinerKind::MaxNum; })
      .Case<arith::MinNumFOp>([](auto) { return CombinerKind::MinNum; })
      .Case<arith::AndIOp>([](auto) { return CombinerKind::And; })
      .Case<arith::OrIOp>([](auto) { return CombinerKind::Or; })
      .Case<arith::MaxSIOp>([](auto) { return CombinerKind::MaxS; })
      .Case<arith::MinSIOp>([](auto) { return CombinerKind::MinS; })
      .Case<arith::MaxUIOp>([](auto) { return CombinerKind::MaxU; })
      .Case<arith::MinUIOp>([](auto) { return CombinerKind::MinU; })
      .Default([](auto) { return std::nullopt; });
}

bool catalog::isFloatMaximum(CombinerKind kind) {
  return kind == CombinerKind::Max || kind == CombinerKind::MaxNum;
}

bool catalog::isFloatExtremum(CombinerKind kind) {
  return isFloatMaximum(kind) || kind == CombinerKind::Min ||
         kind == CombinerKind::MinNum;
}

/// True when `value` does not depend on an accumulator of the generic.
static bool avoidsAccumulators(linalg::GenericOp op, Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value))
    return arg.getOwner() != op.getBody() ||
           arg.getArgNumber() < op.getNumDpsInputs();
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op.getBody())
    return true;
  return llvm::all_of(def->getOperands(), [&](Value operand) {
    return avoidsAccumulators(op, operand);
  });
}

std::optional<Reduction> catalog::matchReduction(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() == 0)
    return std::nullopt;
  Reduction reduction;
  reduction.op = op;
  reduction.result = cast<OpResult>(value).getResultNumber();
  op.getParallelDims(reduction.parallelDims);
  op.getReductionDims(reduction.reductionDims);
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  Operation *combiner = yield.getOperand(reduction.result).getDefiningOp();
  if (!combiner || combiner->getBlock() != op.getBody() ||
      combiner->getNumOperands() != 2)
    return std::nullopt;
  auto kind = combinerOf(combiner);
  if (!kind)
    return std::nullopt;
  reduction.kind = *kind;
  Value accumulator =
      op.getBody()->getArgument(op.getNumDpsInputs() + reduction.result);
  if (combiner->getOperand(0) == accumulator)
    reduction.element = combiner->getOperand(1);
  else if (combiner->getOperand(1) == accumulator)
    reduction.element = combiner->getOperand(0);
  else
    return std::nullopt;
  if (!avoidsAccumulators(op, reduction.element))
    return std::nullopt;
  return reduction;
}

bool catalog::isExpensive(Operation *op) {
  bool found = false;
  op->walk([&](Operation *inner) {
    if (smallExponent(inner))
      return;
    found |= isa<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::ErfOp,
                 math::TanhOp, math::LogOp, math::Log1pOp, math::Log2Op,
                 math::Log10Op, math::PowFOp, math::SinOp, math::CosOp,
                 math::ErfcOp, math::AtanOp, math::SinhOp, math::CoshOp>(inner);
  });
  return found;
}
