//===- RowKernel.cpp - A group of rows to kernels -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"
#include "Cuda/Kernels/Access.h"
#include "Cuda/Kernels/BlockReduce.h"
#include "Cuda/Kernels/PointEmitter.h"
#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fastk;

namespace {

/// Writes one kernel: the passes from `firstPass` to `lastPass`.
class RowKernelBuilder {
public:
  RowKernelBuilder(gpu::GPUModuleOp module, const RowGroup &group,
                   const RowSchedule &schedule, StringRef name,
                   unsigned firstPass, unsigned lastPass, bool isLast);

  DeviceKernel build();

private:
  Value rowValue(Value value);
  Value fullValue(Value value, const PointChunk &chunk, unsigned lane);
  Value operandValue(OpOperand &operand, const PointChunk *chunk,
                     unsigned lane);
  SmallVector<Value> evaluate(linalg::GenericOp op, ArrayRef<Value> wanted,
                              const PointChunk *chunk, unsigned lane,
                              ArrayRef<Operation *> skipped = {});
  PointAccess boundAccess(OpOperand &operand);

  void runPass(unsigned pass);
  /// Calls `visit` for the chunks that this thread works on, some at a time;
  /// the values go through all calls.
  SmallVector<Value> forChunks(
      unsigned pass, ValueRange values,
      llvm::function_ref<SmallVector<Value>(ArrayRef<PointChunk>, ValueRange)>
          visit);
  void storeRows();
  Value isLeader();

  PointAccess partials(const Reduction &reduction);

  const RowGroup &group;
  const RowSchedule &schedule;
  unsigned firstPass, lastPass;
  bool isLast;
  OpBuilder builder;
  Location loc;
  gpu::GPUFuncOp kernel;
  PointEmitter emit;
  DeviceKernel result;

  Value row, rowInside, thread, part, isRowLeader;
  unsigned chunks = 0;
  SmallVector<PointChunk> held;
  llvm::DenseMap<Value, Value> rowValues;
  std::map<std::pair<const void *, std::pair<unsigned, unsigned>>, Value>
      fullValues;
  /// Parameters behind inputs and outputs: the parts' sums.
  llvm::DenseMap<Value, Value> partialBuffers;
};

} // namespace

RowKernelBuilder::RowKernelBuilder(gpu::GPUModuleOp module,
                                   const RowGroup &group,
                                   const RowSchedule &schedule, StringRef name,
                                   unsigned firstPass, unsigned lastPass,
                                   bool isLast)
    : group(group), schedule(schedule), firstPass(firstPass),
      lastPass(lastPass), isLast(isLast), builder(module.getContext()),
      loc(group.func.getLoc()), emit(builder, loc, group.narrow) {
  func::FuncOp func = group.func;
  SmallVector<Type> types;
  auto addParameter = [&](Type tensor) {
    auto type = cast<RankedTensorType>(tensor);
    types.push_back(
        MemRefType::get({type.getNumElements()}, type.getElementType()));
  };
  for (Type type : func.getArgumentTypes())
    addParameter(type);
  for (Type type : func.getResultTypes())
    addParameter(type);
  SmallVector<Value> partials;
  if (schedule.parts > 1)
    for (linalg::GenericOp op : group.ops)
      if (group.isReduction(op))
        for (unsigned i = 0; i < op.getNumResults(); ++i) {
          partials.push_back(op.getResult(i));
          types.push_back(MemRefType::get({group.rows * schedule.parts},
                                          Reduction(op, i).type));
        }
  kernel =
      createKernel(builder, loc, module, name, types, schedule.blockThreads);
  if (schedule.resident > 0)
    kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    builder.getI32IntegerAttr(schedule.resident));
  for (auto [value, buffer] : llvm::zip_equal(
           partials, kernel.getArguments().take_back(partials.size())))
    partialBuffers[value] = buffer;
  result.name = name.str();
  result.threads = schedule.blockThreads;
}

PointAccess RowKernelBuilder::boundAccess(OpOperand &operand) {
  PointAccess access = group.accessOf(operand);
  access.buffer =
      kernel.getArgument(cast<BlockArgument>(operand.get()).getArgNumber());
  return access;
}

Value RowKernelBuilder::operandValue(OpOperand &operand,
                                     const PointChunk *chunk, unsigned lane) {
  Value value = operand.get();
  DenseElementsAttr constant;
  if (matchPattern(skipReshapes(value), m_Constant(&constant)))
    return arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(constant.getSplatValue<Attribute>()));
  if (linalg::GenericOp producer = group.producerOf(value))
    return group.isFull(producer) ? fullValue(skipReshapes(value), *chunk, lane)
                                  : rowValue(skipReshapes(value));
  PointChunk whole;
  whole.row = row;
  whole.column = emit.constant(0);
  return emit.load(boundAccess(operand), chunk ? *chunk : whole, lane);
}

