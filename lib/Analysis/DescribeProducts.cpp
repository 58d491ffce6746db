//===- DescribeProducts.cpp - Dimensions of products, layouts -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DescribeWorkload.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace fastk {

static std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

/// True for a linalg op that only moves or converts its single input.
static bool isMove(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() || op.getNumDpsInputs() != 1 ||
      op->getNumResults() != 1)
    return false;
  for (AffineMap map : op.getIndexingMapsArray())
    if (!map.isProjectedPermutation(true))
      return false;
  for (Operation &scalar : op.getBlock()->without_terminator())
    if (!isa<arith::ExtFOp, arith::TruncFOp>(scalar))
      return false;
  return op.getBlock()->getTerminator()->getOperand(0) !=
         op.getRegionOutputArgs()[0];
}

/// The dimension of `value` that is contiguous where it is stored, seen
/// through transposes and reshapes; and the stored element type.
static int innermostDim(Value value, Type &storage) {
  auto type = cast<RankedTensorType>(value.getType());
  storage = type.getElementType();
  Operation *op = value.getDefiningOp();
  if (!op)
    return type.getRank() - 1;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (!isMove(linalgOp))
      return type.getRank() - 1;
    OpOperand *input = linalgOp.getDpsInputOperand(0);
    if (!isa<RankedTensorType>(input->get().getType()))
      return type.getRank() - 1;
    int inner = innermostDim(input->get(), storage);
    if (inner < 0)
      return -1;
    AffineExpr expr = linalgOp.getMatchingIndexingMap(input).getResult(inner);
    AffineMap out =
        linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0));
    for (auto [r, result] : llvm::enumerate(out.getResults()))
      if (result == expr)
        return r;
    return type.getRank() - 1;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    int inner = innermostDim(expand.getSrc(), storage);
    return inner < 0 ? -1 : expand.getReassociationIndices()[inner].back();
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    int inner = innermostDim(collapse.getSrc(), storage);
    for (auto [i, group] : llvm::enumerate(collapse.getReassociationIndices()))
      if (llvm::is_contained(group, inner))
        return i;
    return -1;
  }
  return type.getRank() - 1;
}

static int64_t product(ArrayRef<int64_t> sizes, ArrayRef<unsigned> dims) {
  int64_t result = 1;
  for (unsigned d : dims)
    result *= sizes[d];
  return result;
}

ContractionFeatures describeContraction(linalg::LinalgOp op) {
  ContractionFeatures features;
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  features.k = product(loops, reduced);
  // By the operands that each loop indexes; also for matvec and dot.
  auto uses = [&](unsigned operand, unsigned loop) {
    return op.getMatchingIndexingMap(op.getDpsInputOperand(operand))
        .isFunctionOfDim(loop);
  };
  for (unsigned d = 0; d < loops.size(); ++d) {
    if (llvm::is_contained(reduced, d))
      continue;
    bool a = uses(0, d), b = uses(1, d);
    (a && b ? features.batch : b ? features.n : features.m) *= loops[d];
  }
  bool *transposed[] = {&features.transposedA, &features.transposedB};
  std::string *types[] = {&features.typeA, &features.typeB};
  for (unsigned i : {0, 1}) {
    OpOperand *operand = op.getDpsInputOperand(i);
    Type storage;
    int inner = innermostDim(operand->get(), storage);
    *types[i] = spell(storage);
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (inner < 0 || map.getNumResults() < 2)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(map.getResult(inner));
    if (!dim)
      continue;
    bool innerIsK = llvm::is_contained(reduced, dim.getPosition());
    *transposed[i] = i == 0 ? !innerIsK : innerIsK;
  }
  features.accumulator =
      spell(getElementTypeOrSelf(op->getResult(0).getType()));
  return features;
}

ConvolutionFeatures describeConvolution(linalg::LinalgOp op) {
  ConvolutionFeatures features;
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  features.accumulator =
      spell(getElementTypeOrSelf(op->getResult(0).getType()));
  Type storage;
  innermostDim(op.getDpsInputOperand(0)->get(), storage);
  features.elementType = spell(storage);
  auto dims = linalg::inferConvolutionDims(op);
  if (failed(dims))
    return features;
  features.batch = product(loops, dims->batch);
  features.groups = product(loops, dims->depth);
  features.inputChannels = product(loops, dims->inputChannel) * features.groups;
  features.outputChannels =
      product(loops, dims->outputChannel) * features.groups;
  for (unsigned d : dims->outputImage)
    features.output.push_back(loops[d]);
  for (unsigned d : dims->filterLoop)
    features.kernel.push_back(loops[d]);
  features.stride.assign(dims->strides.begin(), dims->strides.end());
  features.dilation.assign(dims->dilations.begin(), dims->dilations.end());
  features.padding.assign(dims->outputImage.size(), 0);
  OpOperand *image = op.getDpsInputOperand(0);
  if (auto pad = image->get().getDefiningOp<tensor::PadOp>()) {
    AffineMap map = op.getMatchingIndexingMap(image);
    for (auto [i, loop] : llvm::enumerate(dims->outputImage))
      for (auto [r, expr] : llvm::enumerate(map.getResults()))
        if (expr.isFunctionOfDim(loop) &&
            !ShapedType::isDynamic(pad.getStaticLow()[r]))
          features.padding[i] = pad.getStaticLow()[r];
  }
  return features;
}

int64_t reducedLength(Operation *owner, int64_t *rows) {
  auto op = dyn_cast_or_null<linalg::LinalgOp>(owner);
  if (!op)
    return 1;
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  SmallVector<unsigned> reduced, parallel;
  op.getReductionDims(reduced);
  op.getParallelDims(parallel);
  if (rows)
    *rows = product(loops, parallel);
  return product(loops, reduced);
}

} // namespace fastk
