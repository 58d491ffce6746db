//===- RowPasses.cpp - Passes of a kernel over its rows -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowKernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

SmallVector<Value> RowKernelBuilder::forChunks(
    unsigned pass, ValueRange initial,
    llvm::function_ref<SmallVector<Value>(ArrayRef<PointChunk>, ValueRange)>
        visit) {
  SmallVector<Value> values(initial);
  if (schedule.holds)
    return visit(held, values);
  int64_t all = llvm::divideCeil(group.columns, group.width);
  int64_t step = schedule.threads * schedule.unroll;
  // This block's chunks: full steps first.
  int64_t share = schedule.parts == 1 ? all : schedule.share;
  bool isEven = share * schedule.parts == all;
  Value begin = emit.scale(part, share);
  Value end = isEven ? emit.add(begin, emit.constant(share))
                     : emit.minimum(emit.add(begin, emit.constant(share)),
                                    emit.constant(all));
  Value steps =
      isEven
          ? emit.constant(share / step)
          : emit.divide(arith::SubIOp::create(builder, loc, end, begin), step);
  auto chunkAt = [&](Value number, Value inside) {
    PointChunk chunk;
    chunk.row = row;
    chunk.width = group.width;
    chunk.id = chunks++;
    chunk.inside = inside;
    if (inside)
      number = arith::SelectOp::create(builder, loc, inside, number,
                                       emit.constant(0));
    chunk.column = emit.scale(number, group.width);
    return chunk;
  };
  auto loop = scf::ForOp::create(builder, loc, emit.constant(0), steps,
                                 emit.constant(1), values);
  {
    OpBuilder::InsertionGuard guard(builder);
    PointEmitter::Scope scope(emit);
    auto savedRows = rowValues;
    builder.setInsertionPointToStart(loop.getBody());
    // Every other pass runs backwards: what was read last is in the cache.
    Value trip = loop.getInductionVar();
    if (pass % 2 == 0 && schedule.backwards)
      trip = arith::SubIOp::create(
          builder, loc,
          arith::SubIOp::create(builder, loc, steps, emit.constant(1)), trip);
    Value first = emit.add(emit.add(begin, emit.scale(trip, step)), thread);
    SmallVector<PointChunk> several;
    for (int64_t i = 0; i < schedule.unroll; ++i)
      several.push_back(chunkAt(
          emit.add(first, emit.constant(i * schedule.threads)), Value()));
    SmallVector<Value> next = visit(several, loop.getRegionIterArgs());
    if (!next.empty())
      scf::YieldOp::create(builder, loc, next);
    rowValues = std::move(savedRows);
  }
  values.assign(loop.getResults().begin(), loop.getResults().end());
  if (isEven && share % step == 0)
    return values;
  // What is left of it, less than one step.
  Value first = emit.add(emit.add(begin, emit.scale(steps, step)), thread);
  int64_t left = isEven ? share % step : std::min(step, all);
  SmallVector<PointChunk> several;
  for (int64_t i = 0; i * schedule.threads < left; ++i) {
    Value number = emit.add(first, emit.constant(i * schedule.threads));
    bool mayLeave = !isEven || (i + 1) * schedule.threads > left;
    several.push_back(
        chunkAt(number, mayLeave ? emit.less(number, end) : Value()));
  }
  return visit(several, values);
}

/// The results of a level, where every block has left its part.
PointAccess RowKernelBuilder::partials(const Reduction &reduction) {
  PointAccess access;
  linalg::GenericOp op = reduction.op;
  access.buffer = partialBuffers.lookup(op->getResult(reduction.index));
  access.element = reduction.type;
  access.extents = {group.rows, schedule.parts};
  access.coefficients = {schedule.parts, 1};
  access.split = 1;
  return access;
}

SmallVector<Value> RowKernelBuilder::combineParts(ArrayRef<Reduction> names) {
  SmallVector<Value> values;
  for (const Reduction &each : names) {
    Value sum;
    for (int64_t first = 0; first < schedule.parts; first += schedule.threads) {
      PointChunk chunk;
      chunk.row = row;
      chunk.id = chunks++;
      Value number = emit.add(thread, emit.constant(first));
      bool mayLeave = first + schedule.threads > schedule.parts;
      Value inside =
          mayLeave ? emit.less(number, emit.constant(schedule.parts)) : Value();
      chunk.column = inside ? arith::SelectOp::create(builder, loc, inside,
                                                      number, emit.constant(0))
                                  .getResult()
                            : number;
      Value value = emit.load(partials(each), chunk, 0);
      if (inside)
        value = arith::SelectOp::create(builder, loc, inside, value,
                                        each.neutral(builder));
      sum = sum ? each.combine(builder, sum, value) : value;
    }
    values.push_back(sum);
  }
  return values;
}

SmallVector<Value>
RowKernelBuilder::contributionsOf(const PointChunk &chunk,
                                  ArrayRef<linalg::GenericOp> reductions) {
  SmallVector<Value> mine;
  for (linalg::GenericOp op : reductions) {
    SmallVector<Operation *> combiners;
    SmallVector<Value> wanted;
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      Combiner each = findCombiner(op, i);
      combiners.push_back(each.op);
      wanted.push_back(each.contribution);
    }
    SmallVector<SmallVector<Value>> lanes;
    for (int64_t lane = 0; lane < group.width; ++lane)
      lanes.push_back(evaluate(op, wanted, &chunk, lane, combiners));
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      for (auto &lane : lanes)
        mine.push_back(lane[i]);
  }
  return mine;
}

