//===- LinalgToLoops.cpp - Linalg on memrefs to loops ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DropZeroFills.h"
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

/// The buffer that `collapse` makes, by its strides: what folds reshapes into
/// loads would divide each index again, and nothing would be vectorised.
static Value byStrides(RewriterBase &rewriter,
                       memref::CollapseShapeOp collapse) {
  Location loc = collapse.getLoc();
  MemRefType type = collapse.getResultType();
  auto [strides, offset] = type.getStridesAndOffset();
  if (ShapedType::isDynamicShape(strides) || !type.hasStaticShape())
    return collapse;
  rewriter.setInsertionPoint(collapse);
  auto metadata = memref::ExtractStridedMetadataOp::create(rewriter, loc,
                                                           collapse.getSrc());
  OpFoldResult start = ShapedType::isDynamic(offset)
                           ? OpFoldResult(metadata.getOffset())
                           : OpFoldResult(rewriter.getIndexAttr(offset));
  return memref::ReinterpretCastOp::create(
      rewriter, loc, type, metadata.getBaseBuffer(), start,
      getAsIndexOpFoldResult(rewriter.getContext(), type.getShape()),
      getAsIndexOpFoldResult(rewriter.getContext(), strides));
}

/// One loop in place of several that reduce what lies beside each other: it is
/// long enough to be vectorised.
static linalg::GenericOp joinReductionLoops(RewriterBase &rewriter,
                                            linalg::GenericOp op) {
  auto iterators = op.getIteratorTypesArray();
  ReassociationIndices joined;
  for (int64_t dim = int64_t(op.getNumLoops()) - 1; dim >= 0; --dim) {
    if (iterators[dim] != utils::IteratorType::reduction)
      break;
    joined.insert(joined.begin(), dim);
  }
  if (joined.size() < 2 || op.hasIndexSemantics() ||
      ShapedType::isDynamicShape(op.getStaticLoopRanges()) ||
      !llvm::all_of(
          op.getIndexingMapsArray(),
          [](AffineMap map) { return map.isProjectedPermutation(); }) ||
      !linalg::areDimSequencesPreserved(op.getIndexingMapsArray(), {joined}))
    return op;
  FailureOr<linalg::CollapseResult> collapsed =
      linalg::collapseOpIterationDims(op, {joined}, rewriter);
  if (failed(collapsed))
    return op;
  rewriter.eraseOp(op);
  auto whole = cast<linalg::GenericOp>(collapsed->collapsedOp.getOperation());
  for (OpOperand &operand : whole->getOpOperands())
    if (auto collapse = operand.get().getDefiningOp<memref::CollapseShapeOp>())
      operand.set(byStrides(rewriter, collapse));
  return whole;
}

/// A packed contraction, or loops.
static LogicalResult lowerOne(RewriterBase &rewriter, linalg::GenericOp op,
                              const LoopOptions &options) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  if (lowerContraction(rewriter, op, options)) {
    remark::passed(
        loc, remark::RemarkOpts::name("packed-contraction").category("fastk"));
    return success();
  }
  if (linalg::GenericOp fill = restoreZeroFill(rewriter, op);
      fill && failed(lowerToLoops(rewriter, fill, options)))
    return failure();
  remark::passed(loc, remark::RemarkOpts::name("loops").category("fastk"));
  return lowerToLoops(rewriter, joinReductionLoops(rewriter, op), options);
}

/// What no schedule has taken: packed contractions, and loops for the rest.
static LogicalResult lowerLinalg(func::FuncOp func,
                                 const LoopOptions &options) {
  IRRewriter rewriter(func.getContext());
  SmallVector<linalg::LinalgOp> ops;
  func.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp>(op))
      ops.push_back(op);
  });
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return op->emitOpError() << "cannot be lowered to loops (required by "
                                  "'fastk.default_lowering')";
  }
  // Nobody else's mark is believed.
  func.walk([](linalg::GenericOp op) { op->removeAttr(kFromZeroAttr); });
  if (options.relaxed)
    dropZeroFills(func);
  SmallVector<linalg::GenericOp> generics;
  func.walk([&](linalg::GenericOp op) { generics.push_back(op); });
  for (linalg::GenericOp generic : generics) {
    if (failed(lowerOne(rewriter, generic, options)))
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
    // Declarations come to them meanwhile.
    for (auto func : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (failed(lowerLinalg(func, options)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace fastk
