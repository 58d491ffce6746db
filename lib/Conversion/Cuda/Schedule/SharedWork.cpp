//===- SharedWork.cpp - Work of several threads on a device ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedWork.h"
#include "Cuda/Kernels/Access.h"
#include "Cuda/Kernels/BlockReduce.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace fastk;

/// Threads that make a tree worth its shuffles.
static constexpr int64_t kMinTree = 8;

FailureOr<int64_t> fastk::boundFromAbove(OpFoldResult value) {
  if (auto known = getConstantIntValue(value))
    return *known;
  return ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, cast<Value>(value),
      /*stopCondition=*/nullptr, /*closedUB=*/true);
}

Value SharedRange::value(OpFoldResult number) {
  return getValueOrCreateConstantIndexOp(builder, loc, number);
}

void SharedRange::add(OpFoldResult lower, OpFoldResult upper,
                      OpFoldResult step) {
  auto first = getConstantIntValue(lower), last = getConstantIntValue(upper),
       by = getConstantIntValue(step);
  if (first && last && by) {
    trips.push_back(builder.getIndexAttr(
        llvm::divideCeil(std::max<int64_t>(*last - *first, 0), *by)));
    return;
  }
  Value length = value(upper);
  if (first != 0)
    length = arith::SubIOp::create(builder, loc, length, value(lower));
  if (by != 1)
    length = arith::CeilDivSIOp::create(builder, loc, length, value(step));
  trips.push_back(length);
}

Block *SharedRange::open(Value id, int64_t count) {
  number = id;
  std::optional<int64_t> points = 1;
  for (OpFoldResult each : trips) {
    auto known = getConstantIntValue(each);
    points = points && known ? std::optional(*points * *known) : std::nullopt;
  }
  if (points && *points <= count) {
    Value isMember =
        *points == count
            ? arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true))
                  .getResult()
            : arith::CmpIOp::create(
                  builder, loc, arith::CmpIPredicate::ult, id,
                  arith::ConstantIndexOp::create(builder, loc, *points))
                  .getResult();
    body = scf::IfOp::create(builder, loc, isMember, false).thenBlock();
  } else {
    Value all;
    if (points) {
      all = arith::ConstantIndexOp::create(builder, loc, *points);
    } else {
      for (OpFoldResult each : trips)
        all = all ? arith::MulIOp::create(builder, loc, all, value(each))
                        .getResult()
                  : value(each);
    }
    auto loop =
        scf::ForOp::create(builder, loc, id, all,
                           arith::ConstantIndexOp::create(builder, loc, count));
    body = loop.getBody();
    number = loop.getInductionVar();
  }
  builder.setInsertionPoint(end());
  return body;
}

SmallVector<Value> SharedRange::indices() {
  SmallVector<Value> result;
  for (auto [position, extent] : llvm::enumerate(trips)) {
    if (position + 1 == trips.size()) {
      result.push_back(number);
      break;
    }
    Value size = value(extent);
    result.push_back(arith::RemUIOp::create(builder, loc, number, size));
    number = arith::DivUIOp::create(builder, loc, number, size);
  }
  return result;
}

/// Threads for each result of a reduction; 0 where single threads do it.
static int64_t treeThreads(linalg::GenericOp op, int64_t count) {
  if (op.getNumReductionLoops() == 0 || op.hasIndexSemantics())
    return 0;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    Operation *combiner = findCombiner(op, i).op;
    if (!combiner || !llvm::all_of(combiner->getUsers(), [](Operation *user) {
          return isa<linalg::YieldOp>(user);
        }))
      return 0;
  }
  int64_t points = 1, reduced = 1;
  for (auto [extent, iterator] :
       llvm::zip_equal(op.getStaticLoopRanges(), op.getIteratorTypesArray())) {
    // Of unknown extent: an edge.
    if (ShapedType::isDynamic(extent))
      return 0;
    (iterator == utils::IteratorType::parallel ? points : reduced) *= extent;
  }
  int64_t threads = 1;
  while (threads * 2 * points <= count && count % (threads * 2) == 0 &&
         threads < reduced)
    threads *= 2;
  return threads >= kMinTree ? threads : 0;
}

