//===- DefaultSchedule.cpp - The compiler's own schedule ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is decided on tensors: which ops become one, and which chains of ops run
// row by row. How one op becomes loops is decided on buffers (lib/Conversion).
//
//===----------------------------------------------------------------------===//

#include "SplitStuffedConvolutions.h"
#include "fastk/Dialect/Linalg/SumOfProducts.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKDEFAULTSCHEDULEPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

/// A producer of more ops than this is not computed twice.
static constexpr unsigned kCheapOps = 4;
/// No body grows beyond this: the vectoriser runs out of registers.
static constexpr unsigned kMaxBodyOps = 48;
/// Rows of a contraction that are done together with what follows it. More rows
/// reuse the other operand more; fewer keep the intermediate in the cache.
static constexpr int64_t kContractionRows = 128;
/// Fewer rows than this are not worth it.
static constexpr int64_t kMinContractionRows = 32;
/// A contraction on its own keeps any number of threads busy; with its rows
/// fused it must have this many trips. The code is the same for any number.
static constexpr int64_t kContractionTrips = 16;

/// Steps of a reduction that LLVM unrolls in the loop around it, which it then
/// vectorises (lib/Conversion/Host/Loops/LowerGeneric.cpp).
static constexpr int64_t kShortWindow = 32;

/// Elements of the largest intermediate that one trip may make: 4 MB of f32 for
/// each thread.
static constexpr int64_t kTripElements = 1 << 20;

//===----------------------------------------------------------------------===//
// Elementwise fusion
//===----------------------------------------------------------------------===//

/// Whether `op` makes a float of an integer of 64 bits, or the reverse, which
/// most processors do one at a time.
static bool convertsWideInteger(Operation *op) {
  return isa<arith::FPToSIOp, arith::FPToUIOp, arith::SIToFPOp,
             arith::UIToFPOp>(op) &&
         (op->getOperand(0).getType().isInteger(64) ||
          op->getResult(0).getType().isInteger(64));
}

/// Conversions, sums and products; no division, no function.
static bool isCheap(linalg::GenericOp op) {
  unsigned count = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (inner.hasTrait<OpTrait::ConstantLike>() ||
        isa<arith::ExtFOp, arith::TruncFOp>(inner))
      continue;
    if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
            arith::RemUIOp>(inner) ||
        convertsWideInteger(&inner) ||
        isa<math::MathDialect>(inner.getDialect()) || inner.getNumRegions())
      return false;
    ++count;
  }
  return count <= kCheapOps;
}

static unsigned countOps(linalg::GenericOp op) {
  return op.getBody()->getOperations().size();
}

/// True when the loops that `map` depends on are the outermost ones or all of
/// them: what is computed from it is then computed once, not once for each trip
/// of a loop that it does not depend on.
static bool isComputedOnce(AffineMap map) {
  unsigned used = 0;
  while (used < map.getNumDims() && map.isFunctionOfDim(used))
    ++used;
  for (unsigned dim = used; dim < map.getNumDims(); ++dim)
    if (map.isFunctionOfDim(dim))
      return false;
  return true;
}

/// A maximum of what a mask replaces by a constant. In one loop LLVM makes it a
/// maximum under a condition, which it does not vectorise: four times slower
/// for causal attention.
static bool isMaskedExtremum(linalg::GenericOp producer,
                             linalg::GenericOp consumer) {
  if (consumer.getNumReductionLoops() == 0)
    return false;
  auto yielded = [](linalg::GenericOp op) {
    return cast<linalg::YieldOp>(op.getBody()->getTerminator())
        .getValues()[0]
        .getDefiningOp();
  };
  auto isConstant = [](Value value) {
    Operation *op = value.getDefiningOp();
    return op && op->hasTrait<OpTrait::ConstantLike>();
  };
  auto select = dyn_cast_or_null<arith::SelectOp>(yielded(producer));
  return select &&
         (isConstant(select.getTrueValue()) ||
          isConstant(select.getFalseValue())) &&
         isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                         arith::MinNumFOp>(yielded(consumer));
}

