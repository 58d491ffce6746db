//===- BlockReduce.cpp - A value of every thread to one -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockReduce.h"
#include "Access.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

static constexpr int64_t kWarp = 32;

Reduction::Reduction(linalg::GenericOp op, unsigned index)
    : op(op), index(index) {
  Combiner found = findCombiner(op, index);
  combiner = found.op;
  contribution = found.contribution;
  type = found.contribution.getType();
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32)
    type = Float32Type::get(op.getContext());
}

Value Reduction::combine(OpBuilder &builder, Value a, Value b) const {
  Operation *copy = builder.clone(*combiner);
  copy->setOperands({a, b});
  copy->getResult(0).setType(type);
  return copy->getResult(0);
}

Value Reduction::neutral(OpBuilder &builder) const {
  // The op tells its neutral element for its own type.
  Operation *copy = combiner->clone();
  copy->getResult(0).setType(type);
  std::optional<TypedAttr> value = arith::getNeutralElement(copy);
  copy->destroy();
  return arith::ConstantOp::create(builder, op.getLoc(), *value);
}

Value Reduction::widen(OpBuilder &builder, Value value) const {
  if (value.getType() == type)
    return value;
  return arith::ExtFOp::create(builder, op.getLoc(), type, value);
}

Value Reduction::narrow(OpBuilder &builder, Value value) const {
  if (value.getType() == contribution.getType())
    return value;
  return arith::TruncFOp::create(builder, op.getLoc(), contribution.getType(),
                                 value);
}

Value fastk::shuffle(OpBuilder &builder, Location loc, Value value,
                     int64_t distance, gpu::ShuffleMode mode) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  auto exchange = [&](Value word) {
    return gpu::ShuffleOp::create(builder, loc, word, distance, kWarp, mode)
        .getShuffleResult();
  };
  if (type.isF32() || type == i32)
    return exchange(value);
  Type bits = builder.getIntegerType(width);
  if (!type.isInteger())
    value = arith::BitcastOp::create(builder, loc, bits, value);
  if (width < 32) {
    value = arith::ExtUIOp::create(builder, loc, i32, value);
    value = arith::TruncIOp::create(builder, loc, bits, exchange(value));
  } else if (width == 64) {
    Value half = arith::ConstantIntOp::create(builder, loc, bits, 32);
    Value low = arith::TruncIOp::create(builder, loc, i32, value);
    Value high = arith::TruncIOp::create(
        builder, loc, i32, arith::ShRUIOp::create(builder, loc, value, half));
    low = arith::ExtUIOp::create(builder, loc, bits, exchange(low));
    high = arith::ExtUIOp::create(builder, loc, bits, exchange(high));
    high = arith::ShLIOp::create(builder, loc, high, half);
    value = arith::OrIOp::create(builder, loc, low, high);
  } else {
    value = exchange(value);
  }
  if (!type.isInteger())
    value = arith::BitcastOp::create(builder, loc, type, value);
  return value;
}

void fastk::reduceInBlock(OpBuilder &builder, Location loc,
                          gpu::GPUFuncOp kernel, int64_t blockThreads,
                          int64_t threads, MutableArrayRef<Reduced> values) {
  auto exchangeAll = [&](int64_t lanes) {
    for (int64_t mask = lanes / 2; mask > 0; mask /= 2)
      for (Reduced &each : values)
        each.value = each.reduction->combine(
            builder, each.value,
            shuffle(builder, loc, each.value, mask, gpu::ShuffleMode::XOR));
  };
  exchangeAll(std::min(threads, kWarp));
  if (threads <= kWarp || values.empty())
    return;
  // One value of every warp; every warp then combines those of its group.
  int64_t warps = threads / kWarp;
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  Value warp = arith::DivUIOp::create(builder, loc, thread, constant(kWarp));
  Value lane = arith::RemUIOp::create(builder, loc, thread, constant(kWarp));
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  SmallVector<Value> shared;
  for (Reduced &each : values)
    shared.push_back(kernel.addWorkgroupAttribution(
        MemRefType::get({blockThreads / kWarp}, each.value.getType(),
                        MemRefLayoutAttrInterface(), space),
        loc));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        lane, constant(0));
  auto branch = scf::IfOp::create(builder, loc, isFirst, false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    for (auto [each, buffer] : llvm::zip_equal(values, shared))
      memref::StoreOp::create(builder, loc, each.value, buffer, warp);
  }
  gpu::BarrierOp::create(builder, loc);
  Value group = arith::DivUIOp::create(builder, loc, thread, constant(threads));
  Value first = arith::MulIOp::create(builder, loc, group, constant(warps));
  Value place = arith::AddIOp::create(
      builder, loc, first,
      arith::RemUIOp::create(builder, loc, lane, constant(warps)));
  for (auto [each, buffer] : llvm::zip_equal(values, shared))
    each.value = memref::LoadOp::create(builder, loc, buffer, place);
  exchangeAll(warps);
}
