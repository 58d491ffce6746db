//===- LowerGeneric.cpp - linalg.generic on memrefs to loops --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerGeneric.h"
#include "SearchExtremum.h"
#include "SplitReduction.h"
#include "fastk/Dialect/Linalg/FusedProducts.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fastk;

/// Reductions of at most this many steps are unrolled by LLVM inside the
/// parallel loop around them, which it then vectorises.
static constexpr int64_t kUnrolledReduction = 32;
/// A parallel loop gets about this many trips: 64 threads still have four each,
/// so that none has a third more than another. The code is the same for any
/// number of threads.
static constexpr int64_t kTrips = 256;
/// The innermost loop is what LLVM vectorises: pieces of it stay this long.
static constexpr int64_t kInnerPiece = 1024;
/// A reduction with fewer trips outside of it is cut into pieces, where it does
/// as many scalar operations: what a team of threads costs several times over.
static constexpr int64_t kFewTrips = 16;
static constexpr int64_t kSplitWork = 1 << 17;

namespace {
/// Lowers one op.
class LoopEmitter {
public:
  LoopEmitter(RewriterBase &rewriter, linalg::GenericOp op,
              const LoopOptions &options)
      : rewriter(rewriter), op(op), options(options), loc(op.getLoc()) {}

  LogicalResult emit();

private:
  void chooseOrder();
  std::optional<unsigned> reductionToSplit();
  void findAccumulators();
  /// The number of loops that must be open before `value` can be computed.
  unsigned levelOfMap(AffineMap map) const;
  void assignLevels();
  /// Everything of the body that belongs right inside loop `level` - 1.
  void emitBody(unsigned level);
  std::optional<int64_t> countWork();
  void emitPiece(unsigned dim, int64_t piece, int64_t size);
  /// Opens the parallel loops and emits what is in them; false where there are
  /// none.
  bool emitParallelLoops();
  void emitLoop(unsigned level);
  /// Emits what belongs inside loop `level` - 1, loops included.
  void emitLoops(unsigned level);
  void storeResults(ValueRange values);
  SmallVector<Value> indices(AffineMap map);
  bool isParallelContext() const {
    return op->getParentOfType<scf::ParallelOp>() ||
           op->getParentOfType<scf::ForallOp>();
  }

  RewriterBase &rewriter;
  linalg::GenericOp op;
  const LoopOptions &options;
  Location loc;
  /// Dimensions from the outermost loop in, and where each one is.
  SmallVector<unsigned> order, position;
  SmallVector<Value> sizes;
  SmallVector<int64_t> staticSizes;
  SmallVector<Value> ivs;
  /// True when the reduction loops are innermost and carry the results.
  bool inRegisters = false;
  /// True when LLVM vectorises the last of the leading parallel loops.
  bool lastIsVectorised = false;
  unsigned firstReduction = 0;
  /// Where the innermost loop is cut: how long a piece is, and its number.
  int64_t columns = 0;
  Value columnPiece;
  DenseMap<Operation *, unsigned> levels;
  DenseMap<BlockArgument, unsigned> loadLevels;
  DenseSet<Operation *> combiners;
  IRMapping mapping;
};
} // namespace

/// The factor of `dim` in a linear expression; 0 when it does not occur.
static int64_t coefficient(AffineExpr expr, unsigned dim) {
  if (auto d = dyn_cast<AffineDimExpr>(expr))
    return d.getPosition() == dim;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 0;
  if (binary.getKind() == AffineExprKind::Add)
    return coefficient(binary.getLHS(), dim) +
           coefficient(binary.getRHS(), dim);
  if (binary.getKind() == AffineExprKind::Mul)
    if (auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS()))
      return coefficient(binary.getLHS(), dim) * constant.getValue();
  return 0;
}

