//===- TileEmitter.cpp - What kernels on tiles are made of ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileEmitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fastk;

/// i32 where every place inside one matrix fits.
static Type chooseNumberType(const Contraction &contraction) {
  bool fits = true;
  for (unsigned i = 0; i < contraction.operands.size(); ++i)
    fits &= contraction.m.reach(i) + contraction.n.reach(i) +
                contraction.k.reach(i) <
            (int64_t(1) << 30);
  fits &= contraction.m.size() < (int64_t(1) << 30) &&
          contraction.n.size() < (int64_t(1) << 30) &&
          contraction.k.size() < (int64_t(1) << 30);
  return IntegerType::get(contraction.element.getContext(), fits ? 32 : 64);
}

/// What the kernel takes from the host: memrefs, and constants of the bodies.
static SmallVector<Value> usedValues(const Contraction &contraction) {
  llvm::SetVector<Value> used;
  for (auto [number, operand] : llvm::enumerate(contraction.operands))
    if (contraction.usesOperand(number))
      used.insert(operand);
  for (linalg::GenericOp op :
       {contraction.op, contraction.fold.start, contraction.fold.end})
    if (op)
      getUsedValuesDefinedAbove(op.getRegion(), used);
  return used.takeVector();
}

TileEmitter::TileEmitter(gpu::GPUModuleOp module,
                         const Contraction &contraction, StringRef name,
                         int64_t threads)
    : contraction(contraction), body(contraction.op),
      func(body.createFunction(module, name, threads, usedValues(contraction))),
      builder(body.builder), loc(body.loc),
      numberType(chooseNumberType(contraction)) {}

Value TileEmitter::number(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(numberType, value));
}

Value TileEmitter::index(int64_t value) { return body.constant(value); }

Value TileEmitter::toIndex(Value number) {
  return builder.createOrFold<arith::IndexCastUIOp>(loc, builder.getIndexType(),
                                                    number);
}

Value TileEmitter::add(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value TileEmitter::mul(Value a, int64_t b) {
  return b == 1 ? a : builder.createOrFold<arith::MulIOp>(loc, a, number(b));
}

Value TileEmitter::div(Value a, int64_t b) {
  return b == 1 ? a : builder.createOrFold<arith::DivUIOp>(loc, a, number(b));
}

Value TileEmitter::rem(Value a, int64_t b) {
  return b == 1 ? number(0)
                : builder.createOrFold<arith::RemUIOp>(loc, a, number(b));
}

Value TileEmitter::bitXor(Value a, Value b) {
  return builder.createOrFold<arith::XOrIOp>(loc, a, b);
}

Value TileEmitter::less(Value a, int64_t b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, a,
                                             number(b));
}

Value TileEmitter::min(Value a, int64_t b) {
  return builder.createOrFold<arith::MinUIOp>(loc, a, number(b));
}

Value TileEmitter::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return builder.createOrFold<arith::AndIOp>(loc, a, b);
}

Value TileEmitter::select(Value condition, Value yes, Value no) {
  return builder.createOrFold<arith::SelectOp>(loc, condition, yes, no);
}

Value TileEmitter::thread() {
  Value id = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  return arith::IndexCastUIOp::create(builder, loc, numberType, id);
}

int64_t TileEmitter::countTiles(int64_t rows, int64_t columns) const {
  return llvm::divideCeil(contraction.m.size(), rows) *
         llvm::divideCeil(contraction.n.size(), columns) *
         contraction.batch.size();
}

