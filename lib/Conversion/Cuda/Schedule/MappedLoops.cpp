//===- MappedLoops.cpp - What a schedule's loops are mapped to ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MappedKernelBuilder.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace fastk;

std::optional<MappedLevel> fastk::levelOf(scf::ForallOp loop) {
  std::optional<ArrayAttr> attributes = loop.getMapping();
  if (!attributes || attributes->empty())
    return MappedLevel::None;
  std::optional<MappedLevel> level;
  for (Attribute attribute : *attributes) {
    std::optional<MappedLevel> each;
    if (isa<gpu::GPUBlockMappingAttr>(attribute))
      each = MappedLevel::Block;
    else if (isa<gpu::GPUWarpMappingAttr>(attribute))
      each = MappedLevel::Warp;
    else if (isa<gpu::GPUThreadMappingAttr, gpu::GPULaneMappingAttr>(attribute))
      each = MappedLevel::Thread;
    if (!each || (level && level != each))
      return std::nullopt;
    level = each;
  }
  return level;
}

SmallVector<unsigned> fastk::fastestFirst(scf::ForallOp loop) {
  unsigned rank = loop.getRank();
  std::optional<ArrayAttr> attributes = loop.getMapping();
  SmallVector<unsigned> order;
  for (unsigned dim = rank; dim-- > 0;)
    order.push_back(dim);
  if (attributes && attributes->size() == rank)
    llvm::sort(order, [&](unsigned a, unsigned b) {
      auto indexOf = [&](unsigned dim) {
        return cast<DeviceMappingAttrInterface>((*attributes)[dim])
            .getRelativeIndex();
      };
      return indexOf(a) < indexOf(b);
    });
  return order;
}

Value fastk::toInduction(OpBuilder &builder, Location loc, Value index,
                         OpFoldResult lower, OpFoldResult step) {
  if (!isConstantIntValue(step, 1))
    index = arith::MulIOp::create(
        builder, loc, index,
        getValueOrCreateConstantIndexOp(builder, loc, step));
  if (!isConstantIntValue(lower, 0))
    index = arith::AddIOp::create(
        builder, loc, index,
        getValueOrCreateConstantIndexOp(builder, loc, lower));
  return index;
}

void fastk::inlineBody(IRRewriter &rewriter, scf::ForallOp loop,
                       ArrayRef<Value> induction, Operation *before) {
  rewriter.eraseOp(loop.getTerminator());
  rewriter.inlineBlockBefore(loop.getBody(), before, induction);
  rewriter.eraseOp(loop);
}
