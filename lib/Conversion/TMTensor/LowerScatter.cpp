//===- LowerScatter.cpp - tm_tensor.scatter to loops ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Updates in order, for two may go to one place; the elements of a slice in
// parallel.
//
//===----------------------------------------------------------------------===//

#include "LowerTMTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

SmallVector<Value> fastk::emitScatterStarts(OpBuilder &builder,
                                            tm_tensor::ScatterOp op,
                                            Value update) {
  Location loc = op.getLoc();
  Value places = op.getInputs()[1];
  SmallVector<Value> updateSizes = sizesOf(builder, loc, op.getInputs()[0]),
                     targetSizes = sizesOf(builder, loc, op.getOutputs()[0]);
  Value zero = constantIndex(builder, loc, 0),
        one = constantIndex(builder, loc, 1);
  int64_t rank = targetSizes.size(), slice = updateSizes.size() - 1;
  auto compare = [&](arith::CmpIPredicate how, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, how, a, b);
  };
  SmallVector<Value> starts(rank);
  for (auto [i, dim] : llvm::enumerate(op.getDimensionMap())) {
    Value place = memref::LoadOp::create(
        builder, loc, places,
        ValueRange{update, constantIndex(builder, loc, i)});
    Value start =
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), place);
    Value size = targetSizes[dim];
    Value fromEnd = arith::AddIOp::create(builder, loc, start, size);
    start = arith::SelectOp::create(
        builder, loc, compare(arith::CmpIPredicate::slt, start, zero), fromEnd,
        start);
    int64_t inSlice = dim - (rank - slice);
    Value last = start;
    if (inSlice >= 0)
      last = arith::AddIOp::create(
          builder, loc, start,
          arith::SubIOp::create(builder, loc, updateSizes[inSlice + 1], one));
    // Unsigned: a negative one is too large.
    Value inside = arith::AndIOp::create(
        builder, loc, compare(arith::CmpIPredicate::ult, start, size),
        compare(arith::CmpIPredicate::ult, last, size));
    cf::AssertOp::create(builder, loc, inside,
                         "scatter: an index is out of bounds of dimension " +
                             std::to_string(dim));
    starts[dim] = start;
  }
  return starts;
}

SmallVector<Value> fastk::emitScatterPlace(OpBuilder &builder,
                                           tm_tensor::ScatterOp op,
                                           ArrayRef<Value> starts,
                                           ValueRange inSlice) {
  SmallVector<Value> place(starts);
  for (auto [i, iv] : llvm::enumerate(inSlice)) {
    Value &index = place[place.size() - inSlice.size() + i];
    index =
        index
            ? arith::AddIOp::create(builder, op.getLoc(), index, iv).getResult()
            : iv;
  }
  return place;
}

void fastk::emitScatter(OpBuilder &builder, tm_tensor::ScatterOp op) {
  Location loc = op.getLoc();
  Value updates = op.getInputs()[0], target = op.getOutputs()[0];
  SmallVector<Value> updateSizes = sizesOf(builder, loc, updates);
  Value zero = constantIndex(builder, loc, 0),
        one = constantIndex(builder, loc, 1);
  int64_t slice = updateSizes.size() - 1;

  auto loop = scf::ForOp::create(builder, loc, zero, updateSizes[0], one);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value update = loop.getInductionVar();
  SmallVector<Value> starts = emitScatterStarts(builder, op, update);

  SmallVector<Value> inSlice;
  if (slice > 0) {
    SmallVector<Value> zeros(slice, zero), ones(slice, one);
    auto elements = scf::ParallelOp::create(
        builder, loc, zeros, ArrayRef<Value>(updateSizes).drop_front(), ones);
    builder.setInsertionPointToStart(elements.getBody());
    inSlice = elements.getInductionVars();
  }
  SmallVector<Value> from = {update};
  from.append(inSlice);
  SmallVector<Value> to = emitScatterPlace(builder, op, starts, inSlice);
  Value result = emitBody(builder, op.getRegion().front(),
                          {memref::LoadOp::create(builder, loc, updates, from),
                           memref::LoadOp::create(builder, loc, target, to)});
  memref::StoreOp::create(builder, loc, result, target, to);
}
