//===- LowerSort.cpp - tm_tensor.sort and topk to loops -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sort is a merge sort from the bottom up, of each row on its own: stable,
// n log n, and it ends whatever the comparison says. topk keeps the best k in
// order and inserts one element after the other.
//
//===----------------------------------------------------------------------===//

#include "LowerTMTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

namespace {
/// Sorts one row.
class RowSorter {
public:
  RowSorter(OpBuilder &builder, tm_tensor::SortOp op, ArrayRef<Value> row,
            Value length)
      : builder(builder), op(op), loc(op.getLoc()), row(row), length(length) {}

  void emit();

private:
  SmallVector<Value> at(Value position) {
    SmallVector<Value> indices(row);
    indices[op.getDimension()] = position;
    return indices;
  }
  Value lessThan(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value smallerOf(Value a, Value b) {
    return arith::MinSIOp::create(builder, loc, a, b);
  }
  /// Whether the element at `left`, which came first, goes before that at
  /// `right`; either may be past its end.
  Value isLeftNext(Value left, Value middle, Value right, Value end);
  /// Merges the sorted runs [from, middle) and [middle, end).
  void merge(Value from, Value middle, Value end);

  OpBuilder &builder;
  tm_tensor::SortOp op;
  Location loc;
  SmallVector<Value> row;
  Value length, zero, one;
  SmallVector<Value> merged;
};
} // namespace

Value RowSorter::isLeftNext(Value left, Value middle, Value right, Value end) {
  Value hasLeft = lessThan(left, middle), hasRight = lessThan(right, end);
  Value both = arith::AndIOp::create(builder, loc, hasLeft, hasRight);
  auto branch = scf::IfOp::create(builder, loc, builder.getI1Type(), both,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, hasLeft);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> arguments;
  for (Value output : op.getOutputs())
    for (Value position : {left, right})
      arguments.push_back(
          memref::LoadOp::create(builder, loc, output, at(position)));
  Value inOrder = emitOrder(builder, op.getRegion().front(), arguments);
  scf::YieldOp::create(builder, loc, inOrder);
  return branch.getResult(0);
}

void RowSorter::merge(Value from, Value middle, Value end) {
  auto loop = scf::ForOp::create(builder, loc, from, end, one,
                                 ValueRange{from, middle});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value left = loop.getRegionIterArg(0), right = loop.getRegionIterArg(1);
  Value isLeft = isLeftNext(left, middle, right, end);
  Value next = arith::SelectOp::create(builder, loc, isLeft, left, right);
  for (auto [output, copy] : llvm::zip(op.getOutputs(), merged))
    memref::StoreOp::create(
        builder, loc, memref::LoadOp::create(builder, loc, output, at(next)),
        copy, loop.getInductionVar());
  Value newLeft =
            arith::SelectOp::create(builder, loc, isLeft, add(left, one), left),
        newRight = arith::SelectOp::create(builder, loc, isLeft, right,
                                           add(right, one));
  scf::YieldOp::create(builder, loc, ValueRange{newLeft, newRight});
}

void RowSorter::emit() {
  zero = constantIndex(builder, loc, 0);
  one = constantIndex(builder, loc, 1);
  for (Value output : op.getOutputs()) {
    auto type = cast<MemRefType>(output.getType());
    int64_t size = type.getDimSize(op.getDimension());
    SmallVector<Value> dynamic;
    if (ShapedType::isDynamic(size))
      dynamic.push_back(length);
    merged.push_back(memref::AllocOp::create(
        builder, loc, MemRefType::get({size}, type.getElementType()), dynamic));
  }
  auto passes = scf::WhileOp::create(
      builder, loc, builder.getIndexType(), one,
      [&](OpBuilder &, Location, ValueRange widths) {
        scf::ConditionOp::create(builder, loc, lessThan(widths[0], length),
                                 widths);
      },
      [&](OpBuilder &, Location, ValueRange widths) {
        Value width = widths[0], twice = add(width, width);
        auto runs = scf::ForOp::create(builder, loc, zero, length, twice);
        {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToStart(runs.getBody());
          Value from = runs.getInductionVar();
          merge(from, smallerOf(add(from, width), length),
                smallerOf(add(from, twice), length));
        }
        auto back = scf::ForOp::create(builder, loc, zero, length, one);
        {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToStart(back.getBody());
          Value i = back.getInductionVar();
          for (auto [output, copy] : llvm::zip(op.getOutputs(), merged))
            memref::StoreOp::create(
                builder, loc, memref::LoadOp::create(builder, loc, copy, i),
                output, at(i));
        }
        scf::YieldOp::create(builder, loc, twice);
      });
  (void)passes;
}

void fastk::emitSort(OpBuilder &builder, tm_tensor::SortOp op) {
  SmallVector<Value> sizes = sizesOf(builder, op.getLoc(), op.getOutputs()[0]);
  int64_t dimension = op.getDimension();
  emitRows(builder, op.getLoc(), sizes, dimension,
           [&](OpBuilder &, SmallVector<Value> &row) {
             RowSorter(builder, op, row, sizes[dimension]).emit();
           });
}

void fastk::emitTopk(OpBuilder &builder, tm_tensor::TopkOp op) {
  Location loc = op.getLoc();
  int64_t dimension = op.getDimension();
  Value values = op.getInputs()[0], best = op.getOutputs()[0],
        bestIndices = op.getOutputs()[1];
  SmallVector<Value> sizes = sizesOf(builder, loc, values);
  Value count = sizesOf(builder, loc, best)[dimension];
  Type indexType = cast<MemRefType>(bestIndices.getType()).getElementType();
  Block &body = op.getRegion().front();
  emitRows(
      builder, loc, sizes, dimension,
      [&](OpBuilder &, SmallVector<Value> &row) {
        auto at = [&](Value position) {
          SmallVector<Value> indices(row);
          indices[dimension] = position;
          return indices;
        };
        Value zero = constantIndex(builder, loc, 0),
              one = constantIndex(builder, loc, 1);
        auto elements =
            scf::ForOp::create(builder, loc, zero, sizes[dimension], one);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(elements.getBody());
        Value position = elements.getInductionVar();
        Value value =
            memref::LoadOp::create(builder, loc, values, at(position));
        Value index =
            op.getInputs().size() == 2
                ? memref::LoadOp::create(builder, loc, op.getInputs()[1],
                                         at(position))
                      .getResult()
                : arith::IndexCastOp::create(builder, loc, indexType, position)
                      .getResult();
        auto places = scf::ForOp::create(builder, loc, zero, count, one,
                                         ValueRange{value, index});
        builder.setInsertionPointToStart(places.getBody());
        Value carried = places.getRegionIterArg(0),
              carriedIndex = places.getRegionIterArg(1);
        SmallVector<Value> place = at(places.getInductionVar());
        Value there = memref::LoadOp::create(builder, loc, best, place),
              thereIndex =
                  memref::LoadOp::create(builder, loc, bestIndices, place);
        Value before = emitOrder(builder, body, {carried, there}),
              after = emitOrder(builder, body, {there, carried});
        Value areEqual = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::eq, before, after);
        Value isEarlier = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::slt, carriedIndex, thereIndex);
        Value tie = arith::AndIOp::create(builder, loc, areEqual, isEarlier);
        Value swap = arith::OrIOp::create(builder, loc, before, tie);
        auto choose = [&](Value a, Value b) -> Value {
          return arith::SelectOp::create(builder, loc, swap, a, b);
        };
        memref::StoreOp::create(builder, loc, choose(carried, there), best,
                                place);
        memref::StoreOp::create(builder, loc, choose(carriedIndex, thereIndex),
                                bestIndices, place);
        scf::YieldOp::create(builder, loc,
                             ValueRange{choose(there, carried),
                                        choose(thereIndex, carriedIndex)});
      });
}