void RowKernelBuilder::storeChunk(const PointChunk &chunk,
                                  ArrayRef<Stored> stored,
                                  ArrayRef<Value> values) {
  Value inside = chunk.inside;
  if (rowInside)
    inside =
        inside
            ? arith::AndIOp::create(builder, loc, inside, rowInside).getResult()
            : rowInside;
  OpBuilder::InsertionGuard guard(builder);
  if (inside)
    builder.setInsertionPointToStart(
        scf::IfOp::create(builder, loc, inside, false).thenBlock());
  for (auto [k, each] : llvm::enumerate(stored)) {
    auto [value, number] = each;
    auto op = value.getDefiningOp<linalg::GenericOp>();
    OpOperand *init =
        op.getDpsInitOperand(cast<OpResult>(value).getResultNumber());
    PointAccess access = group.accessOf(*init);
    access.buffer = kernel.getArgument(group.func.getNumArguments() + number);
    emit.store(access, chunk, values.slice(k * group.width, group.width));
  }
}

SmallVector<Value>
RowKernelBuilder::passRow(unsigned pass, ArrayRef<linalg::GenericOp> reductions,
                          ArrayRef<Reduction> names) {
  // Results that this pass stores.
  SmallVector<Stored> stored;
  for (auto [number, output] : llvm::enumerate(group.outputs()))
    if (linalg::GenericOp op = group.producerOf(output);
        group.isFull(op) && group.passOf(op) == pass)
      stored.push_back({skipReshapes(output), unsigned(number)});
  // One sum a lane: they do not wait for each other.
  SmallVector<Value> sums;
  for (const Reduction &each : names)
    sums.append(group.width, each.neutral(builder));
  if (!names.empty() || !stored.empty())
    sums = forChunks(
        pass, sums, [&](ArrayRef<PointChunk> several, ValueRange before) {
          SmallVector<Value> next(before);
          // Loads of all chunks first.
          SmallVector<SmallVector<Value>> toStore;
          SmallVector<SmallVector<Value>> contributions;
          for (const PointChunk &chunk : several) {
            contributions.push_back(contributionsOf(chunk, reductions));
            auto &full = toStore.emplace_back();
            for (auto [value, number] : stored)
              for (int64_t lane = 0; lane < group.width; ++lane)
                full.push_back(fullValue(value, chunk, lane));
          }
          for (auto [chunk, mine] : llvm::zip_equal(several, contributions))
            for (auto [k, value] : llvm::enumerate(mine)) {
              const Reduction &each = names[k / group.width];
              Value wide = each.widen(builder, value);
              if (chunk.inside)
                wide = arith::SelectOp::create(builder, loc, chunk.inside, wide,
                                               each.neutral(builder));
              next[k] = each.combine(builder, next[k], wide);
            }
          for (auto [chunk, full] : llvm::zip_equal(several, toStore))
            if (!stored.empty())
              storeChunk(chunk, stored, full);
          return next;
        });
  SmallVector<Value> values;
  // The lanes of a thread.
  for (unsigned k = 0; k < names.size(); ++k) {
    SmallVector<Value> lanes(
        ArrayRef(sums).slice(k * group.width, group.width));
    while (lanes.size() > 1) {
      for (size_t j = 0; j < lanes.size() / 2; ++j)
        lanes[j] =
            names[k].combine(builder, lanes[j], lanes[j + lanes.size() / 2]);
      lanes.resize(lanes.size() / 2);
    }
    values.push_back(lanes.front());
  }
  return values;
}

void RowKernelBuilder::runPass(unsigned pass) {
  SmallVector<linalg::GenericOp> reductions;
  for (linalg::GenericOp op : group.ops)
    if (group.isReduction(op) && group.level.lookup(op) == pass)
      reductions.push_back(op);
  std::vector<Reduction> names;
  for (linalg::GenericOp op : reductions)
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      names.emplace_back(op, i);

  SmallVector<Value> values =
      pass < firstPass ? combineParts(names) : passRow(pass, reductions, names);
  if (names.empty())
    return;
  SmallVector<Reduced> reduced;
  for (auto [value, each] : llvm::zip_equal(values, names))
    reduced.push_back({value, &each});
  reduceInBlock(builder, loc, kernel, schedule.blockThreads, schedule.threads,
                reduced);
  if (schedule.parts > 1 && pass >= firstPass) {
    // The next kernel goes on with it.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        scf::IfOp::create(builder, loc, isLeader(), false).thenBlock());
    for (const Reduced &each : reduced) {
      PointChunk chunk;
      chunk.row = row;
      chunk.column = part;
      emit.store(partials(*each.reduction), chunk, each.value);
    }
    return;
  }
  for (const Reduced &each : reduced) {
    const Reduction &name = *each.reduction;
    linalg::GenericOp op = name.op;
    Value init = operandValue(*op.getDpsInitOperand(name.index), nullptr, 0);
    Value sum = name.combine(builder, name.widen(builder, init), each.value);
    rowValues[op->getResult(name.index)] = name.narrow(builder, sum);
  }
  // What follows from them alone, once.
  for (linalg::GenericOp op : group.ops)
    if (!group.isFull(op) && !group.isReduction(op) &&
        group.level.lookup(op) == pass)
      rowValue(op.getResult(0));
}
