//===- ShareMapped.cpp - What the threads of a block share ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MappedKernelBuilder.h"
#include "SharedWork.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fastk;

Block *MappedKernel::distribute(scf::ForallOp loop, const MappedTeam &team) {
  rewriter.setInsertionPoint(loop);
  SmallVector<OpFoldResult> lowers = loop.getMixedLowerBound(),
                            uppers = loop.getMixedUpperBound(),
                            steps = loop.getMixedStep();
  SharedRange range(rewriter, loc);
  SmallVector<unsigned> order = fastestFirst(loop);
  for (unsigned dim : order)
    range.add(lowers[dim], uppers[dim], steps[dim]);
  Block *body = range.open(team.id, team.count);
  SmallVector<Value> indices = range.indices(), induction(order.size());
  for (auto [position, dim] : llvm::enumerate(order))
    induction[dim] =
        toInduction(rewriter, loc, indices[position], lowers[dim], steps[dim]);
  inlineBody(rewriter, loop, induction, range.end());
  return body;
}

void MappedKernel::synchronize(const MappedTeam &team) {
  if (team.level == MappedLevel::Block)
    gpu::BarrierOp::create(rewriter, loc);
  else
    NVVM::SyncWarpOp::create(
        rewriter, loc,
        arith::ConstantOp::create(rewriter, loc,
                                  rewriter.getI32IntegerAttr(-1)));
}

/// Whether anything is written, but not by ops inside of `op`.
static bool writes(Operation *op) {
  return !isa<memref::AllocaOp>(op) && op->getNumRegions() == 0 &&
         hasEffect<MemoryEffects::Write>(op);
}

LogicalResult MappedKernel::share(Block &block, const MappedTeam &team) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops) {
    rewriter.setInsertionPointAfter(op);
    if (auto loop = dyn_cast<scf::ForallOp>(op)) {
      std::optional<MappedLevel> level = levelOf(loop);
      // Behind it, where everything has been written.
      synchronize(team);
      rewriter.setInsertionPoint(loop);
      if (level == MappedLevel::Warp) {
        Value warp =
            arith::DivUIOp::create(rewriter, loc, thread, constant(kWarp));
        Block *body =
            distribute(loop, {MappedLevel::Warp, warp, team.count / kWarp});
        rewriter.setInsertionPointToStart(body);
        Value lane =
            arith::RemUIOp::create(rewriter, loc, thread, constant(kWarp));
        if (failed(share(*body, {MappedLevel::Warp, lane, kWarp})))
          return failure();
      } else if (failed(lowerThread(*distribute(loop, team)))) {
        return failure();
      }
      continue;
    }
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      synchronize(team);
      rewriter.setInsertionPoint(op);
      linalg::GenericOp generic = linalg::makeMemRefCopyOp(
          rewriter, copy.getLoc(), copy.getSource(), copy.getTarget());
      rewriter.eraseOp(op);
      shareOp(rewriter, generic, func, team.id, team.count);
      continue;
    }
    if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
      synchronize(team);
      rewriter.setInsertionPoint(op);
      auto generic = dyn_cast<linalg::GenericOp>(op);
      if (!generic) {
        FailureOr<linalg::GenericOp> made =
            linalg::generalizeNamedOp(rewriter, structured);
        if (failed(made))
          return op->emitOpError() << "cannot be written as linalg.generic "
                                      "(required by 'fastk.mapping')";
        generic = *made;
      }
      shareOp(rewriter, generic, func, team.id, team.count);
      continue;
    }
    if (writes(op)) {
      if (op->getNumResults())
        return op->emitOpError()
               << "writes memory outside of the loops that are mapped to "
                  "threads and has a result (required by 'fastk.mapping')";
      synchronize(team);
      rewriter.setInsertionPoint(op);
      synchronize(team);
      Value isFirst = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq, team.id, constant(0));
      auto branch = scf::IfOp::create(rewriter, loc, isFirst, false);
      rewriter.moveOpBefore(op, branch.thenBlock()->getTerminator());
      continue;
    }
    for (Region &region : op->getRegions())
      for (Block &inner : region)
        if (failed(share(inner, team)))
          return failure();
  }
  return success();
}

LogicalResult MappedKernel::lowerThread(Block &block) {
  SmallVector<Operation *> ops;
  WalkResult walk =
      block.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (auto alloca = dyn_cast<memref::AllocaOp>(op))
          ofThread.insert(alloca);
        if (auto loop = dyn_cast<scf::ForallOp>(op))
          if (levelOf(loop) != MappedLevel::None) {
            loop.emitOpError()
                << "is mapped inside a loop that is mapped to threads "
                   "(required by 'fastk.mapping')";
            return WalkResult::interrupt();
          }
        if (isa<scf::ForallOp, linalg::LinalgOp, memref::CopyOp>(op))
          ops.push_back(op);
        return WalkResult::advance();
      });
  if (walk.wasInterrupted())
    return failure();
  // Inner loops first: an outer one moves them.
  for (Operation *op : llvm::reverse(ops)) {
    rewriter.setInsertionPoint(op);
    if (auto loop = dyn_cast<scf::ForallOp>(op)) {
      if (failed(scf::forallToForLoop(rewriter, loop)))
        return op->emitOpError() << "could not become loops (required by "
                                    "'fastk.mapping')";
      continue;
    }
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      linalg::GenericOp generic = linalg::makeMemRefCopyOp(
          rewriter, copy.getLoc(), copy.getSource(), copy.getTarget());
      rewriter.eraseOp(op);
      op = generic;
    }
    rewriter.setInsertionPoint(op);
    if (failed(linalg::linalgOpToLoops(rewriter, cast<linalg::LinalgOp>(op))))
      return op->emitOpError() << "could not become loops (required by "
                                  "'fastk.mapping')";
    rewriter.eraseOp(op);
  }
  return success();
}