/// Every result by `threads` neighbours.
static void shareAsTree(OpBuilder &builder, linalg::GenericOp op,
                        gpu::GPUFuncOp func, Value id, int64_t count,
                        int64_t threads) {
  Location loc = op.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<unsigned> parallel, reduction;
  for (auto [dim, iterator] : llvm::enumerate(op.getIteratorTypesArray()))
    (iterator == utils::IteratorType::parallel ? parallel : reduction)
        .push_back(dim);
  auto countOf = [&](ArrayRef<unsigned> dims) {
    int64_t product = 1;
    for (unsigned dim : dims)
      product *= extents[dim];
    return product;
  };
  SmallVector<Value> indices(extents.size());
  auto delinearize = [&](Value number, ArrayRef<unsigned> dims) {
    for (unsigned k = dims.size(); k-- > 0;) {
      if (k == 0) {
        indices[dims[0]] = number;
        break;
      }
      Value extent = constant(extents[dims[k]]);
      indices[dims[k]] = arith::RemUIOp::create(builder, loc, number, extent);
      number = arith::DivUIOp::create(builder, loc, number, extent);
    }
  };
  auto subscripts = [&](OpOperand &operand) {
    return *affine::expandAffineMap(
        builder, loc, op.getMatchingIndexingMap(&operand), indices);
  };
  int64_t points = countOf(parallel);
  Value group = arith::DivUIOp::create(builder, loc, id, constant(threads));
  Value lane = arith::RemUIOp::create(builder, loc, id, constant(threads));
  Value isPoint = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        group, constant(points));
  // Those too many repeat the last and store nothing.
  Value point =
      arith::MinUIOp::create(builder, loc, group, constant(points - 1));
  delinearize(point, parallel);

  std::vector<Reduction> reductions;
  SmallVector<Value> start;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    reductions.emplace_back(op, i);
    start.push_back(reductions.back().neutral(builder));
  }
  auto loop =
      scf::ForOp::create(builder, loc, lane, constant(countOf(reduction)),
                         constant(threads), start);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    delinearize(loop.getInductionVar(), reduction);
    IRMapping values;
    for (OpOperand *input : op.getDpsInputOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(input);
      if (argument.use_empty())
        continue;
      values.map(argument,
                 isa<MemRefType>(input->get().getType())
                     ? memref::LoadOp::create(builder, loc, input->get(),
                                              subscripts(*input))
                           .getResult()
                     : input->get());
    }
    llvm::SmallPtrSet<Operation *, 4> combiners;
    for (const Reduction &each : reductions)
      combiners.insert(each.combiner);
    for (Operation &inner : op.getBlock()->without_terminator())
      if (!combiners.contains(&inner))
        builder.clone(inner, values);
    SmallVector<Value> next;
    for (auto [each, old] :
         llvm::zip_equal(reductions, loop.getRegionIterArgs()))
      next.push_back(each.combine(
          builder, old,
          each.widen(builder, values.lookupOrDefault(each.contribution))));
    scf::YieldOp::create(builder, loc, next);
  }
  SmallVector<Reduced> reduced;
  for (auto [value, each] : llvm::zip_equal(loop.getResults(), reductions))
    reduced.push_back({value, &each});
  reduceInBlock(builder, loc, func, count, threads, reduced);
  Value stores = arith::AndIOp::create(
      builder, loc, isPoint,
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane,
                            constant(0)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(
      scf::IfOp::create(builder, loc, stores, false).thenBlock());
  for (const Reduced &each : reduced) {
    OpOperand &init = *op.getDpsInitOperand(each.reduction->index);
    SmallVector<Value> place = subscripts(init);
    Value old = memref::LoadOp::create(builder, loc, init.get(), place);
    Value sum = each.reduction->combine(
        builder, each.reduction->widen(builder, old), each.value);
    memref::StoreOp::create(builder, loc, each.reduction->narrow(builder, sum),
                            init.get(), place);
  }
}

void fastk::shareOp(IRRewriter &rewriter, linalg::GenericOp op,
                    gpu::GPUFuncOp func, Value id, int64_t count) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  if (int64_t threads = treeThreads(op, count)) {
    shareAsTree(rewriter, op, func, id, count, threads);
    rewriter.eraseOp(op);
    return;
  }
  bool hasPoints = op.getNumParallelLoops() != 0;
  if (!hasPoints) {
    Value isFirst =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, id,
                              arith::ConstantIndexOp::create(rewriter, loc, 0));
    auto branch = scf::IfOp::create(rewriter, loc, isFirst, false);
    rewriter.moveOpBefore(op, branch.thenBlock()->getTerminator());
    rewriter.setInsertionPoint(op);
  }
  // Loops over points, those over what is reduced inside; either may be cut by
  // the other, the threads share each piece in the same way.
  FailureOr<linalg::LinalgLoops> loops =
      linalg::linalgOpToParallelLoops(rewriter, op);
  assert(succeeded(loops) && "linalg.generic on memrefs has loops");
  rewriter.eraseOp(op);
  SmallVector<scf::ParallelOp> parallels;
  for (Operation *each : *loops)
    if (auto parallel = dyn_cast<scf::ParallelOp>(each))
      parallels.push_back(parallel);
  // A second loop over points inside of one is that thread's own.
  for (scf::ParallelOp parallel : llvm::reverse(parallels)) {
    rewriter.setInsertionPoint(parallel);
    if (parallel->getParentOfType<scf::ParallelOp>()) {
      [[maybe_unused]] FailureOr<scf::LoopNest> made =
          scf::parallelForToNestedFors(rewriter, parallel);
      assert(succeeded(made) && "a loop without results becomes loops");
      continue;
    }
    SharedRange range(rewriter, loc);
    for (unsigned dim = parallel.getNumLoops(); dim-- > 0;)
      range.add(parallel.getLowerBound()[dim], parallel.getUpperBound()[dim],
                parallel.getStep()[dim]);
    range.open(id, count);
    SmallVector<Value> induction = range.indices();
    std::reverse(induction.begin(), induction.end());
    rewriter.eraseOp(parallel.getBody()->getTerminator());
    rewriter.inlineBlockBefore(parallel.getBody(), range.end(), induction);
    rewriter.eraseOp(parallel);
  }
}
