//===- BodySlice.cpp - What a value in a body is computed by --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodySlice.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace fastk;

bool BodySlice::collect(Value value, Block *body,
                        llvm::function_ref<bool(Value)> mayUse) {
  if (value.getParentBlock() != body)
    return mayUse(value);
  Operation *producer = value.getDefiningOp();
  if (!producer) {
    arguments.insert(cast<BlockArgument>(value).getArgNumber());
    return true;
  }
  // Values that many others use are looked through once.
  if (ops.contains(producer))
    return true;
  if (!producer->hasTrait<OpTrait::ConstantLike>()) {
    if (producer->getNumRegions() || producer->getNumResults() != 1 ||
        !OpTrait::hasElementwiseMappableTraits(producer))
      return false;
    for (Value operand : producer->getOperands())
      if (!collect(operand, body, mayUse))
        return false;
  }
  ops.insert(producer);
  return true;
}
