//===- RooflineFacts.cpp - Facts of each value of a block, forwards -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RooflineBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fastk {

Facts RooflineBuilder::factsOf(Value value) const {
  auto it = tensorFacts.find(value);
  if (it != tensorFacts.end())
    return it->second;
  Facts facts = Facts::ofInput(value.getType());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    facts.sources.resize(block.getNumArguments());
    facts.sources.set(argument.getArgNumber());
  }
  return facts;
}

/// The operand's dimensions as forms over the loops.
static SmallVector<std::optional<LinearForm>> formsOf(AffineMap map) {
  SmallVector<std::optional<LinearForm>> forms;
  for (AffineExpr expr : map.getResults())
    forms.push_back(LinearForm::ofExpr(expr, map.getNumDims()));
  return forms;
}

RooflineBuilder::Body RooflineBuilder::analyzeBody(linalg::LinalgOp op) const {
  Body body;
  body.op = op;
  body.loops = op.getStaticLoopRanges();
  body.hasReduction = op.getNumReductionLoops() > 0;
  unsigned dims = body.loops.size();
  Block *scalars = op.getBlock();
  for (OpOperand &operand : op->getOpOperands()) {
    Facts facts = factsOf(operand.get());
    SmallVector<std::optional<LinearForm>> forms;
    if (isa<ShapedType>(operand.get().getType()))
      forms = formsOf(op.getMatchingIndexingMap(&operand));
    facts = facts.substitute(forms, dims);
    if (op.isDpsInit(&operand) && body.hasReduction) {
      facts = Facts::ofConstant(dims);
      facts.varies.set();
      facts.fromInputs = true;
    }
    for (unsigned d = 0; d < dims; ++d)
      if (body.loops[d] == 1)
        facts.varies.reset(d);
    if (operand.getOperandNumber() < scalars->getNumArguments())
      body.facts[scalars->getArgument(operand.getOperandNumber())] = facts;
  }
  for (Operation &scalar : scalars->without_terminator()) {
    SmallVector<Facts, 2> operands;
    for (Value value : scalar.getOperands()) {
      auto it = body.facts.find(value);
      if (it != body.facts.end()) {
        operands.push_back(it->second);
        continue;
      }
      Facts outer = factsOf(value);
      SmallVector<std::optional<LinearForm>> forms(outer.dims());
      operands.push_back(outer.substitute(forms, dims));
    }
    Facts facts = evaluateScalarOp(&scalar, operands, dims);
    if (scalar.getNumRegions())
      facts.fromInputs = true;
    for (unsigned d = 0; d < dims; ++d)
      if (body.loops[d] == 1)
        facts.varies.reset(d);
    for (Value value : scalar.getResults())
      body.facts[value] = facts;
  }
  return body;
}

void RooflineBuilder::computeReshapeFacts(
    Operation *op, Value source, ArrayRef<SmallVector<int64_t, 2>> groups,
    bool expands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto sourceType = cast<RankedTensorType>(source.getType());
  unsigned dims = type.getRank();
  SmallVector<std::optional<LinearForm>> forms(sourceType.getRank());
  for (auto [i, group] : llvm::enumerate(groups)) {
    if (expands) {
      LinearForm form = LinearForm::ofConstant(0, dims);
      int64_t stride = 1;
      for (int64_t d : llvm::reverse(group)) {
        if (type.getDimSize(d) != 1)
          form.coefficients[d] = stride;
        stride *= type.getDimSize(d);
      }
      forms[i] = form;
      continue;
    }
    // Several merged into one: each is a quotient of it, unless it is alone.
    unsigned real = llvm::count_if(
        group, [&](int64_t d) { return sourceType.getDimSize(d) != 1; });
    for (int64_t d : group) {
      if (sourceType.getDimSize(d) == 1)
        forms[d] = LinearForm::ofConstant(0, dims);
      else if (real == 1)
        forms[d] = LinearForm::ofDim(i, dims);
    }
  }
  Facts facts = factsOf(source);
  Facts moved = facts.substitute(forms, dims);
  if (!expands) {
    // A merged dimension varies where a part of it does, and no others do.
    moved.varies.reset();
    for (auto [i, group] : llvm::enumerate(groups))
      for (int64_t d : group)
        if (facts.varies.test(d))
          moved.varies.set(i);
  }
  tensorFacts[op->getResult(0)] = moved;
}

