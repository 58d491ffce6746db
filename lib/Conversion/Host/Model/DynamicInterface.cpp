//===- DynamicInterface.cpp - Tensors of dynamic shape at the border ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DynamicInterface.h"
#include "CallFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fastk;

/// What stands for a pointer to elements of `type`.
static MemRefType pointerTo(Type type) { return MemRefType::get({1}, type); }

static MemRefType shapeOf(MemRefType type) {
  return MemRefType::get({type.getRank()},
                         IntegerType::get(type.getContext(), 64));
}

static Value constantIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// The size of dimension `dim` as the caller says.
static Value loadSize(OpBuilder &builder, Location loc, Value shape,
                      int64_t dim) {
  Value size = memref::LoadOp::create(builder, loc, shape,
                                      constantIndex(builder, loc, dim));
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), size);
}

/// A memref of `type` at `data`, of the sizes in `shape`, which are checked.
static Value makeMemRef(OpBuilder &builder, Location loc, MemRefType type,
                        Value data, Value shape, unsigned number) {
  SmallVector<OpFoldResult> sizes, strides(type.getRank());
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    Value given = loadSize(builder, loc, shape, dim);
    Value wanted =
        constantIndex(builder, loc, ShapedType::isDynamic(size) ? 0 : size);
    Value fits = arith::CmpIOp::create(builder, loc,
                                       ShapedType::isDynamic(size)
                                           ? arith::CmpIPredicate::sge
                                           : arith::CmpIPredicate::eq,
                                       given, wanted);
    std::string text = llvm::formatv(
        "input {0}: dimension {1} is not {2}", number, dim,
        ShapedType::isDynamic(size) ? "a size" : std::to_string(size));
    cf::AssertOp::create(builder, loc, fits, text);
    sizes.push_back(ShapedType::isDynamic(size)
                        ? OpFoldResult(given)
                        : OpFoldResult(builder.getIndexAttr(size)));
  }
  OpFoldResult stride = builder.getIndexAttr(1);
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    auto known = getConstantIntValue(stride),
         size = getConstantIntValue(sizes[dim]);
    if (known && size)
      stride = builder.getIndexAttr(*known * *size);
    else
      stride = arith::MulIOp::create(
                   builder, loc,
                   getValueOrCreateConstantIndexOp(builder, loc, stride),
                   getValueOrCreateConstantIndexOp(builder, loc, sizes[dim]))
                   .getResult();
  }
  // As the type has them: dynamic after the first dynamic size from behind.
  return memref::ReinterpretCastOp::create(
      builder, loc, type, data, builder.getIndexAttr(0), sizes, strides);
}

void fastk::splitDynamicArguments(func::FuncOp func) {
  Block &entry = func.getBody().front();
  OpBuilder builder(func);
  builder.setInsertionPointToStart(&entry);
  unsigned number = 0;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i, ++number) {
    BlockArgument argument = entry.getArgument(i);
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || type.hasStaticShape())
      continue;
    Location loc = argument.getLoc();
    Value data =
        entry.insertArgument(i + 1, pointerTo(type.getElementType()), loc);
    Value shape = entry.insertArgument(i + 2, shapeOf(type), loc);
    argument.replaceAllUsesWith(
        makeMemRef(builder, loc, type, data, shape, number));
    entry.eraseArgument(i);
    ++i;
  }
  func.setFunctionType(
      builder.getFunctionType(entry.getArgumentTypes(), func.getResultTypes()));
}

void fastk::moveDynamicResult(func::FuncOp func, func::ReturnOp ret,
                              Value result) {
  Block &entry = func.getBody().front();
  OpBuilder builder(ret);
  Location loc = ret.getLoc();
  auto type = cast<MemRefType>(result.getType());
  Value slot = entry.addArgument(pointerTo(builder.getIndexType()), loc);
  Value shape = entry.addArgument(shapeOf(type), loc);
  SmallVector<Value> dynamic;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    Value index = constantIndex(builder, loc, dim);
    Value value =
        ShapedType::isDynamic(size)
            ? memref::DimOp::create(builder, loc, result, index).getResult()
            : constantIndex(builder, loc, size);
    value =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
    memref::StoreOp::create(builder, loc, value, shape, index);
    // Read back: of a size that turns out to be known the canonicalizer would
    // make another allocation, without what is noted on this one.
    if (ShapedType::isDynamic(size))
      dynamic.push_back(loadSize(builder, loc, shape, dim));
  }
  auto plain = MemRefType::get(type.getShape(), type.getElementType());
  // Always the caller's own: what is returned may be an argument, or another
  // result as well.
  auto copy = memref::AllocOp::create(builder, loc, plain, dynamic,
                                      builder.getI64IntegerAttr(64));
  copy->setAttr(kResultAttr, builder.getUnitAttr());
  memref::CopyOp::create(builder, loc, result, copy);
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, copy);
  memref::StoreOp::create(builder, loc, address, slot,
                          constantIndex(builder, loc, 0));
}
