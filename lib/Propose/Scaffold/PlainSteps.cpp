//===- PlainSteps.cpp - What a plain program keeps in memory --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainSteps.h"
#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CastInterfaces.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::scaffold;

static bool isReshape(Operation *op) {
  return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                         tensor::CastOp>(op);
}

Value scaffold::withoutReshapes(Value value) {
  while (isReshape(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// The uses of a value's elements, reshapes looked through.
static void collectUses(Value value, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : value.getUses())
    if (isReshape(use.getOwner()))
      collectUses(use.getOwner()->getResult(0), uses);
    else
      uses.push_back(&use);
}

/// Whether a body reads no tensor: a fill, or what is made of coordinates.
static bool readsNothing(linalg::GenericOp op) {
  bool extracts = false;
  op.getBody()->walk([&](tensor::ExtractOp) { extracts = true; });
  return !extracts && op.getNumReductionLoops() == 0 &&
         llvm::none_of(op->getOpOperands(), [&](OpOperand &operand) {
           return isa<ShapedType>(operand.get().getType()) &&
                  op.payloadUsesValueFromOperand(&operand);
         });
}

/// Whether a body moves its one input, or converts it.
static bool onlyMoves(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && op.getNumDpsInputs() == 1 &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &each) {
           return isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp,
                      arith::SIToFPOp>(each);
         });
}

bool StepChoice::isCheap(linalg::GenericOp op) {
  auto [entry, isNew] = cheap.try_emplace(op, false);
  if (!isNew)
    return entry->second;
  bool is = op.getNumReductionLoops() == 0 &&
            llvm::none_of(*op.getBody(), [](Operation &each) {
              return isa<math::MathDialect>(each.getDialect()) ||
                     isa<arith::DivFOp, arith::RemFOp>(each);
            });
  for (Value operand : op->getOperands())
    if (Value from = withoutReshapes(operand); is && !stored.contains(from))
      if (auto producer = from.getDefiningOp<linalg::GenericOp>())
        is = isCheap(producer);
  cheap[op] = is;
  return is;
}

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

bool StepChoice::mustBeStored(linalg::GenericOp op) {
  if (op->getNumResults() > 1 || results.contains(op->getResult(0)))
    return true;
  SmallVector<OpOperand *> uses;
  collectUses(op->getResult(0), uses);
  bool onlyGenerics = llvm::all_of(uses, [](OpOperand *use) {
    return isa<linalg::GenericOp>(use->getOwner());
  });
  // Coordinates tell all of it, so it may stand beside any condition.
  if (readsNothing(op))
    return false;
  if (!onlyGenerics)
    return true;
  if (onlyMoves(op) && isCheap(op))
    return false;
  if (uses.size() != 1)
    return true;
  auto reader = cast<linalg::GenericOp>(uses.front()->getOwner());
  int64_t reads = 1;
  for (int64_t extent : reader.getStaticLoopRanges())
    reads *= extent;
  // Two loops in one thread leave other threads idle.
  if (op.getNumReductionLoops() != 0 && reader.getNumReductionLoops() != 0)
    return true;
  // Where an accumulator begins is read once for each element of the result.
  if (reader.isDpsInit(uses.front()))
    reads = elementsOf(reader->getResult(0));
  return reads != elementsOf(op->getResult(0)) && !isCheap(op);
}

void StepChoice::addStep(ArrayRef<Value> values) {
  chosen.push_back({SmallVector<Value>(values)});
  stored.insert_range(values);
}

void StepChoice::decide(Operation &op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  bool isStep =
      generic
          ? mustBeStored(generic)
          : isa<tm_tensor::ScanOp, tensor::ConcatOp, tensor::InsertSliceOp>(op);
  SmallVector<Value> values(op.result_begin(), op.result_end());
  if (isStep)
    addStep(values);
}

int StepChoice::resultOf(Value value) const {
  auto found = results.find(value);
  return found == results.end() ? -1 : found->second;
}

StepChoice::StepChoice(Block &pattern) {
  Operation *end = pattern.getTerminator();
  // Those that no step writes of itself: an operand, a slice, a value twice.
  SmallVector<Step> copies;
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    Value from = withoutReshapes(value);
    Operation *op = from.getDefiningOp();
    bool isComputed =
        isa_and_nonnull<linalg::GenericOp, tm_tensor::ScanOp, tensor::ConcatOp,
                        tensor::InsertSliceOp>(op);
    if (!isComputed || !results.try_emplace(from, index).second)
      copies.push_back({{value}, static_cast<int>(index)});
  }
  for (Operation &op : pattern.without_terminator())
    decide(op);
  chosen.insert(chosen.end(), copies.begin(), copies.end());
}
