//===- ElementwiseToLinalg.cpp - Arithmetic on tensors as linalg ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseToLinalg.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

/// Whether linalg.generic can say it: a scalar operand beside tensors, as the
/// condition of a select may be, it cannot.
static bool isElementwiseOnTensors(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) &&
         op->getNumOperands() != 0 &&
         llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
}

LogicalResult fastk::convertElementwiseToLinalg(Operation *root) {
  bool found = root->walk([](Operation *op) {
                     return isElementwiseOnTensors(op) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
                   })
                   .wasInterrupted();
  if (!found)
    return success();
  RewritePatternSet patterns(root->getContext());
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  ConversionTarget target(*root->getContext());
  target.markUnknownOpDynamicallyLegal(
      [](Operation *op) { return !isElementwiseOnTensors(op); });
  return applyPartialConversion(root, target, std::move(patterns));
}