SmallVector<Value> RowKernelBuilder::evaluate(linalg::GenericOp op,
                                              ArrayRef<Value> wanted,
                                              const PointChunk *chunk,
                                              unsigned lane,
                                              ArrayRef<Operation *> skipped) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  unsigned split = *splitLoops(extents, group.rows);
  PointChunk whole;
  whole.row = row;
  whole.column = emit.constant(0);
  return emit.evaluate(
      op, wanted,
      [&](unsigned argument) {
        return operandValue(op->getOpOperand(argument), chunk, lane);
      },
      [&](unsigned dim) {
        return emit.loopIndex(extents, split, dim, chunk ? *chunk : whole,
                              lane);
      },
      skipped);
}

Value RowKernelBuilder::rowValue(Value value) {
  if (Value known = rowValues.lookup(value))
    return known;
  auto op = value.getDefiningOp<linalg::GenericOp>();
  assert(!group.isReduction(op) && "used before it was reduced");
  SmallVector<Value> wanted(op.getBlock()->getTerminator()->getOperands());
  SmallVector<Value> values = evaluate(op, wanted, nullptr, 0);
  for (auto [name, made] : llvm::zip_equal(op->getResults(), values))
    rowValues[name] = made;
  return rowValues[value];
}

Value RowKernelBuilder::fullValue(Value value, const PointChunk &chunk,
                                  unsigned lane) {
  auto key = [&](Value name) {
    return std::make_pair((const void *)name.getAsOpaquePointer(),
                          std::make_pair(chunk.id, lane));
  };
  if (auto found = fullValues.find(key(value)); found != fullValues.end())
    return found->second;
  auto op = value.getDefiningOp<linalg::GenericOp>();
  SmallVector<Value> wanted(op.getBlock()->getTerminator()->getOperands());
  SmallVector<Value> values = evaluate(op, wanted, &chunk, lane);
  for (auto [name, made] : llvm::zip_equal(op->getResults(), values))
    fullValues[key(name)] = made;
  return fullValues[key(value)];
}

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

Value RowKernelBuilder::isLeader() {
  if (!isRowLeader) {
    isRowLeader = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        thread, emit.constant(0));
    if (rowInside)
      isRowLeader = arith::AndIOp::create(builder, loc, isRowLeader, rowInside);
  }
  return isRowLeader;
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

void RowKernelBuilder::runPass(unsigned pass) {
  SmallVector<linalg::GenericOp> reductions;
  for (linalg::GenericOp op : group.ops)
    if (group.isReduction(op) && group.level.lookup(op) == pass)
      reductions.push_back(op);
  std::vector<Reduction> names;
  for (linalg::GenericOp op : reductions)
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      names.emplace_back(op, i);

  SmallVector<Value> values;
  if (pass < firstPass) {
    // Another kernel has run this pass.
    for (const Reduction &each : names) {
      Value sum;
      for (int64_t first = 0; first < schedule.parts;
           first += schedule.threads) {
        PointChunk chunk;
        chunk.row = row;
        chunk.id = chunks++;
        Value number = emit.add(thread, emit.constant(first));
        bool mayLeave = first + schedule.threads > schedule.parts;
        Value inside = mayLeave
                           ? emit.less(number, emit.constant(schedule.parts))
                           : Value();
        chunk.column = inside
                           ? arith::SelectOp::create(builder, loc, inside,
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
  } else {
    // Results that this pass stores.
    SmallVector<std::pair<Value, unsigned>> stored;
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
              auto &mine = contributions.emplace_back();
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
                  lanes.push_back(
                      evaluate(op, wanted, &chunk, lane, combiners));
                for (unsigned i = 0; i < op.getNumResults(); ++i)
                  for (auto &lane : lanes)
                    mine.push_back(lane[i]);
              }
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
                  wide = arith::SelectOp::create(builder, loc, chunk.inside,
                                                 wide, each.neutral(builder));
                next[k] = each.combine(builder, next[k], wide);
              }
            for (auto [chunk, full] : llvm::zip_equal(several, toStore)) {
              if (stored.empty())
                break;
              Value inside = chunk.inside;
              if (rowInside)
                inside = inside ? arith::AndIOp::create(builder, loc, inside,
                                                        rowInside)
                                      .getResult()
                                : rowInside;
              OpBuilder::InsertionGuard guard(builder);
              if (inside)
                builder.setInsertionPointToStart(
                    scf::IfOp::create(builder, loc, inside, false).thenBlock());
              for (auto [k, each] : llvm::enumerate(stored)) {
                auto [value, number] = each;
                auto op = value.getDefiningOp<linalg::GenericOp>();
                OpOperand *init = op.getDpsInitOperand(
                    cast<OpResult>(value).getResultNumber());
                PointAccess access = group.accessOf(*init);
                access.buffer =
                    kernel.getArgument(group.func.getNumArguments() + number);
                emit.store(access, chunk,
                           ArrayRef(full).slice(k * group.width, group.width));
              }
            }
            return next;
          });
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
  }
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

