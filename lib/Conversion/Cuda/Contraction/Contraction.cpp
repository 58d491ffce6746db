//===- Contraction.cpp - Sums of products on a GPU ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "Cuda/Kernels/MemrefPlace.h"
#include "Tensors/BodySlice.h"
#include "fastk/Dialect/Linalg/LinearForm.h"
#include "fastk/Dialect/Linalg/SumOfProducts.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fastk;

/// With fewer rows or columns a tile is mostly padding.
static constexpr int64_t kFewest = 8;
/// With fewer terms in a sum there is nothing to reuse.
static constexpr int64_t kShortestSum = 4;

/// Strides of an operand along each loop of its op. Nothing where it begins
/// elsewhere than at its first element, or runs backwards.
static std::optional<SmallVector<int64_t>> stridesOf(linalg::GenericOp op,
                                                     OpOperand &operand) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!type || failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  auto address =
      LinearForm::ofAccess(op.getMatchingIndexingMap(&operand), strides);
  if (!address || address->constant != 0 ||
      llvm::any_of(address->coefficients,
                   [](int64_t step) { return step < 0; }))
    return std::nullopt;
  return SmallVector<int64_t>(ArrayRef<int64_t>(address->coefficients));
}

/// Strides along the loops of `op`, which writes a memref, of an operand of
/// `other`, which accesses the same memref by `otherMap`.
static std::optional<SmallVector<int64_t>>
stridesThrough(linalg::GenericOp op, linalg::GenericOp other,
               AffineMap otherMap, OpOperand &operand) {
  auto strides = stridesOf(other, operand);
  if (!strides)
    return std::nullopt;
  SmallVector<int64_t> moves(op.getNumLoops(), 0);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [here, there] :
       llvm::zip_equal(map.getResults(), otherMap.getResults()))
    moves[cast<AffineDimExpr>(here).getPosition()] =
        (*strides)[cast<AffineDimExpr>(there).getPosition()];
  return moves;
}

/// The input of `op` that is `memref`.
static OpOperand *inputOf(linalg::GenericOp op, Value memref) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (input->get() == memref)
      return input;
  return nullptr;
}

/// Of the host function's values the kernel makes constants again; it knows no
/// others.
static bool isConstant(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer && producer->hasTrait<OpTrait::ConstantLike>();
}

static bool collectSide(Value value, Contraction &contraction,
                        ContractionSide &side) {
  linalg::GenericOp op = contraction.op;
  BodySlice slice;
  if (!slice.collect(value, op.getBlock(), isConstant) ||
      slice.arguments.empty())
    return false;
  side.result = value;
  side.body.assign(slice.ops.begin(), slice.ops.end());
  side.operands.assign(slice.arguments.begin(), slice.arguments.end());
  if (llvm::is_contained(side.operands, contraction.sum))
    return false;
  llvm::sort(side.operands, [&](unsigned x, unsigned y) {
    auto count = [&](unsigned number) {
      return cast<MemRefType>(op->getOperand(number).getType())
          .getNumElements();
    };
    return std::make_pair(-count(x), x) < std::make_pair(-count(y), y);
  });
  return true;
}

static bool matchBody(Contraction &contraction) {
  linalg::GenericOp op = contraction.op;
  BlockArgument accumulator = op.getRegionOutputArgs()[0];
  contraction.element = dyn_cast<FloatType>(accumulator.getType());
  if (!contraction.element ||
      !(contraction.element.isF32() || contraction.element.isF64()) ||
      !accumulator.hasOneUse())
    return false;
  std::optional<SumOfProducts> sum = matchSumOfProducts(op);
  return sum && sum->product.hasOneUse() &&
         collectSide(sum->lhs, contraction, contraction.a) &&
         collectSide(sum->rhs, contraction, contraction.b);
}

/// Moves the loop that is contiguous in operand `number` to the end, then joins
/// neighbours that are one loop to every operand.
static void arrange(LoopGroup &group, ArrayRef<unsigned> preferences) {
  llvm::erase_if(group.loops,
                 [](const TileLoop &loop) { return loop.extent == 1; });
  for (unsigned number : preferences) {
    auto *run = llvm::find_if(group.loops, [&](const TileLoop &loop) {
      return loop.strides[number] == 1;
    });
    if (run == group.loops.end())
      continue;
    std::rotate(run, run + 1, group.loops.end());
    break;
  }
  for (size_t i = group.loops.size(); i-- > 1;) {
    TileLoop &outer = group.loops[i - 1], &inner = group.loops[i];
    bool joins = llvm::all_of(
        llvm::zip_equal(outer.strides, inner.strides), [&](auto pair) {
          return std::get<0>(pair) == std::get<1>(pair) * inner.extent;
        });
    if (!joins)
      continue;
    inner.extent *= outer.extent;
    group.loops.erase(group.loops.begin() + (i - 1));
  }
}

