//===- UnrollLoops.cpp - Loops of known length in full --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/PlanLoops.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKUNROLLLOOPSPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

/// Of all iterations of a loop together: beyond, a model is not for a plan.
static constexpr int64_t kMaxOps = 1 << 16;
/// Up to so many iterations are written out: what lies between them can be
/// one kernel then.
static constexpr uint64_t kFewIterations = 4;

/// Whether its iterations can and have to be written one after another;
/// `every`: also where a plan can repeat them.
static bool isToBeWrittenOut(scf::ForOp loop, bool every) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips ||
      llvm::none_of(loop->getResultTypes(), llvm::IsaPred<RankedTensorType>))
    return false;
  if (!every && trips->ugt(kFewIterations) && fastk::canBePlanLoop(loop))
    return false;
  int64_t ops = 0;
  loop.getBody()->walk([&](Operation *) { ++ops; });
  return trips->ult(kMaxOps) &&
         static_cast<int64_t>(trips->getZExtValue()) * ops <= kMaxOps;
}

/// Where \p insert writes all of one index of the first dimension: that index.
static std::optional<int64_t> writtenRow(tensor::InsertSliceOp insert) {
  RankedTensorType type = insert.getType();
  if (!type.hasStaticShape() || type.getRank() == 0 ||
      !insert.hasUnitStride() || insert.getStaticSizes()[0] != 1 ||
      ShapedType::isDynamic(insert.getStaticOffsets()[0]))
    return std::nullopt;
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    if (insert.getStaticOffsets()[dim] != 0 ||
        insert.getStaticSizes()[dim] != type.getDimSize(dim))
      return std::nullopt;
  // Either the whole row or that without its first dimension.
  RankedTensorType source = insert.getSourceType();
  if (source.getRank() != type.getRank() &&
      source.getShape() != type.getShape().drop_front())
    return std::nullopt;
  return insert.getStaticOffsets()[0];
}

/// Turns insertions of each row, one into the result of the other, into one
/// concatenation: One-Shot Analysis goes back through all writes for each.
static void concatRows(tensor::InsertSliceOp last) {
  RankedTensorType type = last.getType();
  if (type.getRank() == 0 || !type.hasStaticShape())
    return;
  SmallVector<Value> rows(type.getDimSize(0));
  int64_t missing = rows.size();
  for (tensor::InsertSliceOp insert = last; insert && missing;
       insert = insert.getDest().getDefiningOp<tensor::InsertSliceOp>()) {
    std::optional<int64_t> row = writtenRow(insert);
    if (!row || (insert != last && !insert->hasOneUse()))
      return;
    // Of two writes the later one stands.
    if (!rows[*row]) {
      rows[*row] = insert.getSource();
      --missing;
    }
  }
  if (missing)
    return;
  OpBuilder builder(last);
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = 1;
  RankedTensorType rowType = type.clone(shape);
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    groups.push_back({dim});
  if (!groups.empty())
    groups.front().insert(groups.front().begin(), 0);
  for (Value &row : rows)
    if (row.getType() != rowType)
      row = tensor::ExpandShapeOp::create(builder, last.getLoc(), rowType, row,
                                          groups);
  last.replaceAllUsesWith(
      tensor::ConcatOp::create(builder, last.getLoc(), type, /*dim=*/0, rows)
          .getResult());
}

namespace {
struct FastkUnrollLoopsPass
    : fastk::impl::FastkUnrollLoopsPassBase<FastkUnrollLoopsPass> {
  using Base::Base;

  void runOnOperation() override {
    // The bounds of inner loops may be known only when outer ones are written
    // out.
    FailureOr<bool> any = true;
    while (succeeded(any) && *any)
      any = writeOut();
    if (failed(any))
      signalPassFailure();
  }

private:
  /// Whether there was a loop to be written out.
  FailureOr<bool> writeOut();
};
} // namespace

FailureOr<bool> FastkUnrollLoopsPass::writeOut() {
  SmallVector<scf::ForOp> loops;
  // Inner ones first: what is copied then has none, or such that stay.
  getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
  bool any = false;
  for (scf::ForOp loop : loops) {
    if (!isToBeWrittenOut(loop, every))
      continue;
    any = true;
    if (loop.getStaticTripCount()->isZero()) {
      loop->replaceAllUsesWith(loop.getInits());
      loop.erase();
    } else if (failed(loopUnrollFull(loop))) {
      return failure();
    }
  }
  if (!any)
    return false;
  // Counters are constants now, and so are the places of slices.
  RewritePatternSet patterns(&getContext());
  tensor::ExtractSliceOp::getCanonicalizationPatterns(patterns, &getContext());
  tensor::InsertSliceOp::getCanonicalizationPatterns(patterns, &getContext());
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    return failure();
  SmallVector<tensor::InsertSliceOp> inserts;
  getOperation().walk([&](tensor::InsertSliceOp insert) {
    if (llvm::none_of(insert->getUsers(), llvm::IsaPred<tensor::InsertSliceOp>))
      inserts.push_back(insert);
  });
  for (tensor::InsertSliceOp insert : inserts) {
    concatRows(insert);
    // What it was inserted into, from the last one back.
    Operation *op = insert;
    while (op && op->use_empty() && isa<tensor::InsertSliceOp>(op)) {
      Operation *before =
          cast<tensor::InsertSliceOp>(op).getDest().getDefiningOp();
      op->erase();
      op = before;
    }
  }
  return true;
}
