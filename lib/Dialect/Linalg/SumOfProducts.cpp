//===- SumOfProducts.cpp - What contractions compute ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Linalg/SumOfProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fastk;

std::optional<SumOfProducts> fastk::matchSumOfProducts(linalg::GenericOp op,
                                                       unsigned result) {
  if (op.getNumReductionLoops() == 0)
    return std::nullopt;
  Block *body = op.getBlock();
  BlockArgument accumulator = op.getRegionOutputArgs()[result];
  auto yield = cast<linalg::YieldOp>(body->getTerminator());
  auto sum = yield.getOperand(result).getDefiningOp<arith::AddFOp>();
  if (!sum || sum->getBlock() != body)
    return std::nullopt;
  Value term = sum.getLhs() == accumulator   ? sum.getRhs()
               : sum.getRhs() == accumulator ? sum.getLhs()
                                             : Value();
  auto product = term ? term.getDefiningOp<arith::MulFOp>() : nullptr;
  if (!product || product->getBlock() != body)
    return std::nullopt;
  return SumOfProducts{product.getLhs(), product.getRhs(), product};
}