void LoopEmitter::chooseOrder() {
  unsigned rank = op.getNumLoops();
  auto iterators = op.getIteratorTypesArray();
  // How well a dimension runs through memory: unit strides for it, any other
  // stride against it.
  SmallVector<int64_t> score(rank, 0);
  for (AffineMap map : op.getIndexingMapsArray())
    for (unsigned dim = 0; dim < rank; ++dim)
      for (auto [i, expr] : llvm::enumerate(map.getResults())) {
        int64_t factor = coefficient(expr, dim);
        if (factor == 0)
          continue;
        bool last = i + 1 == map.getNumResults();
        score[dim] += last && factor == 1 ? 4 : last ? -1 : -4;
      }
  SmallVector<unsigned> parallel, reduction;
  int64_t reductionSteps = 1;
  for (unsigned dim = 0; dim < rank; ++dim) {
    if (iterators[dim] == utils::IteratorType::parallel) {
      parallel.push_back(dim);
      continue;
    }
    reduction.push_back(dim);
    reductionSteps = ShapedType::isDynamic(staticSizes[dim])
                         ? kUnrolledReduction + 1
                         : std::min(reductionSteps * staticSizes[dim],
                                    kUnrolledReduction + 1);
  }
  // Later dimensions are usually the inner ones: they win ties.
  auto bestOf = [&](ArrayRef<unsigned> dims) -> std::optional<unsigned> {
    std::optional<unsigned> best;
    for (unsigned dim : dims)
      if (!best || score[dim] >= score[*best])
        best = dim;
    return best;
  };
  auto moveToEnd = [&](SmallVector<unsigned> &dims, unsigned dim) {
    llvm::erase(dims, dim);
    dims.push_back(dim);
  };
  auto innerParallel = bestOf(parallel), innerReduction = bestOf(reduction);
  if (innerParallel)
    moveToEnd(parallel, *innerParallel);
  if (innerReduction)
    moveToEnd(reduction, *innerReduction);
  inRegisters = !reduction.empty() &&
                (parallel.empty() || reductionSteps <= kUnrolledReduction ||
                 score[*innerReduction] >= score[*innerParallel]);
  lastIsVectorised = reduction.empty() ||
                     (inRegisters && reductionSteps <= kUnrolledReduction);
  if (inRegisters || reduction.empty()) {
    order = parallel;
    order.append(reduction);
    firstReduction = parallel.size();
  } else {
    order.assign(parallel.begin(), parallel.end() - 1);
    order.append(reduction);
    order.push_back(parallel.back());
    firstReduction = order.size();
  }
  position.resize(rank);
  for (auto [i, dim] : llvm::enumerate(order))
    position[dim] = i;
}

/// The reduction loop that is cut so that every thread has its share.
std::optional<unsigned> LoopEmitter::reductionToSplit() {
  if (!options.relaxed || !options.hasThreads || isParallelContext() ||
      countWork().value_or(0) < kSplitWork)
    return std::nullopt;
  auto iterators = op.getIteratorTypesArray();
  int64_t trips = 1;
  for (unsigned dim : order) {
    if (iterators[dim] == utils::IteratorType::parallel) {
      if (inRegisters || dim != order.back())
        trips *= staticSizes[dim];
      continue;
    }
    if (trips < kFewTrips && choosePieces(staticSizes[dim]) > 0)
      return dim;
  }
  return std::nullopt;
}

void LoopEmitter::findAccumulators() {
  if (!options.relaxed)
    return;
  Block *body = op.getBody();
  auto yield = cast<linalg::YieldOp>(body->getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    BlockArgument accumulator = body->getArgument(op.getNumDpsInputs() + i);
    Operation *combiner = value.getDefiningOp();
    if (isa_and_nonnull<arith::AddFOp, arith::MulFOp>(combiner) &&
        accumulator.hasOneUse() &&
        llvm::is_contained(combiner->getOperands(), accumulator))
      combiners.insert(combiner);
  }
}

unsigned LoopEmitter::levelOfMap(AffineMap map) const {
  unsigned level = 0;
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
    if (map.isFunctionOfDim(dim))
      level = std::max(level, position[dim] + 1);
  return level;
}

void LoopEmitter::assignLevels() {
  Block *body = op.getBody();
  unsigned deepest = order.size();
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    bool isOutput = op.isDpsInit(&operand);
    loadLevels[argument] =
        isOutput ? deepest : levelOfMap(op.getMatchingIndexingMap(&operand));
  }
  for (Operation &inner : body->without_terminator()) {
    unsigned level = 0;
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      level = position[index.getDim()] + 1;
    } else if (inner.getNumRegions() || !isMemoryEffectFree(&inner)) {
      level = deepest;
    } else {
      for (Value operand : inner.getOperands()) {
        if (auto argument = dyn_cast<BlockArgument>(operand);
            argument && argument.getOwner() == body)
          level = std::max(level, loadLevels.lookup(argument));
        else if (Operation *producer = operand.getDefiningOp();
                 producer && producer->getBlock() == body)
          level = std::max(level, levels.lookup(producer));
      }
    }
    levels[&inner] = level;
  }
}

SmallVector<Value> LoopEmitter::indices(AffineMap map) {
  SmallVector<Value> result;
  for (AffineExpr expr : map.getResults()) {
    AffineMap single = AffineMap::get(map.getNumDims(), 0, expr);
    // By dimension; those of loops not yet open do not occur in the map.
    SmallVector<OpFoldResult> operands;
    for (Value iv : ivs)
      operands.push_back(iv ? OpFoldResult(iv)
                            : OpFoldResult(rewriter.getIndexAttr(0)));
    OpFoldResult folded =
        affine::makeComposedFoldedAffineApply(rewriter, loc, single, operands);
    result.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, folded));
  }
  return result;
}