static bool shouldFuse(OpOperand *operand) {
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  if (!consumer || !producer)
    return false;
  if (countOps(consumer) + countOps(producer) > kMaxBodyOps)
    return false;
  if (isMaskedExtremum(producer, consumer))
    return false;
  bool cheap = isCheap(producer);
  if (!producer->hasOneUse())
    return cheap && producer.getNumDpsInputs() <= 3;
  AffineMap map = consumer.getMatchingIndexingMap(operand);
  // Under a reduction, what does not depend on every loop is done again and
  // again.
  return cheap ||
         (isComputedOnce(map) &&
          (consumer.getNumReductionLoops() == 0 || map.isPermutation()));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {
/// Ops that can run row by row, from the last one back.
struct RowGroup {
  linalg::GenericOp root;
  /// How many leading dimensions of the root's result number its rows.
  unsigned rowRank = 0;
  /// Members and their loops that run over the rows, in order.
  llvm::MapVector<Operation *, SmallVector<unsigned>> members;
  unsigned reductions = 0;
  /// True when a contraction is among the members.
  bool contraction = false;
  /// Rows of the last dimension that one trip of the loop does.
  int64_t tile = 1;
};
} // namespace

/// The loops that the first `count` results of `map` are. Empty when they are
/// anything but plain loops.
static SmallVector<unsigned> leadingLoops(AffineMap map, unsigned count) {
  SmallVector<unsigned> loops;
  if (map.getNumResults() < count)
    return {};
  for (AffineExpr expr : map.getResults().take_front(count)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return {};
    loops.push_back(dim.getPosition());
  }
  return loops;
}

/// A reduction of several products: something the packed loop nest takes.
static bool isContraction(linalg::GenericOp op) {
  return op.getNumDpsInits() == 1 && fastk::matchSumOfProducts(op) &&
         op.getNumDpsInputs() >= 2 && op.getNumParallelLoops() >= 2;
}

/// The largest divisor of `size` that is at most `limit`.
static int64_t largestDivisor(int64_t size, int64_t limit) {
  for (int64_t divisor = std::min(size, limit); divisor > 1; --divisor)
    if (size % divisor == 0)
      return divisor;
  return 1;
}

/// Rows of the last dimension of `rows` that a contraction does at once, so
/// that threads have enough trips to share.
static int64_t chooseTile(ArrayRef<int64_t> sizes, ArrayRef<unsigned> rows) {
  int64_t batches = 1;
  for (unsigned row : rows.drop_back())
    batches *= sizes[row];
  int64_t last = sizes[rows.back()];
  int64_t limit = batches * last / (4 * kContractionTrips);
  return largestDivisor(
      last, std::clamp(limit, kMinContractionRows, kContractionRows));
}

/// Whether `op` reduces windows of so few elements that they are better off
/// side by side than each by itself.
static bool hasShortWindows(linalg::GenericOp op) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t steps = 1;
  for (unsigned dim : reductions) {
    if (ShapedType::isDynamic(sizes[dim]) || sizes[dim] > kShortWindow)
      return false;
    steps = std::min(steps * sizes[dim], kShortWindow + 1);
  }
  return steps <= kShortWindow;
}

/// Whether `op` reduces what lies apart, although what lies beside it belongs
/// to the next of the rows that `loops` number: a sum of columns, which is
/// better off with all of them at once, or short windows, which begin beside
/// each other.
static bool readsAcross(linalg::GenericOp op, ArrayRef<unsigned> loops) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.getNumResults() < 2)
      return false;
    AffineExpr last = map.getResults().back();
    auto isLast = [&](unsigned dim) { return last.isFunctionOfDim(dim); };
    if (llvm::none_of(loops, isLast))
      return false;
    if (llvm::any_of(reductions, isLast))
      return hasShortWindows(op);
    return llvm::any_of(reductions,
                        [&](unsigned dim) { return map.isFunctionOfDim(dim); });
  });
}

