//===- LeastMemory.cpp - What a call of a model takes at least ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/LeastMemory.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/System/AvailableMemory.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace fastk;

static double bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  Type element = tensor.getElementType();
  if (!element.isIntOrIndexOrFloat() && !isa<ComplexType>(element))
    return 0;
  double bytes = double(elementBytes(element));
  for (int64_t extent : tensor.getShape())
    bytes *= double(extent);
  return bytes;
}

static double bytesOf(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    bytes += bytesOf(type);
  return bytes;
}

/// Whether an op's result lies where its operand does.
static bool isReshape(Operation *op) {
  return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                         tensor::CastOp>(op);
}

/// Whether a tensor may be made where it is put in the end.
static bool isPartOfAnother(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<tensor::InsertSliceOp, tensor::ConcatOp>(user);
  });
}

/// The last op of `block` that reads `value`, also by its reshapes.
static Operation *findLastUse(Value value, Block &block) {
  Operation *last = value.getDefiningOp();
  SmallVector<Value> worklist = {value};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      Operation *here = block.findAncestorOpInBlock(*user);
      if (here && last->isBeforeInBlock(here))
        last = here;
      if (isReshape(user))
        worklist.push_back(user->getResult(0));
    }
  return last;
}

/// The most bytes of `block`'s temporaries that are alive at once.
static double largestLiveSet(Block &block) {
  // What is returned lies in memory of the caller.
  llvm::DenseSet<Value> returned;
  for (Value value : block.getTerminator()->getOperands()) {
    while (isReshape(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    returned.insert(value);
  }
  llvm::DenseMap<Operation *, double> ending;
  double alive = 0, most = 0;
  for (Operation &op : block) {
    if (isa<WorkloadOp, CallOp>(op))
      for (Value result : op.getResults())
        if (!returned.contains(result) && !isPartOfAnother(result)) {
          double bytes = bytesOf(result.getType());
          alive += bytes;
          ending[findLastUse(result, block)] += bytes;
        }
    most = std::max(most, alive);
    alive -= ending.lookup(&op);
  }
  return most;
}

MemoryNeed fastk::leastMemory(func::FuncOp function) {
  MemoryNeed need;
  if (function.isDeclaration())
    return need;
  need.arguments = bytesOf(function.getArgumentTypes());
  need.results = bytesOf(function.getResultTypes());
  if (function.getBody().hasOneBlock())
    need.temporaries = largestLiveSet(function.front());
  return need;
}

std::string MemoryNeed::explainShortage(int64_t available) const {
  if (total() <= double(available))
    return "";
  return "takes at least " + showBytes(total()) + " of memory (arguments " +
         showBytes(arguments) + ", results " + showBytes(results) +
         ", temporaries " + showBytes(temporaries) + "), and " +
         showBytes(double(available)) + " are available";
}