void LoopEmitter::emitBody(unsigned level) {
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (loadLevels[argument] != level || argument.use_empty() ||
        mapping.contains(argument))
      continue;
    Value value = operand.get();
    if (isa<MemRefType>(value.getType()))
      value = memref::LoadOp::create(
          rewriter, loc, value, indices(op.getMatchingIndexingMap(&operand)));
    mapping.map(argument, value);
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (levels[&inner] != level)
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(), ivs[index.getDim()]);
      continue;
    }
    Operation *clone = rewriter.clone(inner, mapping);
    if (!options.relaxed)
      continue;
    allowFusedProduct(inner, mapping);
    if (combiners.contains(&inner))
      addFastMathFlags(clone, arith::FastMathFlags::reassoc);
  }
}

void LoopEmitter::storeResults(ValueRange values) {
  for (auto [i, value] : llvm::enumerate(values)) {
    OpOperand *init = op.getDpsInitOperand(i);
    memref::StoreOp::create(rewriter, loc, value, init->get(),
                            indices(op.getMatchingIndexingMap(init)));
  }
}

/// The scalar operations of the whole op, when its size is known.
std::optional<int64_t> LoopEmitter::countWork() {
  int64_t work = op.getBody()->getOperations().size();
  for (int64_t size : staticSizes) {
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    work = llvm::SaturatingMultiply<uint64_t>(work, size) >> 62
               ? int64_t(1) << 62
               : work * size;
  }
  return work;
}

/// How many steps of a loop of `size` make one trip when `wanted` trips are
/// enough: 1, or else a divisor of `size` where there is one near.
static int64_t choosePiece(int64_t size, int64_t wanted, bool innermost) {
  int64_t piece = std::max<int64_t>(llvm::divideCeil(size, wanted), 1);
  if (innermost)
    piece = llvm::alignTo(std::max(piece, kInnerPiece), 64);
  for (int64_t divisor = piece; divisor > piece / 2; --divisor)
    if (size % divisor == 0 && (!innermost || divisor % 16 == 0))
      return divisor;
  return piece;
}

/// Opens the loop over one piece of `dim`, whose number is in its place.
void LoopEmitter::emitPiece(unsigned dim, int64_t piece, int64_t size) {
  Value length = arith::ConstantIndexOp::create(rewriter, loc, piece);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  Value from = arith::MulIOp::create(rewriter, loc, ivs[dim], length);
  Value steps = length;
  if (size % piece)
    steps = arith::MinUIOp::create(
        rewriter, loc, length,
        arith::SubIOp::create(rewriter, loc, sizes[dim], from));
  auto loop = scf::ForOp::create(rewriter, loc, zero, steps, one);
  rewriter.setInsertionPointToStart(loop.getBody());
  ivs[dim] = arith::AddIOp::create(rewriter, loc, from, loop.getInductionVar());
}

/// The outermost loops run in parallel, as many as give every thread its share;
/// the last of them is cut in pieces when it is longer than that. Where they
/// are too few, and a reduction is around the innermost loop, pieces of that
/// one.
bool LoopEmitter::emitParallelLoops() {
  // No loop at all has nothing to deal out.
  if (isParallelContext() || llvm::is_contained(staticSizes, 0))
    return false;
  auto iterators = op.getIteratorTypesArray();
  auto isParallel = [&](unsigned dim) {
    return iterators[dim] == utils::IteratorType::parallel;
  };
  unsigned leading = llvm::find_if_not(order, isParallel) - order.begin();
  int64_t trips = 1, piece = 1;
  SmallVector<Value> uppers;
  while (uppers.size() < leading && piece == 1 && trips < kTrips) {
    unsigned dim = order[uppers.size()];
    int64_t size = staticSizes[dim];
    if (ShapedType::isDynamic(size)) {
      // How long it is shows at run time; long, usually.
      uppers.push_back(sizes[dim]);
      trips *= kTrips;
      continue;
    }
    piece = choosePiece(size, llvm::divideCeil(kTrips, trips),
                        uppers.size() + 1 == leading && lastIsVectorised);
    if (piece > 1 && piece >= size)
      break;
    int64_t pieces = llvm::divideCeil(size, piece);
    uppers.push_back(arith::ConstantIndexOp::create(rewriter, loc, pieces));
    trips *= pieces;
  }
  unsigned count = uppers.size();
  bool cutsColumns = leading < order.size() && isParallel(order.back()) &&
                     count == leading && piece == 1 && trips < kFewTrips &&
                     !ShapedType::isDynamic(staticSizes[order.back()]);
  if (cutsColumns) {
    int64_t size = staticSizes[order.back()];
    columns = choosePiece(size, llvm::divideCeil(kTrips, trips),
                          /*innermost=*/true);
    int64_t pieces = llvm::divideCeil(size, columns);
    cutsColumns = pieces > 1;
    trips *= pieces;
    if (cutsColumns)
      uppers.push_back(arith::ConstantIndexOp::create(rewriter, loc, pieces));
  }
  if (trips <= 1)
    return false;
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  SmallVector<Value> lowers(uppers.size(), zero), steps(uppers.size(), one);
  auto loop = scf::ParallelOp::create(rewriter, loc, lowers, uppers, steps);
  if (std::optional<int64_t> work = countWork())
    loop->setAttr(kWorkAttr, rewriter.getI64IntegerAttr(*work));
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  if (cutsColumns)
    columnPiece = loop.getInductionVars().back();
  for (unsigned i = 0; i < count; ++i) {
    ivs[order[i]] = loop.getInductionVars()[i];
    if (i + 1 < count)
      emitBody(i + 1);
  }
  // The last of them is the one that was cut, if any.
  if (int64_t size = count ? staticSizes[order[count - 1]] : 1;
      !ShapedType::isDynamic(size) && piece > 1 && piece < size)
    emitPiece(order[count - 1], piece, size);
  if (count)
    emitLoops(count);
  else
    emitLoop(0);
  return true;
}