std::pair<Value, Value> TileEmitter::locateTile(int64_t rows, int64_t columns) {
  int64_t rowTiles = llvm::divideCeil(contraction.m.size(), rows);
  int64_t columnTiles = llvm::divideCeil(contraction.n.size(), columns);
  Value id = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Value tile = arith::IndexCastUIOp::create(builder, loc, numberType, id);
  if (contraction.batch.size() > 1) {
    batch = div(tile, rowTiles * columnTiles);
    tile = rem(tile, rowTiles * columnTiles);
  }
  int64_t inBand = contraction.band * columnTiles;
  Value band = div(tile, inBand);
  Value inside = rem(tile, inBand);
  Value firstRow = mul(band, contraction.band);
  Value row, column;
  if (rowTiles % contraction.band == 0) {
    row = add(firstRow, rem(inside, contraction.band));
    column = div(inside, contraction.band);
  } else {
    // The last band is less high.
    Value left =
        arith::SubIOp::create(builder, loc, number(rowTiles), firstRow);
    Value height = min(left, contraction.band);
    row = add(firstRow, arith::RemUIOp::create(builder, loc, inside, height));
    column = arith::DivUIOp::create(builder, loc, inside, height);
  }
  return {mul(row, rows), mul(column, columns)};
}

std::pair<Value, Value> TileEmitter::locatePoint(int64_t width,
                                                 int64_t threads) {
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Value id = arith::IndexCastUIOp::create(builder, loc, numberType, block);
  id = add(mul(id, threads), thread());
  int64_t rows = contraction.m.size(), groups = contraction.n.size() / width;
  int64_t points = contraction.batch.size() * rows * groups;
  Value inside = points % threads == 0 ? Value() : less(id, points);
  if (inside)
    id = min(id, points - 1);
  Value column = mul(rem(id, groups), width);
  Value row = div(id, groups);
  if (contraction.batch.size() > 1) {
    batch = div(row, rows);
    row = rem(row, rows);
  }
  if (inside)
    row = select(inside, row, number(rows));
  return {row, column};
}

TileOperand TileEmitter::operand(unsigned number) {
  TileOperand result;
  result.number = number;
  Value host = contraction.operands[number];
  Value device = body.deviceValues().lookup(host);
  auto type = cast<MemRefType>(device.getType());
  result.element = type.getElementType();
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t elements = 1;
  for (auto [extent, stride] : llvm::zip_equal(type.getShape(), strides))
    elements += (extent - 1) * stride;
  result.flat = memref::ReinterpretCastOp::create(
      builder, loc, MemRefType::get({elements}, result.element), device,
      /*offset=*/0, /*sizes=*/ArrayRef<int64_t>{elements},
      /*strides=*/ArrayRef<int64_t>{1});
  if (batch) {
    // Batches may reach further than i32 does.
    Value rest = toIndex(batch);
    for (const TileLoop &loop : llvm::reverse(contraction.batch.loops)) {
      Value extent = index(loop.extent);
      Value here = arith::RemUIOp::create(builder, loc, rest, extent);
      rest = arith::DivUIOp::create(builder, loc, rest, extent);
      if (loop.strides[number] == 0)
        continue;
      Value step = arith::MulIOp::create(builder, loc, here,
                                         index(loop.strides[number]));
      result.base = add(result.base, step);
    }
  }
  return result;
}

Value TileEmitter::offset(const LoopGroup &group, Value number,
                          const TileOperand &operand) {
  Value sum;
  for (auto [i, loop] : llvm::reverse(llvm::enumerate(group.loops))) {
    Value here = i == 0 ? number : rem(number, loop.extent);
    if (i != 0)
      number = div(number, loop.extent);
    if (int64_t stride = loop.strides[operand.number])
      sum = add(sum, mul(here, stride));
  }
  return sum;
}

Value TileEmitter::place(const TileOperand &operand, ArrayRef<Value> offsets) {
  Value sum;
  for (Value each : offsets)
    sum = add(sum, each);
  Value place = sum ? toIndex(sum) : index(0);
  return add(operand.base, place);
}

Value TileEmitter::pointer(const TileOperand &operand, Value place) {
  Value step =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), place);
  return LLVM::GEPOp::create(builder, loc, operand.flat.getType(),
                             operand.element, operand.flat, step);
}

