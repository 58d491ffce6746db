//===- MatchContraction.cpp - What a packed loop nest can take ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractionEmitter.h"
#include "Tensors/BodySlice.h"
#include "fastk/Dialect/Linalg/LinearForm.h"
#include "fastk/Dialect/Linalg/SumOfProducts.h"

using namespace mlir;
using namespace fastk;

bool ContractionEmitter::collectAccess(OpOperand *operand,
                                       LinearAccess &access) {
  access.operand = operand;
  auto type = dyn_cast<MemRefType>(operand->get().getType());
  if (!type)
    return false;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  auto address =
      LinearForm::ofAccess(op.getMatchingIndexingMap(operand), strides);
  if (!address)
    return false;
  access.factors.assign(address->coefficients);
  access.constant = address->constant;
  return true;
}

bool ContractionEmitter::matchBody() {
  if (op.getNumDpsInits() != 1)
    return false;
  Block *body = op.getBody();
  BlockArgument accumulator = op.getRegionOutputArgs()[0];
  element = dyn_cast<FloatType>(accumulator.getType());
  if (!element || !(element.isF32() || element.isF64()) ||
      !accumulator.hasOneUse())
    return false;
  std::optional<SumOfProducts> sum = matchSumOfProducts(op);
  if (!sum || !sum->product.hasOneUse())
    return false;
  auto collect = [&](Value value, Side &side) {
    BodySlice slice;
    // The loops stay in the function: its values are at hand.
    if (!slice.collect(value, body, [](Value) { return true; }))
      return false;
    side.result = value;
    side.body.assign(slice.ops.begin(), slice.ops.end());
    for (unsigned argument : slice.arguments) {
      if (argument == accumulator.getArgNumber())
        return false;
      LinearAccess access;
      if (!collectAccess(&op->getOpOperand(argument), access))
        return false;
      side.accesses.push_back(access);
    }
    return !side.accesses.empty();
  };
  return collect(sum->lhs, u) && collect(sum->rhs, v) &&
         collectAccess(op.getDpsInitOperand(0), c);
}

bool ContractionEmitter::matchDims() {
  sizes = op.getStaticLoopRanges();
  auto iterators = op.getIteratorTypesArray();
  auto uses = [&](const Side &side, unsigned dim) {
    return llvm::any_of(side.accesses, [&](const LinearAccess &access) {
      return op.getMatchingIndexingMap(access.operand).isFunctionOfDim(dim);
    });
  };
  AffineMap cMap = op.getMatchingIndexingMap(c.operand);
  if (!cMap.isProjectedPermutation() || cMap.getNumResults() == 0)
    return false;
  unsigned last = cast<AffineDimExpr>(cMap.getResults().back()).getPosition();
  // The columns are what lies next to each other in the result.
  if (uses(u, last) && !uses(v, last))
    std::swap(u, v);
  if (uses(u, last) || !uses(v, last) || c.factors[last] != 1)
    return false;

  // Rows and columns, in the order of the result; of each the innermost group
  // that is one run of equal steps in the result. The others become batches.
  SmallVector<unsigned> rows, columns;
  for (AffineExpr expr : llvm::reverse(cMap.getResults())) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    bool inU = uses(u, dim), inV = uses(v, dim);
    if (!inU && !inV)
      return false;
    SmallVector<unsigned> &group = inU ? rows : columns;
    bool joins =
        inU != inV &&
        (group.empty() ||
         (!ShapedType::isDynamic(sizes[group.back()]) &&
          c.factors[dim] == c.factors[group.back()] * sizes[group.back()]));
    if (joins)
      group.push_back(dim);
    else
      batch.push_back(dim);
  }
  std::reverse(rows.begin(), rows.end());
  std::reverse(columns.begin(), columns.end());
  std::reverse(batch.begin(), batch.end());
  u.dims = rows;
  v.dims = columns;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    if (iterators[dim] == utils::IteratorType::reduction)
      depth.push_back(dim);
    else if (!cMap.isFunctionOfDim(dim))
      return false;
  }
  // Only the outermost of several dimensions may be of unknown length: the
  // others are divided by.
  for (ArrayRef<unsigned> dims :
       {ArrayRef<unsigned>(rows), ArrayRef<unsigned>(columns),
        ArrayRef<unsigned>(depth)})
    for (unsigned dim : dims.drop_front(dims.empty() ? 0 : 1))
      if (ShapedType::isDynamic(sizes[dim]))
        return false;
  if (rows.empty() || columns.empty())
    return false;
  // Too little to reuse: packing would cost more than it saves.
  auto tooSmall = [&](ArrayRef<unsigned> dims, int64_t least) {
    int64_t size = staticSize(dims);
    return !ShapedType::isDynamic(size) && size < least;
  };
  return !tooSmall(rows, 4) && !tooSmall(columns, 8) && !tooSmall(depth, 4);
}

/// With so few columns, packing a row of such a length costs more than reading
/// it where it is.
static constexpr int64_t kFewColumns = 256, kLongRow = 512;

/// Whether the kernel can read the rows where they are: equal steps lead
/// through them, nothing is computed of them, and no panel ends before the
/// others. Chooses the height of panels then.
bool ContractionEmitter::readsRowsInPlace(int64_t lowest, int64_t highest) {
  int64_t columns = staticSize(v.dims), rows = staticSize(u.dims);
  if (ShapedType::isDynamic(columns) || columns > kFewColumns ||
      ShapedType::isDynamic(rows) || staticSize(depth) < kLongRow)
    return false;
  const LinearAccess &access = u.accesses.front();
  int64_t rowStep, depthStep;
  if (u.accesses.size() != 1 || !u.body.empty() ||
      getElementTypeOrSelf(access.operand->get().getType()) != element ||
      !isLinear(access, u.dims, rowStep) || !isLinear(access, depth, depthStep))
    return false;
  for (int64_t height = std::min(rows, highest);
       height >= std::min(rows, lowest); --height)
    if (rows % height == 0) {
      u.width = height;
      aRowStep = rowStep;
      aDepthStep = depthStep;
      return true;
    }
  return false;
}

void ContractionEmitter::chooseWidths() {
  lanes = options.vectorBytes * 8 / element.getWidth();
  // 32 registers with AVX-512, 16 otherwise: two columns of vectors, and as
  // many rows as leave room for the operands. Of the heights that fit, the one
  // that wastes the fewest rows; the highest of equals.
  int64_t highest = options.vectorBytes >= 64 ? 14 : 6;
  int64_t lowest = options.vectorBytes >= 64 ? 8 : 4;
  int64_t columns = staticSize(v.dims), rows = staticSize(u.dims);
  v.width = 2 * lanes;
  if (!ShapedType::isDynamic(columns) && columns <= lanes)
    v.width = lanes;
  u.width = highest;
  rowsAreInPlace = readsRowsInPlace(lowest, highest);
  if (rowsAreInPlace || ShapedType::isDynamic(rows))
    return;
  if (rows < highest) {
    u.width = rows;
    return;
  }
  double best = 0;
  for (int64_t height = highest; height >= lowest; --height) {
    int64_t padded = llvm::divideCeil(rows, height) * height;
    // A kernel of fewer rows loads more for each product.
    double quality = double(rows) / padded * (0.8 + 0.2 * height / highest);
    if (quality > best) {
      best = quality;
      u.width = height;
    }
  }
}

bool ContractionEmitter::match() {
  if (!op.hasPureBufferSemantics() || !matchBody() || !matchDims())
    return false;
  chooseWidths();
  return true;
}
