//===- SplitReduction.cpp - Long reductions in pieces ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitReduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fastk;

/// More pieces than most machines have threads.
static constexpr int64_t kMostPieces = 64;
/// Fewer are not worth it.
static constexpr int64_t kFewestPieces = 16;
/// So many steps pay for one of the last op.
static constexpr int64_t kFewestSteps = 16;
/// Elements of the results of all pieces: 32 MB of f64.
static constexpr int64_t kMostPartials = int64_t(1) << 22;

int64_t fastk::choosePieces(int64_t size) {
  int64_t most = std::min(kMostPieces, size / kFewestSteps);
  if (most < kFewestPieces)
    return 0;
  // Those that leave the least over.
  int64_t best = most;
  for (int64_t pieces = most; pieces > most / 2; --pieces)
    if (size % pieces < size % best)
      best = pieces;
  return best;
}

namespace {
/// One loop of an op, and how it is cut.
struct Cut {
  unsigned dim;
  int64_t size, pieces;
  int64_t steps() const { return size / pieces; }
  int64_t covered() const { return steps() * pieces; }
};
} // namespace

/// Where `cut.dim` is in `map`, by its place among the results.
static std::optional<unsigned> placeOf(AffineMap map, unsigned dim) {
  for (auto [place, expr] : llvm::enumerate(map.getResults()))
    if (expr.isFunctionOfDim(dim))
      return place;
  return std::nullopt;
}

/// Whether each operand that depends on `dim` is indexed by it plainly, once.
static bool isPlainIndex(linalg::GenericOp op, unsigned dim) {
  bool isFound = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    std::optional<unsigned> place = placeOf(map, dim);
    if (!place)
      continue;
    isFound = true;
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (i == *place ? !isa<AffineDimExpr>(expr) : expr.isFunctionOfDim(dim))
        return false;
  }
  return isFound;
}

/// Whether `combiner` is the same operation on pieces, which begin with its
/// neutral element and may go where the whole does not: its flags must not say
/// that what happens then never does.
static bool holdsForPieces(Operation *combiner) {
  // The neutral element of these is not a number.
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(combiner) &&
      bitEnumContainsAny(cast<arith::ArithFastMathInterface>(combiner)
                             .getFastMathFlagsAttr()
                             .getValue(),
                         arith::FastMathFlags::nnan))
    return false;
  auto wraps = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(combiner);
  return !wraps || wraps.getOverflowAttr().getValue() ==
                       arith::IntegerOverflowFlags::none;
}

/// What changes nothing when `combiner` takes it; the op must have such a
/// value.
static TypedAttr neutralOf(Operation *combiner) {
  // Not +0: that makes one of a sum of negative zeros.
  if (isa<arith::AddFOp>(combiner))
    return FloatAttr::get(combiner->getResult(0).getType(), -0.0);
  return *arith::getNeutralElement(combiner);
}

/// What joins each result with what is reduced; empty where one of them is
/// anything but an operation with a neutral element.
static SmallVector<Operation *> combinersOf(linalg::GenericOp op) {
  Block *body = op.getBody();
  SmallVector<Operation *> combiners;
  for (auto [i, value] :
       llvm::enumerate(body->getTerminator()->getOperands())) {
    BlockArgument accumulator = body->getArgument(op.getNumDpsInputs() + i);
    Operation *combiner = value.getDefiningOp();
    if (!combiner || combiner->getBlock() != body || !accumulator.hasOneUse() ||
        *accumulator.getUsers().begin() != combiner ||
        combiner->getNumOperands() != 2 || !combiner->hasOneUse() ||
        !isa<FloatType, IntegerType>(value.getType()) ||
        !arith::getNeutralElement(combiner) || !holdsForPieces(combiner))
      return {};
    combiners.push_back(combiner);
  }
  return combiners;
}

