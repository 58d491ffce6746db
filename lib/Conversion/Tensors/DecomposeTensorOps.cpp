//===- DecomposeTensorOps.cpp - Tensor ops that have no bufferization -----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream bufferizes neither concatenations, packed layouts nor bitcasts of
// tensors. They are written as ops that it does; what then is left is refused
// by name.
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace fastk;

/// Each element on its own.
static void decompose(RewriterBase &rewriter, tensor::BitcastOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  Value source = op.getSource();
  // Those that arith.bitcast takes: index and signed integers it does not.
  if (!type || !isa<FloatType, IntegerType>(type.getElementType()) ||
      !type.getElementType().isSignlessIntOrFloat() ||
      !getElementTypeOrSelf(source).isSignlessIntOrFloat())
    return;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, source),
      type.getElementType());
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  rewriter.replaceOpWithNewOp<linalg::GenericOp>(
      op, TypeRange{empty.getType()}, ValueRange{source}, ValueRange{empty},
      ArrayRef<AffineMap>{identity, identity}, iterators,
      [](OpBuilder &b, Location l, ValueRange args) {
        Value bits = arith::BitcastOp::create(b, l, args[1].getType(), args[0]);
        linalg::YieldOp::create(b, l, bits);
      });
}

/// What One-Shot Bufferize refuses without a reason.
static LogicalResult checkBufferizable(func::FuncOp func) {
  WalkResult walk = func.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (isa<LoweringOp>(op))
      return WalkResult::skip();
    if (isa<bufferization::BufferizableOpInterface>(op) ||
        !bufferization::hasTensorSemantics(op))
      return WalkResult::advance();
    op->emitOpError() << "has no lowering: write it as linalg.generic "
                         "(required by 'fastk.default_lowering')";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Concatenates \p parts into a buffer of their own.
static Value concatIntoBuffer(OpBuilder &builder, Location loc, int64_t dim,
                              ValueRange parts) {
  RankedTensorType type =
      tensor::ConcatOp::inferResultType(dim, parts.getTypes());
  Value result = bufferization::AllocTensorOp::create(builder, loc, type,
                                                      /*dynamicSizes=*/{});
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  int64_t offset = 0;
  for (Value part : parts) {
    auto partType = cast<RankedTensorType>(part.getType());
    offsets[dim] = builder.getIndexAttr(offset);
    result = tensor::InsertSliceOp::create(
        builder, loc, part, result, offsets,
        getAsIndexOpFoldResult(builder.getContext(), partType.getShape()),
        strides);
    offset += partType.getDimSize(dim);
  }
  return result;
}

/// Splits a concatenation of very many tensors, as an unrolled recurrence
/// makes: One-Shot Analysis looks at each pair of writes to a buffer, and that
/// once a write. Each group is copied once more for it.
static void splitConcat(tensor::ConcatOp op) {
  constexpr size_t mostParts = 64, groupParts = 32;
  auto isStatic = [](Type type) {
    return cast<RankedTensorType>(type).hasStaticShape();
  };
  if (op.getInputs().size() <= mostParts ||
      !llvm::all_of(op->getOperandTypes(), isStatic))
    return;
  OpBuilder builder(op);
  auto dim = int64_t(op.getDim());
  SmallVector<Value> parts(op.getInputs());
  while (parts.size() > mostParts) {
    SmallVector<Value> groups;
    for (size_t i = 0; i < parts.size(); i += groupParts)
      groups.push_back(concatIntoBuffer(
          builder, op.getLoc(), dim,
          ValueRange(parts).slice(i, std::min(groupParts, parts.size() - i))));
    parts = std::move(groups);
  }
  op.getInputsMutable().assign(parts);
  // Readers need not be compared with each of these writes: for them it is a
  // buffer that is there.
  builder.setInsertionPointAfter(op);
  RankedTensorType type = op.getResultType();
  auto buffer = bufferization::ToBufferOp::create(
      builder, op.getLoc(),
      MemRefType::get(type.getShape(), type.getElementType()), op.getResult(),
      /*read_only=*/true);
  Value written = bufferization::ToTensorOp::create(builder, op.getLoc(), type,
                                                    buffer, /*restrict=*/true);
  op.getResult().replaceAllUsesExcept(written, buffer);
}

static LogicalResult decomposeTensorOps(func::FuncOp func) {
  MLIRContext *context = func.getContext();
  func.walk(splitConcat);
  RewritePatternSet patterns(context);
  tensor::populateDecomposeTensorConcatPatterns(patterns);
  if (failed(applyPatternsGreedily(func, std::move(patterns))))
    return failure();
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (isa<linalg::PackOp, linalg::UnPackOp, tensor::BitcastOp>(op))
      ops.push_back(op);
  });
  IRRewriter rewriter(context);
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    // What these cannot lower, as tiles of unknown size, is refused below.
    if (auto pack = dyn_cast<linalg::PackOp>(op))
      (void)linalg::lowerPack(rewriter, pack);
    else if (auto unpack = dyn_cast<linalg::UnPackOp>(op))
      (void)linalg::lowerUnPack(rewriter, unpack);
    else
      decompose(rewriter, cast<tensor::BitcastOp>(op));
  }
  return checkBufferizable(func);
}

namespace fastk {
#define GEN_PASS_DEF_FASTKDECOMPOSETENSOROPSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkDecomposeTensorOpsPass
    : impl::FastkDecomposeTensorOpsPassBase<FastkDecomposeTensorOpsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(decomposeTensorOps(getOperation())))
      signalPassFailure();
  }
};
} // namespace
} // namespace fastk
