//===- LowerScan.cpp - tm_tensor.scan to loops ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are independent and run in parallel, each with its prefix in a register.
// Where the dimension is not the last one, a row is a piece of the last
// dimension, for LLVM to vectorise. A single long row is cut into blocks when
// the body is associative: each block is combined, the results are scanned,
// then each block is scanned from where the one before it ends.
//
//===----------------------------------------------------------------------===//

#include "Host/Loops/LowerGeneric.h"
#include "LowerTMTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

/// A row of this length is worth three loops in place of one.
static constexpr int64_t kLongRow = 1 << 16;
/// The code, and so the rounding, is the same for any number of threads.
static constexpr int64_t kBlocks = 64;
/// So many columns of the last dimension go down another one together.
static constexpr int64_t kPiece = 512;

namespace {
class ScanEmitter {
public:
  ScanEmitter(OpBuilder &builder, tm_tensor::ScanOp op)
      : builder(builder), op(op), loc(op.getLoc()),
        dimension(op.getDimension()), input(op.getInputs()[0]),
        output(op.getOutputs()[0]), accumulator(op.getOutputs()[1]),
        sizes(sizesOf(builder, loc, op.getInputs()[0])),
        zero(constantIndex(builder, loc, 0)),
        one(constantIndex(builder, loc, 1)) {}

  void emit();
  /// Each row on its own, from its first element to its last.
  void emitSerialRows();

private:
  Value combine(Value before, Value element) {
    return emitBody(builder, op.getRegion().front(), {before, element});
  }
  Value load(Value memref, ArrayRef<Value> indices) {
    return memref::LoadOp::create(builder, loc, memref, indices);
  }
  void store(Value value, Value memref, ArrayRef<Value> indices) {
    memref::StoreOp::create(builder, loc, value, memref, indices);
  }
  SmallVector<Value> at(ArrayRef<Value> indices, Value position) {
    SmallVector<Value> result(indices);
    result[dimension] = position;
    return result;
  }
  SmallVector<Value> without(ArrayRef<Value> indices) {
    SmallVector<Value> result(indices);
    result.erase(result.begin() + dimension);
    return result;
  }
  /// The index of the input's element that makes the result's element `i`.
  Value source(Value i) {
    return op.getInclusive() ? i : arith::SubIOp::create(builder, loc, i, one);
  }
  Value first(ArrayRef<Value> row) {
    return op.getInclusive() ? load(input, at(row, zero))
                             : load(accumulator, without(row));
  }
  Value lessThan(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
  }
  /// Calls `body` in a loop; it is given the index and the carried value.
  Value loop(Value from, Value to, Value carried,
             llvm::function_ref<Value(Value, Value)> body);
  void loop(Value from, Value to, llvm::function_ref<void(Value)> body);
  void ifThen(Value condition, llvm::function_ref<void()> body);

  /// Elements [from, to) of a row; `value` is the element before `from`, or
  /// the one at it where `stored` says so. The last element.
  Value scanRow(ArrayRef<Value> row, Value from, Value to, Value value);
  void emitRow(ArrayRef<Value> row);
  void emitColumns();
  void emitBlocks();

  OpBuilder &builder;
  tm_tensor::ScanOp op;
  Location loc;
  int64_t dimension;
  Value input, output, accumulator;
  SmallVector<Value> sizes;
  Value zero, one;
};
} // namespace