/// Sets the operands; returns the strides of each along each loop.
static std::optional<SmallVector<SmallVector<int64_t>>>
collectOperands(Contraction &contraction) {
  linalg::GenericOp op = contraction.op;
  SmallVector<SmallVector<int64_t>> result;
  auto add = [&](Value memref, std::optional<SmallVector<int64_t>> strides) {
    if (strides)
      result.push_back(std::move(*strides));
    contraction.operands.push_back(memref);
  };
  for (OpOperand &operand : op->getOpOperands())
    add(operand.get(), stridesOf(op, operand));
  Value sum = op.getDpsInits()[0];
  contraction.sum = contraction.result = op.getNumDpsInputs();
  contraction.startOperands = contraction.operands.size();
  if (linalg::GenericOp start = contraction.fold.start) {
    AffineMap map = start.getMatchingIndexingMap(start.getDpsInitOperand(0));
    for (OpOperand *operand : start.getDpsInputOperands())
      add(operand->get(), stridesThrough(op, start, map, *operand));
  }
  contraction.endOperands = contraction.operands.size();
  if (linalg::GenericOp end = contraction.fold.end) {
    AffineMap map = end.getMatchingIndexingMap(inputOf(end, sum));
    for (OpOperand &operand : end->getOpOperands())
      add(operand.get(), stridesThrough(op, end, map, operand));
    contraction.result = contraction.operands.size() - 1;
  }
  if (result.size() != contraction.operands.size())
    return std::nullopt;
  return result;
}

bool Contraction::usesOperand(unsigned number) const {
  if (number == result || (part != ContractionPart::Whole && number == partial))
    return true;
  if (part == ContractionPart::Products)
    return llvm::is_contained(a.operands, number) ||
           llvm::is_contained(b.operands, number);
  if (part == ContractionPart::Sums && number < sum)
    return false;
  // Of the sums' memory only what nothing else stands for.
  if (operands[number] == operands[sum])
    return !fold.start && number == sum;
  return true;
}

std::optional<Contraction> fastk::matchContraction(linalg::GenericOp op,
                                                   ContractionFold fold) {
  if (op.getNumDpsInits() != 1)
    return std::nullopt;
  Contraction contraction;
  contraction.op = op;
  contraction.fold = fold;
  auto strides = collectOperands(contraction);
  if (!strides || !matchBody(contraction))
    return std::nullopt;
  auto moves = [&](const ContractionSide &side, unsigned dim) {
    return llvm::any_of(side.operands, [&](unsigned number) {
      return (*strides)[number][dim] != 0;
    });
  };
  auto iterators = op.getIteratorTypesArray();
  for (auto [dim, extent] : llvm::enumerate(op.getStaticLoopRanges())) {
    if (ShapedType::isDynamic(extent))
      return std::nullopt;
    TileLoop loop;
    loop.extent = extent;
    for (ArrayRef<int64_t> each : *strides)
      loop.strides.push_back(each[dim]);
    bool inA = moves(contraction.a, dim), inB = moves(contraction.b, dim);
    LoopGroup &group = iterators[dim] == utils::IteratorType::reduction
                           ? contraction.k
                       : inA && !inB ? contraction.m
                       : inB && !inA ? contraction.n
                                     : contraction.batch;
    // Two points of the result are two places.
    if (&group != &contraction.k && extent != 1 &&
        loop.strides[contraction.sum] == 0)
      return std::nullopt;
    group.loops.push_back(std::move(loop));
  }
  unsigned a = contraction.a.operands[0], b = contraction.b.operands[0];
  unsigned c = contraction.result;
  arrange(contraction.batch, {});
  arrange(contraction.m, {c, a});
  arrange(contraction.n, {c, b});
  arrange(contraction.k, {a, b});
  // The columns are what lies next to each other in the result.
  if (contraction.m.runsAlong(c) && !contraction.n.runsAlong(c) &&
      contraction.isVectorAccess(c, contraction.m, 2)) {
    std::swap(contraction.m, contraction.n);
    std::swap(contraction.a, contraction.b);
  }
  if (contraction.m.size() < kFewest || contraction.n.size() < kFewest ||
      contraction.k.size() < kShortestSum)
    return std::nullopt;
  return contraction;
}

/// Whether the memref begins at a multiple of `bytes`, as buffers do: nothing
/// between it and its buffer moves it elsewhere.
static bool beginsAligned(Value memref, int64_t bytes) {
  std::optional<MemrefPlace> place = findPlace(memref);
  if (!place || place->bytes.divisor() % bytes != 0)
    return false;
  Operation *definition = place->buffer.getDefiningOp();
  return !definition || isa<memref::AllocOp>(definition);
}

bool Contraction::isVectorAccess(unsigned number, const LoopGroup &group,
                                 int64_t width) const {
  if (!group.runsAlong(number) || group.loops.back().extent % width != 0)
    return false;
  for (const LoopGroup *each : {&batch, &m, &n, &k})
    for (const TileLoop &loop : each->loops)
      if (&loop != &group.loops.back() && loop.strides[number] % width != 0)
        return false;
  Value memref = operands[number];
  int64_t bits = cast<MemRefType>(memref.getType()).getElementTypeBitWidth();
  return bits >= 8 && beginsAligned(memref, width * bits / 8);
}
