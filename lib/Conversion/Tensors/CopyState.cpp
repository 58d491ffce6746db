//===- CopyState.cpp - What a model reads of its state is its own ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"

using namespace mlir;
using namespace fastk;

static void copyState(ModuleOp model) {
  // Upstream's bufferization takes the global itself for what was loaded, and
  // does not know that a store writes it.
  model.walk([](ml_program::GlobalLoadOp load) {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    if (!type)
      return;
    OpBuilder builder(load.getContext());
    builder.setInsertionPointAfter(load);
    SmallVector<Value> sizes;
    Value copy = bufferization::AllocTensorOp::create(
        builder, load.getLoc(), type, sizes, load.getResult());
    load.getResult().replaceAllUsesExcept(copy, copy.getDefiningOp());
  });
}

namespace fastk {
#define GEN_PASS_DEF_FASTKCOPYSTATEPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkCopyStatePass : impl::FastkCopyStatePassBase<FastkCopyStatePass> {
  using Base::Base;
  void runOnOperation() override { copyState(getOperation()); }
};
} // namespace
} // namespace fastk
