//===- PointEmitter.cpp - Points of a row in a kernel ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PointEmitter.h"
#include "Access.h"
#include "fastk/Dialect/Linalg/FusedProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fastk;

std::optional<int64_t> PointAccess::columnStride() const {
  return collapsedStride(ArrayRef(coefficients).drop_front(split),
                         ArrayRef(extents).drop_front(split));
}

bool PointAccess::isVector(int64_t width) const {
  if (!element || !element.isIntOrFloat() ||
      element.getIntOrFloatBitWidth() < 8)
    return false;
  // The innermost loops that are one run in memory.
  int64_t run = 1;
  unsigned dim = extents.size();
  for (; dim > split; --dim) {
    if (extents[dim - 1] == 1)
      continue;
    if (coefficients[dim - 1] != run)
      break;
    run *= extents[dim - 1];
  }
  if (run == 1 || (dim > split && run % width != 0))
    return false;
  return llvm::all_of(ArrayRef(coefficients).take_front(dim),
                      [&](int64_t step) { return step % width == 0; });
}

Value PointEmitter::constant(int64_t value) {
  return arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(builder.getIntegerAttr(indexType, value)));
}

static std::optional<int64_t> valueOf(Value value) {
  return getConstantIntValue(value);
}

Value PointEmitter::add(Value a, Value b) {
  if (valueOf(a) == 0)
    return b;
  if (valueOf(b) == 0)
    return a;
  return arith::AddIOp::create(builder, loc, a, b);
}

Value PointEmitter::scale(Value value, int64_t factor) {
  if (factor == 1)
    return value;
  if (factor == 0 || valueOf(value) == 0)
    return constant(0);
  return arith::MulIOp::create(builder, loc, value, constant(factor));
}

Value PointEmitter::divide(Value value, int64_t by) {
  if (by == 1)
    return value;
  return arith::DivUIOp::create(builder, loc, value, constant(by));
}

Value PointEmitter::remainder(Value value, int64_t by) {
  if (by == 1)
    return constant(0);
  return arith::RemUIOp::create(builder, loc, value, constant(by));
}

Value PointEmitter::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}

Value PointEmitter::minimum(Value a, Value b) {
  return arith::MinUIOp::create(builder, loc, a, b);
}

Value PointEmitter::toIndex(Value value) {
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      value);
}

Value PointEmitter::fromIndex(Value value) {
  return arith::IndexCastUIOp::create(builder, loc, indexType, value);
}

Value PointEmitter::delinearize(Value number, ArrayRef<int64_t> extents,
                                unsigned dim) {
  int64_t inner = 1;
  for (int64_t extent : extents.drop_front(dim + 1))
    inner *= extent;
  Value index = divide(number, inner);
  bool isOutermost = llvm::all_of(extents.take_front(dim),
                                  [](int64_t extent) { return extent == 1; });
  return isOutermost ? index : remainder(index, extents[dim]);
}

Value PointEmitter::loopIndex(ArrayRef<int64_t> extents, unsigned split,
                              unsigned dim, const PointChunk &chunk,
                              unsigned lane) {
  if (extents[dim] == 1)
    return constant(0);
  if (dim < split)
    return delinearize(chunk.row, extents.take_front(split), dim);
  return delinearize(add(chunk.column, constant(lane)),
                     extents.drop_front(split), dim - split);
}

Value PointEmitter::rowOffset(const PointAccess &access, Value row) {
  auto extents = ArrayRef(access.extents).take_front(access.split);
  auto coefficients = ArrayRef(access.coefficients).take_front(access.split);
  if (auto stride = collapsedStride(coefficients, extents))
    return scale(row, *stride);
  Value offset = constant(0);
  for (unsigned dim = 0; dim < access.split; ++dim)
    if (extents[dim] != 1 && coefficients[dim] != 0)
      offset =
          add(offset, scale(delinearize(row, extents, dim), coefficients[dim]));
  return offset;
}

