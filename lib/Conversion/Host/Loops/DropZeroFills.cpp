//===- DropZeroFills.cpp - Products that begin with zero ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DropZeroFills.h"
#include "LowerGeneric.h"
#include "fastk/Dialect/Linalg/Fills.h"
#include "fastk/Dialect/Linalg/SumOfProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fastk;

/// What `op` fills with zero, all of it; null when it does anything else.
static Value filledWithZero(linalg::LinalgOp op) {
  Value fill = fillOf(op);
  // What is made again is +0.
  if (!fill || !matchPattern(fill, m_PosZeroFloat()))
    return nullptr;
  OpOperand *init = op.getDpsInitOperand(0);
  return op.getMatchingIndexingMap(init).isPermutation() ? init->get()
                                                         : nullptr;
}

/// Whether `user` may give its operand another name.
static bool makesAlias(Operation *user) {
  return isa<ViewLikeOpInterface, memref::ExtractAlignedPointerAsIndexOp>(
             user) ||
         user->hasTrait<OpTrait::IsTerminator>() ||
         llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>);
}

/// The op after `fill` that is the first to use `buffer`, if it is beside it
/// and no other name of the buffer hides another one.
static Operation *firstUserAfter(Operation *fill, Value buffer) {
  // Distinct buffers: what a view or a value of a loop shows might be read by
  // others meanwhile.
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (argument ? !isa<func::FuncOp>(argument.getOwner()->getParentOp())
               : !buffer.getDefiningOp<memref::AllocOp>())
    return nullptr;
  Operation *first = nullptr;
  for (Operation *user : buffer.getUsers()) {
    if (makesAlias(user))
      return nullptr;
    Operation *beside = fill->getBlock()->findAncestorOpInBlock(*user);
    if (!beside)
      return nullptr;
    if (fill->isBeforeInBlock(beside) &&
        (!first || beside->isBeforeInBlock(first)))
      first = beside;
  }
  return first;
}

/// Whether the packed loop nest makes all of `buffer` in one pass.
static bool isMadeInOnePass(linalg::GenericOp op, Value buffer) {
  if (op.getNumDpsInits() != 1 || op.getDpsInits()[0] != buffer ||
      llvm::is_contained(op.getDpsInputs(), buffer) || !matchSumOfProducts(op))
    return false;
  int64_t depth = 1;
  for (auto [size, iterator] :
       llvm::zip(op.getStaticLoopRanges(), op.getIteratorTypesArray())) {
    if (iterator != utils::IteratorType::reduction)
      continue;
    if (ShapedType::isDynamic(size) || size > kPackedDepth)
      return false;
    depth *= size;
  }
  return depth <= kPackedDepth;
}

void fastk::dropZeroFills(func::FuncOp func) {
  SmallVector<linalg::LinalgOp> ops;
  func.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    Value buffer = filledWithZero(op);
    if (!buffer)
      continue;
    auto user = dyn_cast_or_null<linalg::GenericOp>(firstUserAfter(op, buffer));
    if (!user || !isMadeInOnePass(user, buffer))
      continue;
    user->setAttr(kFromZeroAttr, UnitAttr::get(func.getContext()));
    op->erase();
  }
}

linalg::GenericOp fastk::restoreZeroFill(RewriterBase &rewriter,
                                         linalg::GenericOp op) {
  if (!op->removeAttr(kFromZeroAttr))
    return nullptr;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Value buffer = op.getDpsInits()[0];
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value zero = arith::ConstantOp::create(rewriter, op.getLoc(),
                                         rewriter.getZeroAttr(element));
  auto fill = linalg::FillOp::create(rewriter, op.getLoc(), zero, buffer);
  return *linalg::generalizeNamedOp(rewriter, fill);
}
