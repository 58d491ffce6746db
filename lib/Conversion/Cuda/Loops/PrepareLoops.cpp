//===- PrepareLoops.cpp - Loops that a plan repeats, on tensors -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RepeatLoops.h"
#include "fastk/Analysis/PlanLoops.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fastk;

/// Lets a loop count from 0 by 1.
static void normalize(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         step = getConstantIntValue(loop.getStep());
  if (lower == 0 && step == 1)
    return;
  int64_t trips = loop.getStaticTripCount()->getZExtValue();
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value from = constant(*lower), by = constant(*step);
  loop.setLowerBound(constant(0));
  loop.setUpperBound(constant(trips));
  loop.setStep(constant(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value counter = loop.getInductionVar();
  auto scaled = arith::MulIOp::create(builder, loc, counter, by);
  Value value = arith::AddIOp::create(builder, loc, scaled, from);
  counter.replaceAllUsesExcept(value, scaled);
}

//===----------------------------------------------------------------------===//
// Counters as numbers
//===----------------------------------------------------------------------===//

namespace {
class CounterReader {
public:
  explicit CounterReader(func::FuncOp func)
      : func(func), builder(func.getContext()) {}

  /// Gives kernels numbers in place of `value`, which follows from counters.
  void read(Value value);

private:
  /// The same number, computed from what is in memory.
  Value numberOf(Value value);
  Value readCounter(scf::ForOp loop);

  func::FuncOp func;
  OpBuilder builder;
  DenseMap<Value, Value> numbers;
  /// Of so many counters, one after the other.
  DenseMap<int64_t, Value> tables;
};
} // namespace

Value CounterReader::readCounter(scf::ForOp loop) {
  Location loc = loop.getLoc();
  int64_t trips = loop.getStaticTripCount()->getZExtValue();
  Type element = builder.getI64Type();
  Value &table = tables[trips];
  if (!table) {
    builder.setInsertionPointToStart(&func.getBody().front());
    table = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            RankedTensorType::get({trips}, element),
            ArrayRef(llvm::to_vector(llvm::seq<int64_t>(0, trips)))));
  }
  builder.setInsertionPointToStart(loop.getBody());
  OpFoldResult counter = loop.getInductionVar(), one = builder.getIndexAttr(1);
  Value place = tensor::ExtractSliceOp::create(
      builder, loc, RankedTensorType::get({}, element), table,
      ArrayRef(counter), ArrayRef(one), ArrayRef(one));
  Value number = tensor::ExtractOp::create(builder, loc, place, ValueRange());
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    number);
}

Value CounterReader::numberOf(Value value) {
  if (Value known = numbers.lookup(value))
    return known;
  if (findLoopNumber(value)->terms.empty())
    return value;
  Value number;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    number = readCounter(cast<scf::ForOp>(argument.getOwner()->getParentOp()));
  } else {
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, numberOf(operand));
    builder.setInsertionPointAfter(op);
    number = builder.clone(*op, mapping)->getResult(0);
  }
  return numbers[value] = number;
}

/// Whether an op is told by this operand where it works.
static bool isPlace(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isPlaceArithmetic(op))
    return true;
  auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op);
  return slice && isPlanLoop(op->getParentOp());
}

void CounterReader::read(Value value) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (!isPlace(use))
      uses.push_back(&use);
  for (OpOperand *use : uses)
    use->set(numberOf(value));
}

//===----------------------------------------------------------------------===//
// What a loop carries
//===----------------------------------------------------------------------===//

/// Whether the buffer of a tensor begins where its allocation does, and is
/// contiguous.
static bool isPlain(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    Operation *parent = argument.getOwner()->getParentOp();
    return isa<func::FuncOp>(parent) || isPlanLoop(parent);
  }
  return TypeSwitch<Operation *, bool>(tensor.getDefiningOp())
      .Case<CallOp, tensor::EmptyOp, tensor::FromElementsOp, tensor::SplatOp,
            tensor::GenerateOp, tensor::PadOp, tensor::ConcatOp,
            arith::ConstantOp, bufferization::AllocTensorOp, scf::ForOp>(
          [](Operation *) { return true; })
      .Case([](tensor::InsertSliceOp op) { return isPlain(op.getDest()); })
      .Case([](tensor::InsertOp op) { return isPlain(op.getDest()); })
      .Case([&](DestinationStyleOpInterface op) {
        return isPlain(op.getTiedOpOperand(cast<OpResult>(tensor))->get());
      })
      .Default([](Operation *) { return false; });
}

static void makePlain(OpBuilder &builder, OpOperand &operand) {
  Value tensor = operand.get();
  // Memory that two loops fill is that of neither.
  auto empty = tensor.getDefiningOp<tensor::EmptyOp>();
  if (empty && !empty->hasOneUse())
    operand.set(builder.clone(*empty)->getResult(0));
  if (isPlain(tensor))
    return;
  operand.set(bufferization::AllocTensorOp::create(
      builder, tensor.getLoc(), cast<RankedTensorType>(tensor.getType()),
      /*dynamicSizes=*/ValueRange(), /*copy=*/tensor));
}

void fastk::prepareLoops(func::FuncOp func) {
  SmallVector<scf::ForOp> loops;
  func.walk([&](scf::ForOp loop) {
    if (isPlanLoop(loop))
      loops.push_back(loop);
  });
  CounterReader counters(func);
  for (scf::ForOp loop : loops) {
    normalize(loop);
    OpBuilder builder(loop);
    for (OpOperand &init : loop.getInitsMutable())
      makePlain(builder, init);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    for (OpOperand &next : loop.getBody()->getTerminator()->getOpOperands())
      makePlain(builder, next);
  }
  for (scf::ForOp loop : loops) {
    SmallVector<Value> values = {loop.getInductionVar()};
    for (Operation &op : *loop.getBody())
      if (isPlaceArithmetic(&op))
        values.push_back(op.getResult(0));
    for (Value value : values)
      counters.read(value);
  }
}
