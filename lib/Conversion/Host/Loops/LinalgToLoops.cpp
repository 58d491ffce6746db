//===- LinalgToLoops.cpp - Linalg on memrefs to loops ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerGeneric.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace fastk;

/// The buffer that `value` is by another type.
static Value lookThroughCasts(Value value) {
  while (auto cast = value.getDefiningOp<memref::CastOp>()) {
    if (!isa<MemRefType>(cast.getSource().getType()))
      break;
    value = cast.getSource();
  }
  return value;
}

/// Copies between buffers of different layouts become loops: the library
/// function that upstream calls for them is not ours to have. A slice of
/// dynamic size that a function returns is cast to the plain layout of results,
/// whatever its strides are; the canonicalizer folds that cast into the copy
/// later.
static void lowerStridedCopies(func::FuncOp func) {
  SmallVector<memref::CopyOp> copies;
  func.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  IRRewriter rewriter(func.getContext());
  for (memref::CopyOp copy : copies) {
    Value source = lookThroughCasts(copy.getSource());
    Value target = lookThroughCasts(copy.getTarget());
    auto sourceType = dyn_cast<MemRefType>(source.getType());
    auto targetType = dyn_cast<MemRefType>(target.getType());
    if (!sourceType || !targetType)
      continue;
    if (sourceType.getLayout().isIdentity() &&
        targetType.getLayout().isIdentity())
      continue;
    rewriter.setInsertionPoint(copy);
    linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), source, target);
    rewriter.eraseOp(copy);
  }
}

/// What no schedule has taken: packed contractions, and loops for the rest.
static LogicalResult lowerLinalg(func::FuncOp func,
                                 const LoopOptions &options) {
  SmallVector<linalg::LinalgOp> ops;
  func.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  IRRewriter rewriter(func.getContext());
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    auto generic = dyn_cast<linalg::GenericOp>(*op);
    if (!generic) {
      FailureOr<linalg::GenericOp> made =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(made))
        return op->emitOpError() << "cannot be lowered to loops (required by "
                                    "'fastk.default_lowering')";
      generic = *made;
    }
    Location loc = generic.getLoc();
    if (lowerContraction(rewriter, generic, options)) {
      remark::passed(
          loc,
          remark::RemarkOpts::name("packed-contraction").category("fastk"));
      continue;
    }
    remark::passed(loc, remark::RemarkOpts::name("loops").category("fastk"));
    if (failed(lowerToLoops(rewriter, generic, options)))
      return failure();
  }
  return success();
}

namespace fastk {
#define GEN_PASS_DEF_FASTKCOPIESTOLINALGPASS
#define GEN_PASS_DEF_FASTKLINALGTOLOOPSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkCopiesToLinalgPass
    : impl::FastkCopiesToLinalgPassBase<FastkCopiesToLinalgPass> {
  using Base::Base;
  void runOnOperation() override { lowerStridedCopies(getOperation()); }
};

struct FastkLinalgToLoopsPass
    : impl::FastkLinalgToLoopsPassBase<FastkLinalgToLoopsPass> {
  using Base::Base;
  void runOnOperation() override {
    LoopOptions options;
    options.vectorBytes = vectorBytes;
    options.relaxed = relaxed;
    options.hasThreads = threads;
    if (failed(lowerLinalg(getOperation(), options)))
      signalPassFailure();
  }
};
} // namespace
} // namespace fastk
