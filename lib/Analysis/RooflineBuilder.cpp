//===- RooflineBuilder.cpp - Demand and counts, backwards -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RooflineBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace fastk {

void RooflineBuilder::demand(Value value, const Demand &use) {
  if (isa<RankedTensorType>(value.getType()))
    mergeDemand(demands[value], use);
  else if (!demands[value])
    demands[value] = Demand();
}

void RooflineBuilder::demandOperand(const Body &body, OpOperand &operand,
                                    const Demand &use) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type) {
    demand(operand.get(), Demand());
    return;
  }
  linalg::LinalgOp linalgOp = body.op;
  AffineMap map = linalgOp.getMatchingIndexingMap(&operand);
  Box projected = use.box;
  project(projected, use.constraints);
  Demand result;
  result.fraction = use.fraction;
  result.certain = use.certain;
  llvm::BitVector involved(body.loops.size());
  SmallVector<int> position(body.loops.size(), -1);
  bool plain = true;
  for (auto [r, expr] : llvm::enumerate(map.getResults())) {
    int64_t size = type.getDimSize(r);
    auto form = LinearForm::ofExpr(expr, map.getNumDims());
    if (!form) {
      // Not known: one index.
      result.box.push_back(
          image(LinearForm::ofConstant(0, map.getNumDims()), projected, size));
      plain = false;
      continue;
    }
    result.box.push_back(image(*form, projected, size));
    for (unsigned d = 0; d < body.loops.size(); ++d)
      if (form->coefficients[d])
        involved.set(d);
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      position[dim.getPosition()] = r;
    else if (!form->isConstant())
      plain = false;
  }
  // No more elements than points of the loops that address them: a diagonal.
  double boxPoints = 1, loopPoints = 1;
  for (const DimSet &set : result.box)
    boxPoints *= set.count();
  for (int d : involved.set_bits())
    loopPoints *= projected[d].count();
  if (boxPoints > loopPoints)
    result.fraction *= loopPoints / boxPoints;
  if (plain)
    for (const LinearForm &form : use.constraints) {
      LinearForm moved = LinearForm::ofConstant(form.constant, type.getRank());
      bool whole = true;
      for (auto [d, coefficient] : llvm::enumerate(form.coefficients)) {
        if (!coefficient)
          continue;
        if (position[d] < 0)
          whole = false; // Its projection is in the box.
        else
          moved.coefficients[position[d]] = coefficient;
      }
      if (whole)
        result.constraints.push_back(moved);
    }
  demand(operand.get(), result);
}

void RooflineBuilder::visitScalar(const Body &body, Operation *scalar,
                                  Demand use, Needs &needs) {
  linalg::LinalgOp linalgOp = body.op;
  Value value = scalar->getResult(0);
  const Facts &facts = body.facts.find(value)->second;
  auto restrict = [&](const Known &known) {
    addConstraints(use.constraints, known.keep);
    if (known.isByData)
      use.certain = 0;
  };
  if (facts.known)
    restrict(*facts.known);
  // Adding zero and taking the maximum with minus infinity leave an
  // accumulator as it was.
  if (scalar->getNumOperands() == 2)
    for (unsigned i : {0, 1}) {
      if (!isAccumulator(linalgOp, scalar->getOperand(i)))
        continue;
      auto it = body.facts.find(scalar->getOperand(1 - i));
      if (it == body.facts.end() || !it->second.known)
        continue;
      double known = it->second.known->value;
      bool neutral =
          (isa<arith::AddFOp, arith::SubFOp>(scalar) && known == 0) ||
          (isa<arith::MulFOp>(scalar) && known == 1) ||
          (isa<arith::MaximumFOp, arith::MaxNumFOp>(scalar) &&
           known == -INFINITY) ||
          (isa<arith::MinimumFOp, arith::MinNumFOp>(scalar) &&
           known == INFINITY);
      if (neutral)
        restrict(*it->second.known);
    }
  count(body, scalar, use);
  if (!facts.fromInputs)
    return;
  for (auto [i, operand] : llvm::enumerate(scalar->getOperands())) {
    Demand operandUse = use;
    if (isa<arith::SelectOp>(scalar) && i > 0) {
      // Of the body, or a scalar around it.
      auto scalarFacts = [&](Value value) {
        auto it = body.facts.find(value);
        return it == body.facts.end() ? factsOf(value) : it->second;
      };
      Facts condition = scalarFacts(scalar->getOperand(0));
      if (!condition.fromInputs && condition.predicate) {
        Predicate taken =
            i == 1 ? *condition.predicate : negate(*condition.predicate);
        if (!taken.exact)
          operandUse.constraints.push_back(never(body.loops.size()));
        addConstraints(operandUse.constraints, taken.holds);
      }
      // Data may choose the constant everywhere.
      Facts other = scalarFacts(scalar->getOperand(3 - i));
      if (condition.fromInputs && other.constant &&
          condition.isIndependentOf(scalarFacts(operand)))
        operandUse.certain = 0;
    }
    mergeDemand(needs[operand], operandUse);
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(scalar)) {
    // A gather: what is read depends on the data; rows at least once.
    Box projected = use.box;
    project(projected, use.constraints);
    Demand read;
    for (auto [index, size] :
         llvm::zip(extract.getIndices(),
                   cast<RankedTensorType>(extract.getTensor().getType())
                       .getShape())) {
      auto it = body.facts.find(index);
      LinearForm form = it != body.facts.end() && it->second.integer
                            ? *it->second.integer
                            : LinearForm::ofConstant(0, body.loops.size());
      read.box.push_back(image(form, projected, size));
    }
    read.fraction = use.fraction;
    read.certain = use.certain;
    needs.erase(extract.getTensor());
    demand(extract.getTensor(), read);
  }
}

