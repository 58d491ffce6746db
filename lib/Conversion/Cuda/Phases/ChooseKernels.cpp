//===- ChooseKernels.cpp - By which strategy ops become kernels -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Kernels/DeviceKernels.h"
#include "Cuda/PassTarget.h"
#include "KernelPhases.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fastk;

FailureOr<func::FuncOp> fastk::findPreparedFunction(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>()) {
    auto inputs = func->getAttrOfType<IntegerAttr>(kInputsAttr);
    if (inputs && !func.isDeclaration() && inputs.getInt() >= 0 &&
        inputs.getInt() <= func.getNumArguments())
      return func;
  }
  return module.emitError()
         << "has no function with 'fastk.inputs': fastk-prepare-kernels makes "
            "one (required by 'fastk-prepare-kernels')";
}

bool fastk::canApproximate(Operation *op) {
  return (isa<math::MathDialect>(op->getDialect()) || isa<arith::DivFOp>(op)) &&
         isa<arith::ArithFastMathInterface>(op) &&
         getElementTypeOrSelf(op->getResult(0).getType()).isF32();
}

FailureOr<std::vector<KernelDescription>>
fastk::chooseKernels(func::FuncOp func, const CudaTarget &target) {
  FailureOr<KernelChoices> given = KernelChoices::read(func);
  if (failed(given))
    return failure();
  int64_t numInputs = func->getAttrOfType<IntegerAttr>(kInputsAttr).getInt();
  DeviceKernels kernels(func, numInputs, target.limits, *given);
  if (failed(kernels.choose()))
    return failure();
  KernelChoices &choices = kernels.decisions();
  // The functions of groups stand beside this one.
  WalkResult walk = func->getParentOp()->walk([](Operation *op) {
    return canApproximate(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted() && !choices.kernels().empty())
    ChosenKernel{"", {{"approximate", choices.decide("approximate", 0)}}}.write(
        func);
  if (failed(choices.checkAllUsed(func)))
    return failure();
  return choices.kernels();
}

namespace fastk {
#define GEN_PASS_DEF_FASTKCHOOSEKERNELSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkChooseKernelsPass
    : impl::FastkChooseKernelsPassBase<FastkChooseKernelsPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerHostDialects(registry);
  }

  void runOnOperation() override {
    FailureOr<CudaTarget> device =
        targetOfPass(getOperation(), target, "fastk-lower-to-gpu");
    if (failed(device))
      return signalPassFailure();
    FailureOr<func::FuncOp> func = findPreparedFunction(getOperation());
    if (failed(func) || failed(chooseKernels(*func, *device)))
      signalPassFailure();
  }
};
} // namespace
} // namespace fastk
