//===- DeviceScatter.cpp - tm_tensor.scatter as parallel loops ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Updates of one place are applied in their order, by one thread; so results
// are the same bits each time. Which updates share a place is found by a stable
// sort of the places.
//
//===----------------------------------------------------------------------===//

#include "DeviceSort.h"
#include "LowerTMTensorForDevice.h"
#include "TMTensor/LowerTMTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

/// So few updates each thread goes through, rather than sort them.
static constexpr int64_t kFewUpdates = 64;

namespace {
class ScatterEmitter {
public:
  ScatterEmitter(OpBuilder &builder, tm_tensor::ScatterOp op)
      : builder(builder), op(op), loc(op.getLoc()), updates(op.getInputs()[0]),
        target(op.getOutputs()[0]),
        shape(cast<MemRefType>(updates.getType()).getShape()) {}

  void emit();

private:
  Value constant(int64_t value) { return constantIndex(builder, loc, value); }
  Value compare(arith::CmpIPredicate how, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, how, a, b);
  }
  /// Whether slices may share some of their elements and not all.
  bool mayOverlap();
  /// What is at `place` once the update has been applied to `before`.
  Value apply(Value update, ValueRange inSlice, Value before);
  /// A thread an element of a slice, which takes the updates one by one.
  void emitInTurn();
  void emitSorted();
  /// The numbers of the places, and the updates that go there.
  std::pair<Value, Value> sortPlaces();

  OpBuilder &builder;
  tm_tensor::ScatterOp op;
  Location loc;
  Value updates, target;
  ArrayRef<int64_t> shape;
};
} // namespace

bool ScatterEmitter::mayOverlap() {
  int64_t slice = shape.size() - 1,
          rank = cast<MemRefType>(target.getType()).getRank();
  return llvm::any_of(op.getDimensionMap(), [&](int64_t dim) {
    int64_t inSlice = dim - (rank - slice);
    return inSlice >= 0 && shape[inSlice + 1] != 1;
  });
}

Value ScatterEmitter::apply(Value update, ValueRange inSlice, Value before) {
  SmallVector<Value> from = {update};
  from.append(inSlice.begin(), inSlice.end());
  Value value = memref::LoadOp::create(builder, loc, updates, from);
  return emitBody(builder, op.getRegion().front(), {value, before});
}

void ScatterEmitter::emitInTurn() {
  emitParallel(builder, loc, shape.drop_front(), [&](ValueRange inSlice) {
    auto loop = scf::ForOp::create(builder, loc, constant(0),
                                   constant(shape[0]), constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value update = loop.getInductionVar();
    SmallVector<Value> place = emitScatterPlace(
        builder, op, emitScatterStarts(builder, op, update), inSlice);
    Value before = memref::LoadOp::create(builder, loc, target, place);
    memref::StoreOp::create(builder, loc, apply(update, inSlice, before),
                            target, place);
  });
}

std::pair<Value, Value> ScatterEmitter::sortPlaces() {
  auto type = MemRefType::get({shape[0]}, builder.getI64Type());
  Value places = memref::AllocOp::create(builder, loc, type),
        order = memref::AllocOp::create(builder, loc, type);
  auto targetType = cast<MemRefType>(target.getType());
  emitParallel(builder, loc, shape.take_front(), [&](ValueRange indices) {
    Value update = indices[0], place = constant(0);
    SmallVector<Value> starts = emitScatterStarts(builder, op, update);
    for (auto [start, size] : llvm::zip_equal(starts, targetType.getShape())) {
      if (!start)
        continue;
      place = arith::MulIOp::create(builder, loc, place, constant(size));
      place = arith::AddIOp::create(builder, loc, place, start);
    }
    for (auto [number, buffer] : {std::pair(place, places), {update, order}})
      memref::StoreOp::create(builder, loc,
                              arith::IndexCastOp::create(
                                  builder, loc, builder.getI64Type(), number),
                              buffer, indices);
  });
  emitDeviceSort(builder, loc, {places, order}, /*dimension=*/0,
                 [&](OpBuilder &nested, ValueRange pairs) -> Value {
                   return arith::CmpIOp::create(nested, loc,
                                                arith::CmpIPredicate::sle,
                                                pairs[0], pairs[1]);
                 });
  return {places, order};
}

void ScatterEmitter::emitSorted() {
  auto [places, order] = sortPlaces();
  Value count = constant(shape[0]), one = constant(1);
  auto updateAt = [&, order = order](Value i) -> Value {
    Value number = memref::LoadOp::create(builder, loc, order, i);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      number);
  };
  auto placeAt = [&, places = places](Value i) -> Value {
    return memref::LoadOp::create(builder, loc, places, i);
  };
  emitParallel(builder, loc, shape, [&](ValueRange indices) {
    Value i = indices[0];
    ValueRange inSlice = indices.drop_front();
    Value zero = constant(0), own = placeAt(i);
    Value isZero = compare(arith::CmpIPredicate::eq, i, zero);
    Value before =
        arith::SelectOp::create(builder, loc, isZero, zero,
                                arith::SubIOp::create(builder, loc, i, one));
    Value isFirst = arith::OrIOp::create(
        builder, loc, isZero,
        compare(arith::CmpIPredicate::ne, placeAt(before), own));
    auto branch = scf::IfOp::create(builder, loc, isFirst,
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> place = emitScatterPlace(
        builder, op, emitScatterStarts(builder, op, updateAt(i)), inSlice);
    Value value = memref::LoadOp::create(builder, loc, target, place);
    Value last = constant(shape[0] - 1);
    auto loop = scf::WhileOp::create(
        builder, loc, TypeRange{i.getType(), value.getType()},
        ValueRange{i, value},
        [&](OpBuilder &nested, Location, ValueRange carried) {
          OpBuilder::InsertionGuard inner(builder);
          builder.restoreInsertionPoint(nested.saveInsertionPoint());
          Value isInside =
              compare(arith::CmpIPredicate::ult, carried[0], count);
          Value there =
              placeAt(arith::MinUIOp::create(builder, loc, carried[0], last));
          Value goesOn = arith::AndIOp::create(
              builder, loc, isInside,
              compare(arith::CmpIPredicate::eq, there, own));
          scf::ConditionOp::create(builder, loc, goesOn, carried);
        },
        [&](OpBuilder &nested, Location, ValueRange carried) {
          OpBuilder::InsertionGuard inner(builder);
          builder.restoreInsertionPoint(nested.saveInsertionPoint());
          Value after = apply(updateAt(carried[0]), inSlice, carried[1]);
          Value next = arith::AddIOp::create(builder, loc, carried[0], one);
          scf::YieldOp::create(builder, loc, ValueRange{next, after});
        });
    memref::StoreOp::create(builder, loc, loop.getResult(1), target, place);
  });
}

void ScatterEmitter::emit() {
  if (mayOverlap())
    // One thread for all: which updates meet is not known.
    return emitParallel(builder, loc, {},
                        [&](ValueRange) { emitScatter(builder, op); });
  if (shape[0] <= kFewUpdates)
    return emitInTurn();
  emitSorted();
}

void fastk::emitDeviceScatter(OpBuilder &builder, tm_tensor::ScatterOp op) {
  ScatterEmitter(builder, op).emit();
}