/// The ops that end in `root` and can share its loops over the first `rowRank`
/// dimensions, each used by members only.
static RowGroup collectGroup(linalg::GenericOp root, unsigned rowRank) {
  RowGroup group;
  group.root = root;
  group.rowRank = rowRank;
  AffineMap rootMap =
      root.getIndexingMapMatchingResult(cast<OpResult>(root.getResult(0)));
  SmallVector<unsigned> rows = leadingLoops(rootMap, rowRank);
  if (rows.empty() || root.getNumResults() != 1)
    return group;
  SmallVector<int64_t> rootSizes = root.getStaticLoopRanges();
  // False when `op` does not belong into a loop over rows.
  auto join = [&](linalg::GenericOp op, ArrayRef<unsigned> loops) {
    if (isContraction(op)) {
      // An operand that is the same for all rows would be packed for each.
      bool sharesLast = true;
      for (OpOperand *input : op.getDpsInputOperands()) {
        AffineMap map = op.getMatchingIndexingMap(input);
        if (map.getNumResults() + 1 < op.getNumParallelLoops())
          continue;
        if (llvm::none_of(loops, [&](unsigned loop) {
              return map.isFunctionOfDim(loop);
            }))
          return false;
        sharesLast &= map.isFunctionOfDim(loops.back());
      }
      // A single row has nothing to reuse.
      group.contraction = true;
      if (!sharesLast)
        group.tile = chooseTile(ArrayRef(rootSizes), rows);
    } else if (op.getNumReductionLoops()) {
      if (readsAcross(op, loops))
        return false;
      ++group.reductions;
    }
    group.members[op] = SmallVector<unsigned>(loops);
    return true;
  };
  if (!join(root, rows))
    return group;
  // Backwards through the block: an op comes after all of its producers.
  for (Operation *op = root->getPrevNode(); op; op = op->getPrevNode()) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || generic->use_empty())
      continue;
    SmallVector<unsigned> loops;
    bool fits = true;
    for (OpOperand &use : generic->getUses()) {
      auto *member = group.members.find(use.getOwner());
      auto consumer = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (member == group.members.end() || !consumer) {
        fits = false;
        break;
      }
      // The consumer's rows must be the producer's rows.
      fits &= leadingLoops(consumer.getMatchingIndexingMap(&use), rowRank) ==
              member->second;
      SmallVector<unsigned> own = leadingLoops(
          generic.getIndexingMapMatchingResult(cast<OpResult>(use.get())),
          rowRank);
      fits &= !own.empty() && (loops.empty() || loops == own);
      loops = own;
    }
    auto iterators = generic.getIteratorTypesArray();
    fits &= llvm::all_of(loops, [&](unsigned loop) {
      return iterators[loop] == utils::IteratorType::parallel;
    });
    if (!fits)
      continue;
    join(generic, loops);
  }
  return group;
}

