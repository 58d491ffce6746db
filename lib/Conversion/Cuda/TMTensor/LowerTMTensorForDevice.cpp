//===- LowerTMTensorForDevice.cpp - tm_tensor to parallel loops -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerTMTensorForDevice.h"
#include "Cuda/Kernels/ScanKernel.h"
#include "DeviceSort.h"
#include "TMTensor/LowerTMTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

/// From this length on topk sorts its rows, rather than let a thread insert one
/// element after the other.
static constexpr int64_t kLongRow = 256;

void fastk::emitParallel(OpBuilder &builder, Location loc,
                         ArrayRef<int64_t> shape,
                         llvm::function_ref<void(ValueRange)> body) {
  SmallVector<int64_t> sizes(shape);
  if (sizes.empty())
    sizes.push_back(1);
  SmallVector<Value> upper;
  for (int64_t size : sizes)
    upper.push_back(constantIndex(builder, loc, size));
  SmallVector<Value> lower(sizes.size(), constantIndex(builder, loc, 0)),
      step(sizes.size(), constantIndex(builder, loc, 1));
  auto loop = scf::ParallelOp::create(builder, loc, lower, upper, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(ValueRange(loop.getInductionVars()).take_front(shape.size()));
}

/// What is emitted row by row stands alone where there is one row.
static void emitRowLoop(OpBuilder &builder, Operation *op, int64_t rank,
                        llvm::function_ref<void()> emit) {
  if (rank > 1)
    return emit();
  emitParallel(builder, op->getLoc(), {}, [&](ValueRange) { emit(); });
}

static LogicalResult checkOrder(Operation *op, Block &body) {
  if (isTotalOrder(body))
    return success();
  return op->emitOpError()
         << "has an order that is not one comparison of two elements of one "
            "tensor, which could contradict itself: compile with --target=host "
            "(required by 'fastk.device_sort')";
}

static LogicalResult lowerSort(OpBuilder &builder, tm_tensor::SortOp op) {
  Block &body = op.getRegion().front();
  if (failed(checkOrder(op, body)))
    return failure();
  emitDeviceSort(builder, op.getLoc(), op.getOutputs(), op.getDimension(),
                 [&](OpBuilder &nested, ValueRange pairs) {
                   return emitOrder(nested, body, pairs);
                 });
  return success();
}

/// Sorts what is there so far together with the input, and takes the first.
static LogicalResult lowerLongTopk(OpBuilder &builder, tm_tensor::TopkOp op) {
  Location loc = op.getLoc();
  Block &body = op.getRegion().front();
  if (failed(checkOrder(op, body)))
    return failure();
  int64_t dimension = op.getDimension();
  SmallVector<int64_t> shape(op.getInputType(0).getShape());
  int64_t count = op.getOutputType(0).getDimSize(dimension);
  shape[dimension] += count;
  SmallVector<Value> all;
  for (Value output : op.getOutputs())
    all.push_back(memref::AllocOp::create(
        builder, loc,
        MemRefType::get(shape,
                        cast<MemRefType>(output.getType()).getElementType())));
  Value most = constantIndex(builder, loc, count);
  emitParallel(builder, loc, shape, [&](ValueRange indices) {
    Value position = indices[dimension];
    Value isOld = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        position, most);
    auto branch =
        scf::IfOp::create(builder, loc, isOld, /*withElseRegion=*/true);
    auto put = [&](Value value, Value buffer) {
      memref::StoreOp::create(builder, loc, value, buffer, indices);
    };
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    for (auto [output, buffer] : llvm::zip_equal(op.getOutputs(), all))
      put(memref::LoadOp::create(builder, loc, output, indices), buffer);
    builder.setInsertionPointToStart(branch.elseBlock());
    SmallVector<Value> at(indices);
    at[dimension] = arith::SubIOp::create(builder, loc, position, most);
    put(memref::LoadOp::create(builder, loc, op.getInputs()[0], at), all[0]);
    Type indexType = cast<MemRefType>(all[1].getType()).getElementType();
    put(op.getInputs().size() == 2
            ? memref::LoadOp::create(builder, loc, op.getInputs()[1], at)
                  .getResult()
            : arith::IndexCastOp::create(builder, loc, indexType, at[dimension])
                  .getResult(),
        all[1]);
  });
  // As where one is inserted after the other: an element passes those that it
  // goes before, and its equals of larger index.
  emitDeviceSort(
      builder, loc, all, dimension,
      [&](OpBuilder &nested, ValueRange pairs) -> Value {
        Value passes = emitOrder(nested, body, {pairs[1], pairs[0]}),
              stays = emitOrder(nested, body, {pairs[0], pairs[1]});
        auto compare = [&](arith::CmpIPredicate how, Value a,
                           Value b) -> Value {
          return arith::CmpIOp::create(nested, loc, how, a, b);
        };
        Value areEqual = compare(arith::CmpIPredicate::eq, passes, stays);
        Value isSmaller =
            compare(arith::CmpIPredicate::slt, pairs[3], pairs[2]);
        Value tie = arith::AndIOp::create(nested, loc, areEqual, isSmaller);
        Value either = arith::OrIOp::create(nested, loc, passes, tie);
        Value no = arith::ConstantIntOp::create(nested, loc, 0, 1);
        return compare(arith::CmpIPredicate::eq, either, no);
      });
  emitParallel(
      builder, loc, op.getOutputType(0).getShape(), [&](ValueRange indices) {
        for (auto [buffer, output] : llvm::zip_equal(all, op.getOutputs()))
          memref::StoreOp::create(
              builder, loc,
              memref::LoadOp::create(builder, loc, buffer, indices), output,
              indices);
      });
  return success();
}

static LogicalResult lower(OpBuilder &builder, Operation *op) {
  if (auto scan = dyn_cast<tm_tensor::ScanOp>(op)) {
    emitRowLoop(builder, scan, scan.getInputType(0).getRank(),
                [&] { emitScanRows(builder, scan); });
    return success();
  }
  if (auto scatter = dyn_cast<tm_tensor::ScatterOp>(op)) {
    if (scatter.getInputType(0).getNumElements() > 0)
      emitDeviceScatter(builder, scatter);
    return success();
  }
  if (auto sort = dyn_cast<tm_tensor::SortOp>(op))
    return lowerSort(builder, sort);
  auto topk = cast<tm_tensor::TopkOp>(op);
  ShapedType type = topk.getInputType(0);
  if (type.getDimSize(topk.getDimension()) >= kLongRow)
    return lowerLongTopk(builder, topk);
  emitRowLoop(builder, topk, type.getRank(), [&] { emitTopk(builder, topk); });
  return success();
}

LogicalResult fastk::lowerTMTensorForDevice(func::FuncOp func) {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    auto scan = dyn_cast<tm_tensor::ScanOp>(op);
    if (scan ? !canScanByBlocks(scan)
             : isa<tm_tensor::ScatterOp, tm_tensor::SortOp, tm_tensor::TopkOp>(
                   op))
      ops.push_back(op);
  });
  OpBuilder builder(func.getContext());
  for (Operation *op : ops) {
    builder.setInsertionPoint(op);
    if (failed(lower(builder, op)))
      return failure();
    op->erase();
  }
  return success();
}
