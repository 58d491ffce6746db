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

#include "HostPipeline.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
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

LogicalResult fastk::decomposeTensorOps(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  tensor::populateDecomposeTensorConcatPatterns(patterns);
  FrozenRewritePatternSet frozen(std::move(patterns));
  IRRewriter rewriter(context);
  for (auto func : module.getOps<func::FuncOp>()) {
    if (failed(applyPatternsGreedily(func, frozen)))
      return failure();
    SmallVector<Operation *> ops;
    func.walk([&](Operation *op) {
      if (isa<linalg::PackOp, linalg::UnPackOp, tensor::BitcastOp>(op))
        ops.push_back(op);
    });
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
    if (failed(checkBufferizable(func)))
      return failure();
  }
  return success();
}