/// Steps `from` to `from + size` of dimension `place` of `value`.
static Value sliceOf(RewriterBase &rewriter, Location loc, Value value,
                     unsigned place, int64_t from, int64_t size) {
  auto type = cast<MemRefType>(value.getType());
  if (from == 0 && size == type.getDimSize(place))
    return value;
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t length : type.getShape())
    sizes.push_back(rewriter.getIndexAttr(length));
  offsets[place] = rewriter.getIndexAttr(from);
  sizes[place] = rewriter.getIndexAttr(size);
  return memref::SubViewOp::create(rewriter, loc, value, offsets, sizes,
                                   strides);
}

/// Dimension `place` of `value` as pieces and the steps of one.
static Value piecesOf(RewriterBase &rewriter, Location loc, Value value,
                      unsigned place, const Cut &cut) {
  value = sliceOf(rewriter, loc, value, place, 0, cut.covered());
  SmallVector<int64_t> shape(cast<MemRefType>(value.getType()).getShape());
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0, e = shape.size(); i < e; ++i) {
    int64_t shift = i > int64_t(place);
    groups.push_back({i + shift});
    if (i == int64_t(place))
      groups.back().push_back(i + 1);
  }
  shape[place] = cut.steps();
  shape.insert(shape.begin() + place, cut.pieces);
  return memref::ExpandShapeOp::create(rewriter, loc, shape, value, groups);
}

/// `map` where one more dimension comes first, which numbers the pieces.
static AffineMap cutMap(AffineMap map, unsigned dim, bool isOutput) {
  MLIRContext *context = map.getContext();
  AffineExpr piece = getAffineDimExpr(0, context);
  SmallVector<AffineExpr> exprs;
  if (isOutput)
    exprs.push_back(piece);
  for (AffineExpr expr : map.getResults()) {
    if (!isOutput && expr.isFunctionOfDim(dim))
      exprs.push_back(piece);
    exprs.push_back(expr.shiftDims(map.getNumDims(), 1));
  }
  return AffineMap::get(map.getNumDims() + 1, 0, exprs, context);
}

/// The results of each piece, which begin with what changes nothing.
static SmallVector<Value>
createPartials(RewriterBase &rewriter, linalg::GenericOp op, const Cut &cut,
               ArrayRef<Operation *> combiners,
               SmallVectorImpl<linalg::GenericOp> &parts) {
  Location loc = op.getLoc();
  SmallVector<Value> partials;
  for (auto [init, combiner] : llvm::zip(op.getDpsInits(), combiners)) {
    auto type = cast<MemRefType>(init.getType());
    SmallVector<int64_t> shape{cut.pieces};
    llvm::append_range(shape, type.getShape());
    Value partial = memref::AllocOp::create(
        rewriter, loc, MemRefType::get(shape, type.getElementType()));
    Value neutral =
        arith::ConstantOp::create(rewriter, loc, neutralOf(combiner));
    auto fill = linalg::FillOp::create(rewriter, loc, neutral, partial);
    parts.push_back(*linalg::generalizeNamedOp(rewriter, fill));
    partials.push_back(partial);
  }
  return partials;
}

/// The op on pieces, into `partials`.
static linalg::GenericOp createPieces(RewriterBase &rewriter,
                                      linalg::GenericOp op, const Cut &cut,
                                      ValueRange partials) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    std::optional<unsigned> place = placeOf(map, cut.dim);
    inputs.push_back(
        place ? piecesOf(rewriter, op.getLoc(), input->get(), *place, cut)
              : input->get());
    maps.push_back(cutMap(map, cut.dim, /*isOutput=*/false));
  }
  for (OpOperand &init : op.getDpsInitsMutable())
    maps.push_back(cutMap(op.getMatchingIndexingMap(&init), cut.dim,
                          /*isOutput=*/true));
  SmallVector<utils::IteratorType> iterators{utils::IteratorType::parallel};
  llvm::append_range(iterators, op.getIteratorTypesArray());
  auto pieces = linalg::GenericOp::create(rewriter, op.getLoc(), inputs,
                                          partials, maps, iterators);
  rewriter.cloneRegionBefore(op.getRegion(), pieces.getRegion(),
                             pieces.getRegion().begin());
  for (auto index : pieces.getBody()->getOps<linalg::IndexOp>())
    index.setDim(index.getDim() + 1);
  return pieces;
}