void RooflineBuilder::visitLinalg(linalg::LinalgOp op) {
  Body body = analyzeBody(op);
  Needs needs;
  Operation *yield = op.getBlock()->getTerminator();
  for (auto [i, value] : llvm::enumerate(op->getResults())) {
    auto it = demands.find(value);
    if (it == demands.end() || !it->second)
      continue;
    const Demand &use = *it->second;
    Demand loops = Demand::all(body.loops);
    loops.fraction = use.fraction;
    loops.certain = use.certain;
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(i));
    SmallVector<LinearForm> forms;
    for (auto [r, expr] : llvm::enumerate(map.getResults())) {
      auto form = LinearForm::ofExpr(expr, body.loops.size());
      forms.push_back(form ? *form
                           : LinearForm::ofConstant(0, body.loops.size()));
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        loops.box[dim.getPosition()].intersect(use.box[r]);
    }
    for (const LinearForm &form : use.constraints)
      loops.constraints.push_back(form.substitute(forms, body.loops.size()));
    mergeDemand(needs[yield->getOperand(i)], loops);
  }
  for (Operation &scalar : llvm::reverse(op.getBlock()->without_terminator())) {
    std::optional<Demand> use;
    for (Value value : scalar.getResults())
      if (auto it = needs.find(value); it != needs.end() && it->second)
        mergeDemand(use, *it->second);
    if (use)
      visitScalar(body, &scalar, *use, needs);
  }
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.getOperandNumber() >= op.getBlock()->getNumArguments())
      break;
    auto it =
        needs.find(op.getBlock()->getArgument(operand.getOperandNumber()));
    if (it != needs.end() && it->second)
      demandOperand(body, operand, *it->second);
  }
  // Scalars of the block that the body uses.
  for (auto &[value, use] : needs)
    if (use && value.getParentBlock() == &block &&
        !isa<ShapedType>(value.getType()))
      demand(value, Demand());
}

void RooflineBuilder::visit(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (llvm::any_of(op->getResults(), [&](Value value) {
          auto it = demands.find(value);
          return it != demands.end() && it->second;
        }))
      visitLinalg(linalgOp);
    return;
  }
  std::optional<Demand> use;
  for (Value value : op->getResults())
    if (auto it = demands.find(value); it != demands.end() && it->second) {
      use = it->second;
      break;
    }
  if (use)
    visitTensorOp(op, *use);
}

static double bytesOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isIndex())
    return 8;
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * bytesOf(complex.getElementType());
  if (!element.isIntOrFloat())
    return 0;
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

Roofline RooflineBuilder::build() {
  for (Operation &op : block.without_terminator())
    computeFacts(&op);
  findReassociable();
  for (Value value : block.getTerminator()->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type) {
      result.writtenBytes += bytesOf(value.getType());
      demand(value, Demand());
      continue;
    }
    result.writtenBytes += type.getNumElements() * bytesOf(type);
    demand(value, Demand::all(type.getShape()));
  }
  for (Operation &op : llvm::reverse(block.without_terminator()))
    visit(&op);
  for (BlockArgument argument : block.getArguments()) {
    auto it = demands.find(argument);
    if (it == demands.end() || !it->second)
      continue;
    double points =
        isa<RankedTensorType>(argument.getType()) ? it->second->points() : 1;
    result.readBytes +=
        static_cast<int64_t>(points * bytesOf(argument.getType()));
  }
  auto largest = [](const double *groups) {
    return *std::max_element(groups, groups + 3);
  };
  result.elementwise32 = largest(elementwise[0]);
  result.elementwise64 = largest(elementwise[1]);
  return result;
}

} // namespace fastk
