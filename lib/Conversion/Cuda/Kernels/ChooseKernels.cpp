//===- ChooseKernels.cpp - How each op becomes kernels --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"
#include "fastk/Analysis/PlanLoops.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace fastk;

static LogicalResult refuseOp(Operation *op) {
  return op->emitOpError()
         << "has no kernel: the default lowering for GPUs takes structured "
            "ops on static shapes, and loops that are mapped to blocks "
            "(required by 'fastk.device_kernels')";
}

bool DeviceKernels::isDone(Operation *op) {
  return !isa<ViewLikeOpInterface, memref::AllocOp, memref::GetGlobalOp,
              memref::DeallocOp>(op) &&
         !op->hasTrait<OpTrait::ConstantLike>() && !isPlaceArithmetic(op);
}

bool DeviceKernels::hasNoPoints(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && llvm::is_contained(generic.getStaticLoopRanges(), 0);
}

FailureOr<Operation *> DeviceKernels::generalize(Operation *op) {
  IRRewriter rewriter(op);
  linalg::GenericOp generic = dyn_cast<linalg::GenericOp>(op);
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    generic = linalg::makeMemRefCopyOp(rewriter, copy.getLoc(),
                                       copy.getSource(), copy.getTarget());
  } else if (structured && !generic) {
    // The op itself stays: that it is no generic keeps it from being folded.
    Operation *clone = rewriter.clone(*op);
    FailureOr<linalg::GenericOp> made =
        linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(clone));
    if (failed(made)) {
      clone->erase();
      return op->emitOpError() << "cannot be written as linalg.generic "
                                  "(required by 'fastk.device_kernels')";
    }
    generic = *made;
  }
  if (!generic)
    return op;
  if (!generic.hasDynamicShape() && generic.hasPureBufferSemantics())
    return generic.getOperation();
  if (generic != op)
    generic.erase();
  return refuseOp(op);
}

LogicalResult DeviceKernels::choose() {
  func.walk([](Operation *op) { op->removeDiscardableAttr(kKernelAttr); });
  findFolds();
  for (auto &[op, fold] : context.folds)
    for (linalg::GenericOp each : {fold.start, fold.end})
      if (each)
        ChosenKernel{kFoldStrategy.str(), {}}.write(each);
  return chooseBlock(func.getBody().front());
}

LogicalResult DeviceKernels::chooseBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (isDone(&op) && !op.hasAttr(kKernelAttr) && failed(chooseOp(&op)))
      return failure();
  return success();
}

LogicalResult DeviceKernels::chooseOp(Operation *op) {
  // A program brings its kernels.
  if (isa<CallOp>(op) && programs)
    return success();
  if (programs && isPlanLoop(op))
    return chooseBlock(*cast<scf::ForOp>(op).getBody());
  FailureOr<Operation *> generic = generalize(op);
  if (failed(generic))
    return failure();
  llvm::scope_exit discard([&] {
    if (*generic != op)
      (*generic)->erase();
  });
  if (hasNoPoints(*generic))
    return success();
  for (const KernelStrategyEntry &entry : kernelStrategies()) {
    std::unique_ptr<KernelStrategy> strategy = entry.match(*generic, context);
    if (!strategy)
      continue;
    choices.begin(entry.name);
    if (failed(strategy->decide(choices)))
      return refuseChosen(func, choices.problem());
    ChosenKernel{entry.name.str(), choices.kernels().back().choices}.write(op);
    return success();
  }
  return refuseOp(op);
}