/// The op on the steps that no piece has.
static linalg::GenericOp createRest(RewriterBase &rewriter,
                                    linalg::GenericOp op, const Cut &cut) {
  auto rest = cast<linalg::GenericOp>(rewriter.clone(*op));
  for (OpOperand *input : rest.getDpsInputOperands())
    if (auto place = placeOf(rest.getMatchingIndexingMap(input), cut.dim)) {
      rewriter.setInsertionPoint(rest);
      input->set(sliceOf(rewriter, op.getLoc(), input->get(), *place,
                         cut.covered(), cut.size - cut.covered()));
    }
  rewriter.setInsertionPointAfter(rest);
  return rest;
}

/// Reduces what the pieces made into the results of `op`.
static linalg::GenericOp createJoin(RewriterBase &rewriter,
                                    linalg::GenericOp op, ValueRange partials,
                                    ArrayRef<Operation *> combiners) {
  MLIRContext *context = op.getContext();
  // A loop for each dimension of the results, which are all alike, and that of
  // the pieces.
  unsigned rank = cast<MemRefType>(op.getDpsInits()[0].getType()).getRank();
  AffineMap partialMap = AffineMap::getMultiDimIdentityMap(rank + 1, context);
  AffineMap resultMap = partialMap.dropResult(0);
  SmallVector<AffineMap> maps(partials.size(), partialMap);
  maps.append(partials.size(), resultMap);
  SmallVector<utils::IteratorType> iterators(rank + 1,
                                             utils::IteratorType::parallel);
  iterators[0] = utils::IteratorType::reduction;
  return linalg::GenericOp::create(
      rewriter, op.getLoc(), partials, op.getDpsInits(), maps, iterators,
      [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        Block *body = op.getBody();
        SmallVector<Value> results;
        for (auto [i, combiner] : llvm::enumerate(combiners)) {
          Value accumulator = body->getArgument(op.getNumDpsInputs() + i);
          IRMapping mapping;
          for (Value operand : combiner->getOperands())
            mapping.map(
                operand,
                arguments[operand == accumulator ? partials.size() + i : i]);
          results.push_back(builder.clone(*combiner, mapping)->getResult(0));
        }
        linalg::YieldOp::create(builder, loc, results);
      });
}

/// Whether all sizes are known, which slices and partial results need, and the
/// results of so many pieces are bearable.
static bool mayHavePartials(linalg::GenericOp op, int64_t pieces) {
  int64_t elements = 0;
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<MemRefType>(operand.getType());
        type && !type.hasStaticShape())
      return false;
  for (Value init : op.getDpsInits())
    elements += cast<MemRefType>(init.getType()).getNumElements();
  return elements <= kMostPartials / pieces;
}

bool fastk::splitReduction(RewriterBase &rewriter, linalg::GenericOp op,
                           unsigned dim,
                           SmallVectorImpl<linalg::GenericOp> &parts) {
  int64_t size = op.getStaticLoopRanges()[dim];
  Cut cut{dim, size, choosePieces(size)};
  SmallVector<Operation *> combiners = combinersOf(op);
  bool isNumbered = llvm::any_of(
      op.getBody()->getOps<linalg::IndexOp>(),
      [&](linalg::IndexOp index) { return index.getDim() == dim; });
  bool areAlike =
      llvm::all_equal(llvm::map_range(op.getDpsInits(), [](Value init) {
        return cast<MemRefType>(init.getType()).getShape();
      }));
  bool arePlain = llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    return op.getMatchingIndexingMap(&init).isProjectedPermutation();
  });
  if (cut.pieces == 0 || !mayHavePartials(op, cut.pieces) ||
      combiners.empty() || isNumbered || !areAlike || !arePlain ||
      !isPlainIndex(op, dim))
    return false;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SmallVector<Value> partials =
      createPartials(rewriter, op, cut, combiners, parts);
  parts.push_back(createPieces(rewriter, op, cut, partials));
  if (cut.covered() < cut.size)
    parts.push_back(createRest(rewriter, op, cut));
  parts.push_back(createJoin(rewriter, op, partials, combiners));
  rewriter.eraseOp(op);
  return true;
}