Value ScanEmitter::loop(Value from, Value to, Value carried,
                        llvm::function_ref<Value(Value, Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, from, to, one, carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
  scf::YieldOp::create(builder, loc, next);
  return loop.getResult(0);
}

void ScanEmitter::loop(Value from, Value to,
                       llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, from, to, one);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void ScanEmitter::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value ScanEmitter::scanRow(ArrayRef<Value> row, Value from, Value to,
                           Value value) {
  return loop(from, to, value, [&](Value i, Value before) {
    Value next = combine(before, load(input, at(row, source(i))));
    store(next, output, at(row, i));
    return next;
  });
}

void ScanEmitter::emitRow(ArrayRef<Value> row) {
  Value length = sizes[dimension];
  ifThen(lessThan(zero, length), [&] {
    Value value = first(row);
    store(value, output, at(row, zero));
    value = scanRow(row, one, length, value);
    store(value, accumulator, without(row));
  });
}

void ScanEmitter::emitColumns() {
  // Over pieces of the last dimension, too.
  int64_t last = sizes.size() - 1;
  Value piece = constantIndex(builder, loc, kPiece), width = sizes[last];
  SmallVector<Value> trips(sizes);
  trips[last] = arith::CeilDivSIOp::create(builder, loc, width, piece);
  emitRows(builder, loc, trips, dimension,
           [&](OpBuilder &, SmallVector<Value> &indices) {
             Value from =
                 arith::MulIOp::create(builder, loc, indices[last], piece);
             Value to = arith::MinSIOp::create(
                 builder, loc, width,
                 arith::AddIOp::create(builder, loc, from, piece));
             Value length = sizes[dimension];
             auto column = [&](Value j) {
               SmallVector<Value> result(indices);
               result[last] = j;
               return result;
             };
             ifThen(lessThan(zero, length), [&] {
               loop(from, to, [&](Value j) {
                 SmallVector<Value> row = column(j);
                 store(first(row), output, at(row, zero));
               });
               loop(one, length, [&](Value i) {
                 Value before = arith::SubIOp::create(builder, loc, i, one);
                 loop(from, to, [&](Value j) {
                   SmallVector<Value> row = column(j);
                   store(combine(load(output, at(row, before)),
                                 load(input, at(row, source(i)))),
                         output, at(row, i));
                 });
               });
               Value end = arith::SubIOp::create(builder, loc, length, one);
               loop(from, to, [&](Value j) {
                 SmallVector<Value> row = column(j);
                 store(load(output, at(row, end)), accumulator, without(row));
               });
             });
           });
}

bool fastk::isAssociative(tm_tensor::ScanOp op) {
  Block &body = op.getRegion().front();
  if (!llvm::hasNItems(body, 2))
    return false;
  Operation &combiner = body.front();
  // All of them commute.
  Value before = body.getArgument(0), element = body.getArgument(1);
  return combiner.getNumOperands() == 2 &&
         llvm::is_contained(combiner.getOperands(), before) &&
         llvm::is_contained(combiner.getOperands(), element) &&
         body.getTerminator()->getOperand(0) == combiner.getResult(0) &&
         isa<arith::AddFOp, arith::MulFOp, arith::AddIOp, arith::MulIOp,
             arith::AndIOp, arith::OrIOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(
             combiner);
}

void ScanEmitter::emitBlocks() {
  Value length = sizes[0], blocks = constantIndex(builder, loc, kBlocks);
  Value size = arith::CeilDivSIOp::create(builder, loc, length, blocks);
  auto elementType = cast<MemRefType>(input.getType()).getElementType();
  Value sums = memref::AllocOp::create(builder, loc,
                                       MemRefType::get({kBlocks}, elementType));
  auto parallel = [&](llvm::function_ref<void(Value, Value, Value)> body) {
    auto loop = scf::ParallelOp::create(builder, loc, zero, blocks, one);
    loop->setAttr(kWorkAttr, builder.getI64IntegerAttr(kLongRow));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value block = loop.getInductionVars()[0];
    Value from = arith::MulIOp::create(builder, loc, block, size);
    Value to = arith::MinSIOp::create(
        builder, loc, length, arith::AddIOp::create(builder, loc, from, size));
    ifThen(lessThan(from, to), [&] { body(block, from, to); });
  };
  parallel([&](Value block, Value from, Value to) {
    Value next = arith::AddIOp::create(builder, loc, from, one);
    Value sum = loop(next, to, load(input, from), [&](Value i, Value before) {
      Value value = combine(before, load(input, i));
      // In any order: that of the blocks is another one as it is.
      if (auto fast =
              dyn_cast<arith::ArithFastMathInterface>(value.getDefiningOp()))
        fast->setAttr(fast.getFastMathAttrName(),
                      arith::FastMathFlagsAttr::get(
                          builder.getContext(), arith::FastMathFlags::reassoc));
      return value;
    });
    store(sum, sums, block);
  });
  Value used = arith::CeilDivSIOp::create(builder, loc, length, size);
  loop(one, used, load(sums, zero), [&](Value block, Value before) {
    Value value = combine(before, load(sums, block));
    store(value, sums, block);
    return value;
  });
  parallel([&](Value block, Value from, Value to) {
    Value start = load(input, from);
    Value isFirst = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, block, zero);
    auto begin = scf::IfOp::create(builder, loc, start.getType(), isFirst,
                                   /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(begin.thenBlock());
      scf::YieldOp::create(builder, loc, start);
      builder.setInsertionPointToStart(begin.elseBlock());
      Value before = arith::SubIOp::create(builder, loc, block, one);
      Value value = combine(load(sums, before), start);
      scf::YieldOp::create(builder, loc, value);
    }
    store(begin.getResult(0), output, from);
    Value next = arith::AddIOp::create(builder, loc, from, one);
    scanRow({zero}, next, to, begin.getResult(0));
  });
  Value end = arith::SubIOp::create(builder, loc, length, one);
  store(load(output, end), accumulator, {});
}

void ScanEmitter::emitSerialRows() {
  emitRows(builder, loc, sizes, dimension,
           [&](OpBuilder &, SmallVector<Value> &row) { emitRow(row); });
}

void ScanEmitter::emit() {
  int64_t rank = sizes.size();
  if (dimension + 1 != rank)
    return emitColumns();
  auto type = cast<MemRefType>(input.getType());
  bool mayBeLong = rank == 1 && op.getInclusive() && isAssociative(op) &&
                   (type.isDynamicDim(0) || type.getDimSize(0) >= kLongRow);
  if (!mayBeLong)
    return emitSerialRows();
  Value isShort = lessThan(sizes[0], constantIndex(builder, loc, kLongRow));
  auto branch =
      scf::IfOp::create(builder, loc, isShort, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitSerialRows();
  builder.setInsertionPointToStart(branch.elseBlock());
  emitBlocks();
}

void fastk::emitScan(OpBuilder &builder, tm_tensor::ScanOp op) {
  ScanEmitter(builder, op).emit();
}

void fastk::emitScanRows(OpBuilder &builder, tm_tensor::ScanOp op) {
  ScanEmitter(builder, op).emitSerialRows();
}
