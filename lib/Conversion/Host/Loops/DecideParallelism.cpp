//===- DecideParallelism.cpp - Which loops run on threads -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerGeneric.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"

using namespace mlir;
using namespace fastk;

/// A parallel region costs some 5 us of fork and join: below this many scalar
/// operations the loop stays on one thread.
static constexpr int64_t kParallelWork = 1 << 15;

/// Scalar operations of one execution of `op`, loops of known length counted.
static int64_t estimateWork(Operation *op) {
  // Whoever cut a loop into pieces knew what it does in all.
  if (auto work = op->getAttrOfType<IntegerAttr>(kWorkAttr))
    return work.getInt();
  int64_t inner = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &nested : block)
        inner += estimateWork(&nested);
  int64_t trips = 1;
  auto count = [&](Value lower, Value upper, Value step) {
    auto lb = getConstantIntValue(lower), ub = getConstantIntValue(upper),
         st = getConstantIntValue(step);
    // An unknown length is that of a tile.
    int64_t length =
        lb && ub && st && *st > 0
            ? llvm::divideCeil(std::max<int64_t>(*ub - *lb, 0), *st)
            : 16;
    trips = trips > (int64_t(1) << 40) ? trips : trips * length;
  };
  if (auto loop = dyn_cast<scf::ForOp>(op))
    count(loop.getLowerBound(), loop.getUpperBound(), loop.getStep());
  else if (auto loop = dyn_cast<scf::ParallelOp>(op))
    for (auto [lower, upper, step] :
         llvm::zip(loop.getLowerBound(), loop.getUpperBound(), loop.getStep()))
      count(lower, upper, step);
  int64_t own = 1;
  for (Type type : op->getResultTypes())
    if (auto vector = dyn_cast<VectorType>(type))
      own = std::max(own, vector.getNumElements());
  if (op->getNumRegions())
    return trips * std::max<int64_t>(inner, 1);
  return own;
}

/// Where how much a parallel loop does is known at run time only: makes two of
/// it, of which that decides. The other one is serial, for it is small.
static void decideAtRunTime(OpBuilder &builder, scf::ParallelOp op) {
  if (op->hasAttr(kWorkAttr) || !op.getInitVals().empty() ||
      estimateWork(op) >= kParallelWork)
    return;
  auto isKnown = [](Value value) { return getConstantIntValue(value); };
  if (llvm::all_of(op.getLowerBound(), isKnown) &&
      llvm::all_of(op.getUpperBound(), isKnown) &&
      llvm::all_of(op.getStep(), isKnown))
    return;
  int64_t inner = 0;
  for (Operation &nested : *op.getBody())
    inner += estimateWork(&nested);
  Location loc = op.getLoc();
  builder.setInsertionPoint(op);
  Value work = arith::ConstantIndexOp::create(builder, loc, inner);
  for (auto [lower, upper, step] :
       llvm::zip(op.getLowerBound(), op.getUpperBound(), op.getStep())) {
    Value length = arith::SubIOp::create(builder, loc, upper, lower);
    length = arith::CeilDivSIOp::create(builder, loc, length, step);
    work = arith::MulIOp::create(builder, loc, work, length);
  }
  Value pays = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, work,
      arith::ConstantIndexOp::create(builder, loc, kParallelWork));
  auto branch = scf::IfOp::create(builder, loc, pays, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.elseBlock());
  builder.clone(*op);
  op->moveBefore(branch.thenBlock()->getTerminator());
  op->setAttr(kWorkAttr, builder.getI64IntegerAttr(kParallelWork));
}

/// One level of parallel loops, and only where it pays: which may be asked when
/// the code runs. Without threads it never does.
static LogicalResult decideParallelism(func::FuncOp func, bool hasThreads,
                                       bool mayAsk) {
  IRRewriter rewriter(func.getContext());
  SmallVector<scf::ForallOp> foralls;
  func.walk([&](scf::ForallOp op) { foralls.push_back(op); });
  for (scf::ForallOp forall : foralls) {
    rewriter.setInsertionPoint(forall);
    if (failed(scf::forallToParallelLoop(rewriter, forall)))
      return failure();
  }
  SmallVector<scf::ParallelOp> serial, outermost;
  if (mayAsk && hasThreads)
    func.walk([&](scf::ParallelOp op) {
      if (!op->getParentOfType<scf::ParallelOp>())
        outermost.push_back(op);
    });
  for (scf::ParallelOp op : outermost)
    decideAtRunTime(rewriter, op);
  func.walk<WalkOrder::PreOrder>([&](scf::ParallelOp op) {
    bool nested = op->getParentOfType<scf::ParallelOp>();
    if (op.getInitVals().empty() &&
        (nested || !hasThreads || estimateWork(op) < kParallelWork))
      serial.push_back(op);
  });
  // Inner loops first: turning an outer one into loops moves its body.
  for (scf::ParallelOp op : llvm::reverse(serial)) {
    rewriter.setInsertionPoint(op);
    // This erases the op.
    if (failed(scf::parallelForToNestedFors(rewriter, op)))
      return failure();
  }
  return success();
}

namespace fastk {
#define GEN_PASS_DEF_FASTKDECIDEPARALLELISMPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkDecideParallelismPass
    : impl::FastkDecideParallelismPassBase<FastkDecideParallelismPass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(decideParallelism(getOperation(), threads, atRunTime)))
      signalPassFailure();
  }
};
} // namespace
} // namespace fastk