void RooflineBuilder::computeFacts(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>()) {
    tensorFacts[op->getResult(0)] = evaluateScalarOp(op, {}, 0);
    return;
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    Body body = analyzeBody(linalgOp);
    auto yield = linalgOp.getBlock()->getTerminator();
    for (auto [i, yielded] : llvm::enumerate(yield->getOperands())) {
      if (i >= op->getNumResults())
        break;
      AffineMap map =
          linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(i));
      unsigned rank = map.getNumResults();
      Facts facts;
      auto it = body.facts.find(yielded);
      if (it != body.facts.end()) {
        facts = it->second;
      } else {
        Facts outer = factsOf(yielded);
        SmallVector<std::optional<LinearForm>> forms(outer.dims());
        facts = outer.substitute(forms, body.loops.size());
      }
      SmallVector<std::optional<LinearForm>> forms(body.loops.size());
      for (auto [r, expr] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          forms[dim.getPosition()] = LinearForm::ofDim(r, rank);
      for (auto [d, size] : llvm::enumerate(body.loops))
        if (size == 1 && !forms[d])
          forms[d] = LinearForm::ofConstant(0, rank);
      if (body.hasReduction) {
        // What is reduced says nothing about the result.
        Facts reduced = Facts::ofInput(op->getResult(i).getType());
        reduced.fromInputs = facts.fromInputs;
        reduced.addSources(facts);
        facts = reduced;
      } else {
        facts = facts.substitute(forms, rank);
      }
      tensorFacts[op->getResult(i)] = facts;
    }
    return;
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tensor::EmptyOp empty) {
        tensorFacts[empty] = Facts::ofConstant(empty.getType().getRank());
      })
      .Case([&](tensor::ExpandShapeOp reshape) {
        computeReshapeFacts(op, reshape.getSrc(),
                            reshape.getReassociationIndices(), true);
      })
      .Case([&](tensor::CollapseShapeOp reshape) {
        computeReshapeFacts(op, reshape.getSrc(),
                            reshape.getReassociationIndices(), false);
      })
      .Case([&](tensor::CastOp cast) {
        tensorFacts[cast] = factsOf(cast.getSource());
      })
      .Case([&](tensor::ExtractSliceOp slice) {
        if (slice.getType().getRank() != slice.getSourceType().getRank() ||
            llvm::any_of(slice.getMixedOffsets(),
                         [](OpFoldResult o) { return isa<Value>(o); }))
          return;
        unsigned dims = slice.getType().getRank();
        SmallVector<std::optional<LinearForm>> forms;
        for (unsigned d = 0; d < dims; ++d) {
          LinearForm form =
              LinearForm::ofDim(d, dims).scaled(slice.getStaticStrides()[d]);
          form.constant = slice.getStaticOffsets()[d];
          forms.push_back(form);
        }
        tensorFacts[slice] = factsOf(slice.getSource()).substitute(forms, dims);
      })
      .Case([&](tensor::PadOp pad) {
        unsigned dims = pad.getType().getRank();
        Facts facts = Facts::ofInput(pad.getType());
        Facts source = factsOf(pad.getSource());
        facts.fromInputs = source.fromInputs;
        facts.addSources(source);
        facts.storage = source.storage;
        Value value = pad.getConstantPaddingValue();
        std::optional<double> constant =
            value ? factsOf(value).constant : std::nullopt;
        if (constant) {
          Known known;
          known.value = *constant;
          for (unsigned d = 0; d < dims; ++d) {
            int64_t low = pad.getStaticLow()[d];
            int64_t size = pad.getSourceType().getDimSize(d);
            if (ShapedType::isDynamic(low) ||
                size == pad.getType().getDimSize(d))
              continue;
            LinearForm above = LinearForm::ofDim(d, dims);
            above.constant = -low;
            LinearForm below = LinearForm::ofDim(d, dims).scaled(-1);
            below.constant = low + size - 1;
            known.keep.push_back(above);
            known.keep.push_back(below);
          }
          facts.known = known;
        }
        tensorFacts[pad] = facts;
      })
      .Default([&](Operation *) {
        if (op->getNumResults() != 1 ||
            isa<ShapedType>(op->getResult(0).getType()))
          return;
        SmallVector<Facts, 2> operands;
        for (Value operand : op->getOperands()) {
          if (isa<ShapedType>(operand.getType()))
            return;
          operands.push_back(factsOf(operand));
        }
        tensorFacts[op->getResult(0)] = evaluateScalarOp(op, operands, 0);
      });
}

} // namespace fastk
