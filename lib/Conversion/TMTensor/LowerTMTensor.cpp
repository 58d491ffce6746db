//===- LowerTMTensor.cpp - tm_tensor on memrefs to loops ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerTMTensor.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace fastk;

Value fastk::emitBody(OpBuilder &builder, Block &body, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

Value fastk::constantIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

SmallVector<Value> fastk::sizesOf(OpBuilder &builder, Location loc,
                                  Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> sizes;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    sizes.push_back(
        ShapedType::isDynamic(size)
            ? memref::DimOp::create(builder, loc, memref, dim).getResult()
            : constantIndex(builder, loc, size));
  return sizes;
}

void fastk::emitRows(
    OpBuilder &builder, Location loc, ArrayRef<Value> sizes, int64_t dimension,
    llvm::function_ref<void(OpBuilder &, SmallVector<Value> &)> body) {
  SmallVector<Value> others(sizes);
  others.erase(others.begin() + dimension);
  Value zero = constantIndex(builder, loc, 0);
  if (others.empty()) {
    SmallVector<Value> indices = {zero};
    return body(builder, indices);
  }
  Value one = constantIndex(builder, loc, 1);
  SmallVector<Value> zeros(others.size(), zero), ones(others.size(), one);
  auto loop = scf::ParallelOp::create(builder, loc, zeros, others, ones);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> indices(loop.getInductionVars());
  indices.insert(indices.begin() + dimension, zero);
  body(builder, indices);
}

static void lowerTMTensor(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<tm_tensor::ScanOp, tm_tensor::ScatterOp, tm_tensor::SortOp,
            tm_tensor::TopkOp>(op))
      ops.push_back(op);
  });
  OpBuilder builder(module.getContext());
  for (Operation *op : ops) {
    builder.setInsertionPoint(op);
    remark::passed(op->getLoc(),
                   remark::RemarkOpts::name("tm_tensor").category("fastk"))
        << remark::metric("op", op->getName().getStringRef())
        << remark::reason("lowered to loops; no part of a workload");
    if (auto scan = dyn_cast<tm_tensor::ScanOp>(op))
      emitScan(builder, scan);
    else if (auto scatter = dyn_cast<tm_tensor::ScatterOp>(op))
      emitScatter(builder, scatter);
    else if (auto sort = dyn_cast<tm_tensor::SortOp>(op))
      emitSort(builder, sort);
    else
      emitTopk(builder, cast<tm_tensor::TopkOp>(op));
    op->erase();
  }
}

namespace fastk {
#define GEN_PASS_DEF_FASTKLOWERTMTENSORPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkLowerTMTensorPass
    : impl::FastkLowerTMTensorPassBase<FastkLowerTMTensorPass> {
  using Base::Base;
  void runOnOperation() override { lowerTMTensor(getOperation()); }
};
} // namespace
} // namespace fastk