Value PointEmitter::address(const PointAccess &access, const PointChunk &chunk,
                            unsigned lane) {
  Value offset = rowOffset(access, chunk.row);
  std::optional<int64_t> stride = access.columnStride();
  if (stride == 0)
    return toIndex(offset);
  if (stride)
    return toIndex(
        add(offset, scale(add(chunk.column, constant(lane)), *stride)));
  for (unsigned dim = access.split; dim < access.extents.size(); ++dim)
    if (access.coefficients[dim] != 0)
      offset =
          add(offset,
              scale(loopIndex(access.extents, access.split, dim, chunk, lane),
                    access.coefficients[dim]));
  return toIndex(offset);
}

/// Two accesses with the same signature read the same.
static std::vector<int64_t> signature(const PointAccess &access,
                                      const PointChunk &chunk, unsigned lane,
                                      int64_t width) {
  auto pointer = [](Value value) {
    return int64_t(reinterpret_cast<uintptr_t>(value.getAsOpaquePointer()));
  };
  std::vector<int64_t> key = {pointer(access.buffer), pointer(chunk.row),
                              width};
  std::optional<int64_t> columns = access.columnStride();
  if (columns == 0)
    key.insert(key.end(), {-1, -1});
  else
    key.insert(key.end(), {int64_t(chunk.id), int64_t(lane)});
  auto rows =
      collapsedStride(ArrayRef(access.coefficients).take_front(access.split),
                      ArrayRef(access.extents).take_front(access.split));
  if (rows && columns) {
    key.insert(key.end(), {*rows, *columns});
    return key;
  }
  key.insert(key.end(), access.extents.begin(), access.extents.end());
  key.insert(key.end(), access.coefficients.begin(), access.coefficients.end());
  return key;
}

Value PointEmitter::load(const PointAccess &access, const PointChunk &chunk,
                         unsigned lane) {
  bool isVector = chunk.width > 1 && access.isVector(chunk.width);
  Value &value = known[signature(access, chunk, isVector ? 0 : lane,
                                 isVector ? chunk.width : 1)];
  if (!value) {
    Value place = address(access, chunk, isVector ? 0 : lane);
    if (isVector)
      value = vector::LoadOp::create(
          builder, loc, VectorType::get({chunk.width}, access.element),
          access.buffer, place);
    else
      value = memref::LoadOp::create(builder, loc, access.buffer, place);
  }
  if (!isVector)
    return value;
  return vector::ExtractOp::create(builder, loc, value, int64_t(lane));
}

void PointEmitter::store(const PointAccess &access, const PointChunk &chunk,
                         ValueRange values) {
  if (chunk.width > 1 && access.isVector(chunk.width)) {
    Value packed = vector::FromElementsOp::create(
        builder, loc, VectorType::get({chunk.width}, access.element), values);
    vector::StoreOp::create(builder, loc, packed, access.buffer,
                            address(access, chunk, 0));
    return;
  }
  for (auto [lane, value] : llvm::enumerate(values))
    memref::StoreOp::create(builder, loc, value, access.buffer,
                            address(access, chunk, lane));
}

SmallVector<Value>
PointEmitter::evaluate(linalg::GenericOp op, ArrayRef<Value> wanted,
                       llvm::function_ref<Value(unsigned)> argument,
                       llvm::function_ref<Value(unsigned)> index,
                       ArrayRef<Operation *> skipped) {
  IRMapping values;
  auto lookUp = [&](Value value) {
    if (values.contains(value))
      return;
    if (auto block = dyn_cast<BlockArgument>(value);
        block && block.getOwner() == op.getBlock()) {
      values.map(value, argument(block.getArgNumber()));
      return;
    }
    Operation *definition = value.getDefiningOp();
    // Constants of the function around it.
    if (definition && definition->getBlock() != op.getBlock() &&
        !op->isAncestor(definition))
      builder.clone(*definition, values);
  };
  for (Operation &each : op.getBlock()->without_terminator()) {
    if (llvm::is_contained(skipped, &each))
      continue;
    if (auto loop = dyn_cast<linalg::IndexOp>(each)) {
      values.map(loop.getResult(), toIndex(index(loop.getDim())));
      continue;
    }
    each.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        lookUp(operand);
    });
    builder.clone(each, values);
    allowFusedProduct(each, values);
  }
  SmallVector<Value> results;
  for (Value value : wanted) {
    lookUp(value);
    results.push_back(values.lookup(value));
  }
  return results;
}