void RowKernelBuilder::storeRows() {
  SmallVector<std::pair<Value, Value>> stored;
  for (auto [number, output] : llvm::enumerate(group.outputs()))
    if (!group.isFull(group.producerOf(output)))
      stored.push_back(
          {rowValue(skipReshapes(output)),
           kernel.getArgument(group.func.getNumArguments() + number)});
  if (stored.empty())
    return;
  Value condition = isLeader();
  if (schedule.parts > 1)
    condition = arith::AndIOp::create(
        builder, loc, condition,
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, part,
                              emit.constant(0)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(
      scf::IfOp::create(builder, loc, condition, false).thenBlock());
  for (auto [value, buffer] : stored)
    memref::StoreOp::create(builder, loc, value, buffer, emit.toIndex(row));
}

DeviceKernel RowKernelBuilder::build() {
  int64_t rowsOfBlock = schedule.blockThreads / schedule.threads;
  Value block =
      emit.fromIndex(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  Value number =
      emit.fromIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  part = emit.constant(0);
  bool hasPasses = firstPass <= lastPass;
  if (schedule.parts > 1 && hasPasses) {
    row = emit.divide(block, schedule.parts);
    part = emit.remainder(block, schedule.parts);
    thread = number;
    result.blocks = group.rows * schedule.parts;
  } else if (rowsOfBlock == 1) {
    row = block;
    thread = number;
    result.blocks = group.rows;
  } else {
    row = emit.add(emit.scale(block, rowsOfBlock),
                   emit.divide(number, schedule.threads));
    thread = emit.remainder(number, schedule.threads);
    result.blocks = llvm::divideCeil(group.rows, rowsOfBlock);
    if (group.rows % rowsOfBlock != 0) {
      // The threads behind the last row repeat it and store nothing.
      rowInside = emit.less(row, emit.constant(group.rows));
      row = emit.minimum(row, emit.constant(group.rows - 1));
    }
  }
  if (schedule.holds) {
    int64_t all = llvm::divideCeil(group.columns, group.width);
    for (int64_t i = 0; i * schedule.threads < all; ++i) {
      PointChunk chunk;
      chunk.row = row;
      chunk.width = group.width;
      chunk.id = chunks++;
      Value number = emit.add(thread, emit.constant(i * schedule.threads));
      if ((i + 1) * schedule.threads > all) {
        chunk.inside = emit.less(number, emit.constant(all));
        number = arith::SelectOp::create(builder, loc, chunk.inside, number,
                                         emit.constant(0));
      }
      chunk.column = emit.scale(number, group.width);
      held.push_back(chunk);
    }
  }
  for (linalg::GenericOp op : group.ops)
    if (!group.isFull(op) && !group.isReduction(op) &&
        group.level.lookup(op) == 0)
      rowValue(op.getResult(0));
  for (unsigned pass = 1; pass <= lastPass; ++pass)
    runPass(pass);
  if (isLast)
    storeRows();
  return result;
}

SplitKernels fastk::buildRowKernels(gpu::GPUModuleOp module, func::FuncOp func,
                                    unsigned firstNumber,
                                    KernelChoices &choices) {
  RowGroup group(func);
  SplitKernels kernels;
  std::optional<RowSchedule> chosen = scheduleRows(group, choices);
  if (!chosen)
    return kernels;
  RowSchedule schedule = *chosen;
  auto nameOf = [&](unsigned number) {
    return "k" + std::to_string(firstNumber + number);
  };
  unsigned last = group.lastPass();
  if (schedule.parts == 1) {
    kernels.kernels.push_back(
        RowKernelBuilder(module, group, schedule, nameOf(0), 1, last, true)
            .build());
    return kernels;
  }
  for (unsigned pass = 1; pass <= last; ++pass)
    kernels.kernels.push_back(RowKernelBuilder(module, group, schedule,
                                               nameOf(pass - 1), pass, pass,
                                               pass > group.levels)
                                  .build());
  if (last == group.levels) {
    // Nothing but rows is left: a block for each.
    RowKernelBuilder builder(module, group, schedule, nameOf(last), last + 1,
                             last, true);
    kernels.kernels.push_back(builder.build());
  }
  for (linalg::GenericOp op : group.ops)
    if (group.isReduction(op))
      for (unsigned i = 0; i < op.getNumResults(); ++i) {
        kernels.scratch.push_back(kernels.scratchBytes);
        kernels.scratchBytes +=
            llvm::alignTo(group.rows * schedule.parts * 8, 256);
      }
  return kernels;
}