SmallVector<Value> TileEmitter::load(const TileOperand &operand, Value place,
                                     int64_t width) {
  Type type = operand.element;
  if (width > 1)
    type = VectorType::get({width}, type);
  bool isShared = isa<LLVM::LLVMPointerType>(operand.flat.getType());
  unsigned bytes = width * operand.element.getIntOrFloatBitWidth() / 8;
  Value vector;
  if (isShared)
    vector = LLVM::LoadOp::create(builder, loc, type, pointer(operand, place),
                                  bytes);
  else if (width == 1)
    vector = memref::LoadOp::create(builder, loc, operand.flat, place);
  else
    vector = vector::LoadOp::create(builder, loc, cast<VectorType>(type),
                                    operand.flat, place);
  if (width == 1)
    return {vector};
  SmallVector<Value> values;
  for (int64_t i = 0; i < width; ++i)
    values.push_back(vector::ExtractOp::create(builder, loc, vector, i));
  return values;
}

void TileEmitter::store(const TileOperand &operand, Value place,
                        ArrayRef<Value> values) {
  Value vector = values[0];
  if (values.size() > 1)
    vector = vector::FromElementsOp::create(
        builder, loc,
        VectorType::get({int64_t(values.size())}, operand.element), values);
  unsigned bytes = values.size() * operand.element.getIntOrFloatBitWidth() / 8;
  if (isa<LLVM::LLVMPointerType>(operand.flat.getType()))
    LLVM::StoreOp::create(builder, loc, vector, pointer(operand, place), bytes);
  else if (values.size() == 1)
    memref::StoreOp::create(builder, loc, vector, operand.flat, place);
  else
    vector::StoreOp::create(builder, loc, vector, operand.flat, place);
}

Value TileEmitter::compute(const ContractionSide &side,
                           ArrayRef<Value> loaded) {
  IRMapping values(body.deviceValues());
  linalg::GenericOp op = contraction.op;
  Block *block = op.getBlock();
  for (auto [number, value] : llvm::zip_equal(side.operands, loaded))
    values.map(block->getArgument(number), value);
  for (Operation *each : side.body)
    builder.clone(*each, values);
  return values.lookup(side.result);
}

Value TileEmitter::compute(linalg::GenericOp op, ArrayRef<Value> loaded) {
  IRMapping values(body.deviceValues());
  for (auto [argument, value] :
       llvm::zip(op.getBlock()->getArguments(), loaded))
    values.map(argument, value);
  for (Operation &each : op.getBlock()->without_terminator())
    builder.clone(each, values);
  return values.lookup(op.getBlock()->getTerminator()->getOperand(0));
}

Value TileEmitter::zero(Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

void TileEmitter::barrier() { gpu::BarrierOp::create(builder, loc); }

void TileEmitter::branch(Value condition, llvm::function_ref<void()> then) {
  if (!condition) {
    then();
    return;
  }
  auto branch =
      scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  then();
}

/// The address that `buffer` begins at, in a space of NVVM.
static Value addressOf(OpBuilder &builder, Location loc, Value buffer,
                       unsigned space) {
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
  address =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), space),
      address);
}

static constexpr unsigned kShared = unsigned(NVVM::NVVMMemorySpace::Shared);
static constexpr unsigned kGlobal = unsigned(NVVM::NVVMMemorySpace::Global);

TileOperand TileEmitter::shared(Type element, int64_t elements) {
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type =
      MemRefType::get({elements}, element, MemRefLayoutAttrInterface(), space);
  Value buffer = func.addWorkgroupAttribution(type, loc);
  func.setWorkgroupAttributionAttr(func.getNumWorkgroupAttributions() - 1,
                                   LLVM::LLVMDialect::getAlignAttrName(),
                                   builder.getI64IntegerAttr(16));
  TileOperand operand;
  operand.element = element;
  operand.flat = addressOf(builder, loc, buffer, kShared);
  return operand;
}

TileOperand TileEmitter::dynamicShared(Type element) {
  // Of no size and external: it begins behind the static shared memory.
  StringRef name = "fastk_shared";
  auto module = func->getParentOfType<gpu::GPUModuleOp>();
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(
        builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, name, Attribute(),
        /*alignment=*/16, kShared);
  }
  TileOperand operand;
  operand.element = element;
  operand.flat = LLVM::AddressOfOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), kShared),
      name);
  return operand;
}

TileOperand TileEmitter::global(const TileOperand &operand) {
  TileOperand result = operand;
  // Parameters are generic addresses; those of global memory are the same.
  Value generic = addressOf(builder, loc, operand.flat, 0);
  result.flat = LLVM::AddrSpaceCastOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), kGlobal),
      generic);
  return result;
}