/// Opens the loop of `level` and emits what is in it.
void LoopEmitter::emitLoop(unsigned level) {
  unsigned dim = order[level];
  OpBuilder::InsertionGuard guard(rewriter);
  if (columnPiece && level + 1 == order.size()) {
    ivs[dim] = columnPiece;
    emitPiece(dim, columns, staticSizes[dim]);
  } else {
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    auto loop = scf::ForOp::create(rewriter, loc, zero, sizes[dim], one);
    rewriter.setInsertionPointToStart(loop.getBody());
    ivs[dim] = loop.getInductionVar();
  }
  emitLoops(level + 1);
}

void LoopEmitter::emitLoops(unsigned level) {
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  if (inRegisters && level == firstReduction) {
    // The accumulators enter the loops here and leave them here.
    SmallVector<Value> accumulators;
    for (unsigned i = 0, e = op.getNumDpsInits(); i < e; ++i) {
      OpOperand *init = op.getDpsInitOperand(i);
      accumulators.push_back(
          memref::LoadOp::create(rewriter, loc, init->get(),
                                 indices(op.getMatchingIndexingMap(init))));
    }
    emitBody(level);
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    SmallVector<scf::ForOp> loops;
    ValueRange carried = accumulators;
    for (unsigned i = level; i < order.size(); ++i) {
      auto loop = scf::ForOp::create(rewriter, loc, zero, sizes[order[i]], one,
                                     carried);
      loops.push_back(loop);
      ivs[order[i]] = loop.getInductionVar();
      rewriter.setInsertionPointToStart(loop.getBody());
      carried = loop.getRegionIterArgs();
      if (i + 1 == order.size())
        for (unsigned k = 0, e = op.getNumDpsInits(); k < e; ++k)
          mapping.map(op.getRegionOutputArgs()[k], carried[k]);
      emitBody(i + 1);
    }
    SmallVector<Value> results;
    for (Value value : yield.getValues())
      results.push_back(mapping.lookupOrDefault(value));
    for (scf::ForOp loop : llvm::reverse(loops)) {
      rewriter.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(rewriter, loc, results);
      if (options.relaxed && !lastIsVectorised && loop == loops.back())
        if (scf::ForOp pieces = searchInPieces(rewriter, loop)) {
          loop = pieces;
          ivs[order.back()] = Value();
        }
      results.assign(loop.getResults().begin(), loop.getResults().end());
      rewriter.setInsertionPointAfter(loop);
    }
    storeResults(results);
    return;
  }
  emitBody(level);
  if (level == order.size()) {
    SmallVector<Value> results;
    for (Value value : yield.getValues())
      results.push_back(mapping.lookupOrDefault(value));
    storeResults(results);
    return;
  }
  if (level != 0 || !emitParallelLoops())
    emitLoop(level);
}

LogicalResult LoopEmitter::emit() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  staticSizes = op.getStaticLoopRanges();
  chooseOrder();
  if (std::optional<unsigned> dim = reductionToSplit()) {
    SmallVector<linalg::GenericOp> parts;
    if (splitReduction(rewriter, op, *dim, parts))
      return success(llvm::all_of(parts, [&](linalg::GenericOp part) {
        return succeeded(lowerToLoops(rewriter, part, options));
      }));
  }
  for (Range range : cast<linalg::LinalgOp>(op.getOperation())
                         .createLoopRanges(rewriter, loc))
    sizes.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, range.size));
  ivs.resize(op.getNumLoops());
  findAccumulators();
  assignLevels();
  emitLoops(0);
  rewriter.eraseOp(op);
  return success();
}

LogicalResult fastk::lowerToLoops(RewriterBase &rewriter, linalg::GenericOp op,
                                  const LoopOptions &options) {
  return LoopEmitter(rewriter, op, options).emit();
}
