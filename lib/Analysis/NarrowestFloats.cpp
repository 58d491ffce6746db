//===- NarrowestFloats.cpp - What results are rounded to ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/NarrowestFloats.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

static unsigned digitsOf(FloatType type) {
  return llvm::APFloat::semanticsPrecision(type.getFloatSemantics());
}

namespace {
/// What some values are computed from.
class BackwardSlice {
public:
  void add(Value value) {
    if (seen.insert(value).second)
      worklist.push_back(value);
  }
  /// Takes \p type for one that something is rounded to.
  void count(Type type);
  FloatType findNarrowest();

private:
  void visitArgument(BlockArgument argument);
  void visitResult(OpResult result);
  /// Where an op's regions give what to which result is not known.
  void visitWhole(Operation *op);
  void countOp(Operation *op);

  SmallVector<Value> worklist;
  llvm::DenseSet<Value> seen;
  llvm::SmallPtrSet<Operation *, 8> whole;
  FloatType narrowest;
};
} // namespace

void BackwardSlice::count(Type type) {
  type = getElementTypeOrSelf(type);
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  auto number = dyn_cast<FloatType>(type);
  if (number && (!narrowest || digitsOf(number) < digitsOf(narrowest)))
    narrowest = number;
}

void BackwardSlice::countOp(Operation *op) {
  // Of structured ops the scalars in the body count, tensor ops only move.
  if (op->hasTrait<OpTrait::ConstantLike>() ||
      isa<linalg::LinalgOp, linalg::IndexOp>(op) ||
      isa<tensor::TensorDialect>(op->getDialect()))
    return;
  for (Type type : op->getResultTypes())
    count(type);
}

void BackwardSlice::visitWhole(Operation *op) {
  if (!whole.insert(op).second)
    return;
  op->walk([&](Operation *nested) {
    countOp(nested);
    for (Value operand : nested->getOperands())
      add(operand);
  });
}

void BackwardSlice::visitArgument(BlockArgument argument) {
  Block *block = argument.getOwner();
  Operation *parent = block->getParentOp();
  if (auto op = dyn_cast<linalg::LinalgOp>(parent))
    add(op.getMatchingOpOperand(argument)->get());
  else if (!isa<func::FuncOp>(parent) || !block->isEntryBlock())
    visitWhole(parent);
}

void BackwardSlice::visitResult(OpResult result) {
  Operation *op = result.getOwner();
  if (isa<tensor::DimOp>(op))
    return;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    OpOperand *init = structured.getDpsInitOperand(result.getResultNumber());
    add(structured.getMatchingYieldValue(init)->get());
    return;
  }
  if (op->getNumRegions() != 0) {
    visitWhole(op);
    return;
  }
  countOp(op);
  for (Value operand : op->getOperands())
    add(operand);
}

FloatType BackwardSlice::findNarrowest() {
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value))
      visitArgument(argument);
    else
      visitResult(cast<OpResult>(value));
  }
  return narrowest;
}

SmallVector<FloatType> fastk::narrowestFloats(func::FuncOp function) {
  SmallVector<FloatType> narrowest;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    BackwardSlice slice;
    slice.count(type);
    if (!slice.findNarrowest()) {
      narrowest.push_back(nullptr);
      continue;
    }
    function.walk([&, index = index](func::ReturnOp op) {
      slice.add(op.getOperand(index));
    });
    narrowest.push_back(slice.findNarrowest());
  }
  return narrowest;
}