/// Tiles the root over its rows and puts the other members into the loop.
static LogicalResult fuseRows(RowGroup &group) {
  linalg::GenericOp root = group.root;
  IRRewriter rewriter(root.getContext());
  SmallVector<unsigned> rows = group.members[root];
  SmallVector<OpFoldResult> tiles(root.getNumLoops(), rewriter.getIndexAttr(0));
  for (unsigned loop : rows)
    tiles[loop] = rewriter.getIndexAttr(1);
  tiles[rows.back()] = rewriter.getIndexAttr(group.tile);
  scf::SCFTileAndFuseOptions options;
  options.tilingOptions.setTileSizes(tiles);
  options.tilingOptions.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  options.setFusionControlFn(
      [&](tensor::ExtractSliceOp, OpResult producer,
          bool) -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
        if (!group.members.contains(producer.getOwner()))
          return std::nullopt;
        return scf::SCFTileAndFuseOptions::ControlFnResult{};
      });
  auto tileable = cast<TilingInterface>(root.getOperation());
  rewriter.setInsertionPoint(root);
  FailureOr<scf::SCFTileAndFuseResult> result =
      scf::tileConsumerAndFuseProducersUsingSCF(rewriter, tileable, options);
  if (failed(result))
    return failure();
  rewriter.replaceOp(root, result->replacements[root.getResult(0)]);
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct FastkDefaultSchedulePass
    : fastk::impl::FastkDefaultSchedulePassBase<FastkDefaultSchedulePass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration())
      return;
    if (failed(normalize(func)))
      return signalPassFailure();
    if (failed(fuseRowGroups(func)))
      return signalPassFailure();
  }

  LogicalResult cleanUp(func::FuncOp func) {
    OpPassManager passes("func.func");
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    return runPipeline(passes, func);
  }

  /// Few large generics without unit dimensions or dead results.
  LogicalResult normalize(func::FuncOp func) {
    MLIRContext *context = &getContext();
    {
      RewritePatternSet patterns(context);
      linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
      linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
      if (failed(applyPatternsGreedily(func, std::move(patterns))))
        return failure();
    }
    // While the zeros are next to what reads them: no reshape in between.
    if (skipZeros)
      fastk::splitStuffedConvolutions(func);
    {
      RewritePatternSet patterns(context);
      linalg::ControlDropUnitDims options;
      linalg::populateFoldUnitExtentDimsPatterns(patterns, options);
      if (failed(applyPatternsGreedily(func, std::move(patterns))))
        return failure();
    }
    if (failed(cleanUp(func)))
      return failure();
    RewritePatternSet patterns(context);
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    linalg::populateFoldReshapeOpsByExpansionPatterns(
        patterns, [](OpOperand *) { return true; });
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    if (failed(applyPatternsGreedily(func, std::move(patterns))))
      return failure();
    return cleanUp(func);
  }

  LogicalResult fuseRowGroups(func::FuncOp func) {
    // From the end: a root is an op that no group has taken.
    bool changed = true;
    DenseSet<Operation *> tried;
    while (changed) {
      changed = false;
      SmallVector<linalg::GenericOp> ops(
          func.getBody().front().getOps<linalg::GenericOp>());
      for (linalg::GenericOp op : llvm::reverse(ops)) {
        if (!tried.insert(op).second || op->use_empty())
          continue;
        std::optional<RowGroup> best = findGroup(op);
        if (!best)
          continue;
        Location loc = op.getLoc();
        size_t members = best->members.size();
        if (failed(fuseRows(*best)))
          continue;
        remark::passed(loc,
                       remark::RemarkOpts::name("row-fused").category("fastk"))
            << remark::metric("ops", static_cast<int>(members));
        // A row's temporaries belong to the row, not to the whole.
        RewritePatternSet patterns(&getContext());
        tensor::populateFoldTensorEmptyPatterns(patterns);
        if (failed(applyPatternsGreedily(func, std::move(patterns))) ||
            failed(cleanUp(func)))
          return failure();
        changed = true;
        break;
      }
    }
    return success();
  }

  /// The way of cutting into rows that takes along the most reductions.
  std::optional<RowGroup> findGroup(linalg::GenericOp root) {
    if (root.getNumResults() != 1)
      return std::nullopt;
    auto type = cast<RankedTensorType>(root.getResult(0).getType());
    if (!type.hasStaticShape())
      return std::nullopt;
    std::optional<RowGroup> best;
    for (unsigned rank = 1; rank <= static_cast<unsigned>(type.getRank());
         ++rank) {
      RowGroup group = collectGroup(root, rank);
      if (group.reductions == 0 || group.members.size() < 2)
        continue;
      int64_t rows = 1;
      for (int64_t size : type.getShape().take_front(rank))
        rows *= size;
      int64_t trips = rows / group.tile, largest = 0;
      for (auto &member : group.members)
        if (member.first != root)
          for (Type result : member.first->getResultTypes())
            largest = std::max(largest,
                               cast<RankedTensorType>(result).getNumElements());
      if (trips < (group.contraction ? kContractionTrips : 2) ||
          largest / trips > kTripElements)
        continue;
      // More reductions; then more rows, which need less memory each.
      if (!best || group.members.size() >= best->members.size())
        best = std::move(group);
    }
    return best;
  }
};
} // namespace