TileEmitter::Read TileEmitter::prepareRead(unsigned number,
                                           ArrayRef<Value> columns,
                                           int64_t width) {
  Read read;
  read.operand = operand(number);
  for (Value column : columns)
    read.offsets.push_back(offset(contraction.n, column, read.operand));
  read.vector =
      width > 1 && contraction.isVectorAccess(number, contraction.n, width);
  return read;
}

SmallVector<Value> TileEmitter::read(const Read &read, Value rowOffset,
                                     size_t column, int64_t width) {
  if (read.vector)
    return load(read.operand,
                place(read.operand, {rowOffset, read.offsets[column]}), width);
  SmallVector<Value> values;
  for (int64_t i = 0; i < width; ++i) {
    // One value for all where columns make no difference.
    if (i > 0 && !contraction.n.moves(read.operand.number)) {
      values.push_back(values[0]);
      continue;
    }
    Value here = place(read.operand, {rowOffset, read.offsets[column + i]});
    values.push_back(load(read.operand, here, 1)[0]);
  }
  return values;
}

void TileEmitter::storeResult(ArrayRef<Value> rows, ArrayRef<Value> columns,
                              int64_t group, ArrayRef<Value> sums) {
  unsigned number = contraction.result;
  bool alongColumns = contraction.isVectorAccess(number, contraction.n, group);
  int64_t width = alongColumns ? group : 1;
  linalg::GenericOp start = contraction.fold.start, end = contraction.fold.end;
  // Without a start the sums are added to what the result holds.
  SmallVector<Read> startReads, endReads;
  bool isPart = contraction.part == ContractionPart::Products;
  if (!isPart && !start)
    startReads.push_back(prepareRead(contraction.sum, columns, width));
  if (start)
    for (unsigned i = contraction.startOperands; i < contraction.endOperands;
         ++i)
      startReads.push_back(prepareRead(i, columns, width));
  Value sumMemory = contraction.operands[contraction.sum];
  if (end)
    for (unsigned i = 0; i < end.getNumDpsInputs(); ++i)
      endReads.push_back(
          end->getOperand(i) == sumMemory
              ? Read()
              : prepareRead(contraction.endOperands + i, columns, width));
  Read result = prepareRead(number, columns, width);

  SmallVector<Value> columnsInside;
  for (Value column : columns)
    columnsInside.push_back(less(column, contraction.n.size()));
  auto readAll = [&](ArrayRef<Read> reads, Value row, size_t column) {
    SmallVector<SmallVector<Value>> values;
    for (const Read &each : reads)
      values.push_back(each.operand.flat
                           ? read(each,
                                  offset(contraction.m, row, each.operand),
                                  column, width)
                           : SmallVector<Value>(width));
    return values;
  };
  auto at = [](ArrayRef<SmallVector<Value>> values, int64_t i, Value other) {
    SmallVector<Value> result;
    for (ArrayRef<Value> each : values)
      result.push_back(each[i] ? each[i] : other);
    return result;
  };
  for (auto [i, row] : llvm::enumerate(rows)) {
    Value rowInside = less(row, contraction.m.size());
    for (size_t j = 0; j < columns.size(); j += width) {
      Value inside = both(rowInside, columnsInside[j]);
      branch(inside, [&, i = i, row = row, j = j] {
        auto starts = readAll(startReads, row, j);
        auto ends = readAll(endReads, row, j);
        SmallVector<Value> values;
        for (int64_t e = 0; e < width; ++e) {
          Value value = sums[i * columns.size() + j + e];
          if (!isPart) {
            Value first =
                start ? compute(start, at(starts, e, nullptr)) : starts[0][e];
            value = arith::AddFOp::create(builder, loc, first, value);
          }
          values.push_back(end ? compute(end, at(ends, e, value)) : value);
        }
        Value here =
            place(result.operand, {offset(contraction.m, row, result.operand),
                                   result.offsets[j]});
        store(result.operand, here, values);
      });
    }
  }
}
