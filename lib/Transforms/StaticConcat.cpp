//===- StaticConcat.cpp - Concatenations of what is static ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StaticConcat.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

void fastk::makeConcatsStatic(Operation *root) {
  root->walk([](tensor::ConcatOp concat) {
    for (OpOperand &operand : concat->getOpOperands()) {
      auto cast = operand.get().getDefiningOp<tensor::CastOp>();
      if (!cast || !tensor::preservesStaticInformation(
                       cast.getType(), cast.getSource().getType()))
        continue;
      operand.set(cast.getSource());
      if (cast->use_empty())
        cast->erase();
    }
    // The sizes of the parts may now be more than the result says.
    RankedTensorType known = tensor::ConcatOp::inferResultType(
        concat.getDim(), concat.getInputs().getTypes());
    RankedTensorType said = concat.getResultType();
    if (!known.hasStaticShape() || said.hasStaticShape())
      return;
    OpBuilder builder(concat->getContext());
    builder.setInsertionPointAfter(concat);
    concat.getResult().setType(known);
    auto cast = tensor::CastOp::create(builder, concat.getLoc(), said, concat);
    concat.getResult().replaceAllUsesExcept(cast, cast);
  });
}
