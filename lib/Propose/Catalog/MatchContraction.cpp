//===- MatchContraction.cpp - Generics that are products ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "fastk/Dialect/Linalg/SumOfProducts.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::SmallVector;

/// Loops that a value of a body depends on through the maps of the operands.
static bool loopsOf(linalg::GenericOp op, Value value,
                    llvm::SmallBitVector &dims, bool &windowed) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (arg.getOwner() != op.getBody())
      return false;
    AffineMap map = op.getIndexingMapsArray()[arg.getArgNumber()];
    for (AffineExpr expr : map.getResults()) {
      windowed |= !isa<AffineDimExpr, AffineConstantExpr>(expr);
      expr.walk([&](AffineExpr e) {
        if (auto dim = dyn_cast<AffineDimExpr>(e))
          dims.set(dim.getPosition());
      });
    }
    return true;
  }
  Operation *def = value.getDefiningOp();
  if (auto index = dyn_cast<linalg::IndexOp>(def)) {
    dims.set(index.getDim());
    return true;
  }
  if (def->getBlock() != op.getBody())
    return true;
  return llvm::all_of(def->getOperands(), [&](Value operand) {
    return loopsOf(op, operand, dims, windowed);
  });
}

std::optional<Contraction> catalog::matchContraction(Value value) {
  auto reduction = matchReduction(value);
  if (!reduction || reduction->kind != CombinerKind::Add)
    return std::nullopt;
  auto product = matchSumOfProducts(reduction->op, reduction->result);
  if (!product || !reduction->element.getType().isF32())
    return std::nullopt;
  Contraction c;
  c.reduction = *reduction;
  c.lhs = product->lhs;
  c.rhs = product->rhs;
  SmallVector<int64_t> ranges = reduction->op.getStaticLoopRanges();
  llvm::SmallBitVector left(ranges.size()), right(ranges.size());
  if (!loopsOf(reduction->op, c.lhs, left, c.windowed) ||
      !loopsOf(reduction->op, c.rhs, right, c.windowed))
    return std::nullopt;
  for (unsigned d : reduction->parallelDims) {
    if (left[d] && right[d])
      c.batch.push_back(d);
    else if (left[d])
      c.m.push_back(d), c.mSize *= ranges[d];
    else if (right[d])
      c.n.push_back(d), c.nSize *= ranges[d];
    else if (ranges[d] != 1)
      return std::nullopt;
  }
  for (unsigned d : reduction->reductionDims) {
    if ((!left[d] || !right[d]) && ranges[d] != 1)
      return std::nullopt;
    c.k.push_back(d);
  }
  return c;
}
