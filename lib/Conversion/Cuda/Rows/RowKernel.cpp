//===- RowKernel.cpp - A group of rows to kernels -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One kernel where a block, or a part of one, takes a row: values that later
// passes need stay in registers when they fit, otherwise each pass computes
// them again. A few long rows are split among blocks: then every pass is a
// kernel. Operands are those of the group's function, then its results.
//
//===----------------------------------------------------------------------===//

#include "RowKernelBuilder.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fastk;

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

Value RowKernelBuilder::isLeader() {
  if (!isRowLeader) {
    isRowLeader = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        thread, emit.constant(0));
    if (rowInside)
      isRowLeader = arith::AndIOp::create(builder, loc, isRowLeader, rowInside);
  }
  return isRowLeader;
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

namespace {
class RowStrategy : public KernelStrategy {
public:
  RowStrategy(CallOp call, func::FuncOp func) : call(call), group(func) {}

  LogicalResult decide(KernelChoices &choices) override {
    std::optional<RowSchedule> chosen = scheduleRows(group, choices);
    if (!chosen)
      return failure();
    schedule = *chosen;
    return success();
  }
  FailureOr<KernelSequence> emit(gpu::GPUModuleOp module,
                                 unsigned firstNumber) override;

private:
  CallOp call;
  RowGroup group;
  RowSchedule schedule;
};
} // namespace

FailureOr<KernelSequence> RowStrategy::emit(gpu::GPUModuleOp module,
                                            unsigned firstNumber) {
  KernelSequence made;
  auto add = [&](unsigned firstPass, unsigned lastPass, bool isLast) {
    std::string name = kernelName(firstNumber + made.kernels.size());
    RowKernelBuilder builder(module, group, schedule, name, firstPass, lastPass,
                             isLast);
    made.kernels.push_back(builder.build());
    made.kernels.back().operands.assign(call->operand_begin(),
                                        call->operand_end());
  };
  unsigned last = group.lastPass();
  if (schedule.parts == 1) {
    add(1, last, true);
    return made;
  }
  for (unsigned pass = 1; pass <= last; ++pass)
    add(pass, pass, pass > group.levels);
  // Nothing but rows is left: a block for each.
  if (last == group.levels)
    add(last + 1, last, true);
  for (linalg::GenericOp op : group.ops)
    if (group.isReduction(op))
      for (unsigned i = 0; i < op.getNumResults(); ++i) {
        made.scratch.push_back(made.scratchBytes);
        made.scratchBytes +=
            llvm::alignTo(group.rows * schedule.parts * 8, 256);
      }
  return made;
}

std::unique_ptr<KernelStrategy> fastk::matchRowGroup(Operation *op,
                                                     const KernelContext &) {
  auto call = dyn_cast<CallOp>(op);
  if (!call)
    return nullptr;
  auto group = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getLoweringAttr());
  if (!group || !isRowGroup(group))
    return nullptr;
  return std::make_unique<RowStrategy>(call, group);
}
