//===- EmitKernels.cpp - Kernels and a plan, as chosen --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Kernels/DeviceKernels.h"
#include "Cuda/PassTarget.h"
#include "KernelPhases.h"
#include "fastk/Conversion/Passes.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Dialect/Fastk/RowFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fastk;

/// Lets the hardware approximate what it can in f32, if that was chosen.
static LogicalResult approximate(func::FuncOp func, gpu::GPUModuleOp device,
                                 KernelChoices &choices) {
  if (func->hasAttr(kKernelAttr)) {
    FailureOr<ChosenKernel> chosen = ChosenKernel::read(func);
    int64_t byModel = choices.find("approximate").value_or(0);
    if (failed(chosen) ||
        failed(chosen->follow(func, {{"approximate", byModel}}, choices)))
      return failure();
  }
  SmallVector<Operation *> ops;
  device.walk([&](Operation *op) {
    if (canApproximate(op))
      ops.push_back(op);
  });
  if (ops.empty() || !choices.decide("approximate", 0))
    return success();
  using arith::FastMathFlags;
  auto flags = arith::FastMathFlagsAttr::get(
      device.getContext(),
      FastMathFlags::afn | FastMathFlags::arcp | FastMathFlags::contract);
  for (Operation *op : ops)
    op->setAttr(cast<arith::ArithFastMathInterface>(op).getFastMathAttrName(),
                flags);
  return success();
}

FailureOr<LoweredPattern> fastk::emitKernels(func::FuncOp func,
                                             const CudaTarget &target) {
  FailureOr<KernelChoices> given = KernelChoices::read(func);
  if (failed(given))
    return failure();
  int64_t numInputs = func->getAttrOfType<IntegerAttr>(kInputsAttr).getInt();
  auto module = func->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto device = gpu::GPUModuleOp::create(builder, module.getLoc(), "fastk");
  DeviceKernels kernels(func, numInputs, target.limits, *given);
  if (failed(kernels.emit(device)))
    return failure();
  KernelChoices &choices = kernels.decisions();
  if (failed(approximate(func, device, choices)) ||
      failed(choices.checkAllUsed(func)))
    return failure();
  return LoweredPattern{device, std::move(kernels.plan), choices.kernels()};
}

/// How each kernel was decided, for whoever reads the IR.
static ArrayAttr describe(Builder &builder,
                          ArrayRef<KernelDescription> kernels) {
  SmallVector<Attribute> all;
  for (const KernelDescription &kernel : kernels) {
    SmallVector<NamedAttribute> fields = {
        builder.getNamedAttr("kind", builder.getStringAttr(kernel.kind))};
    for (const auto &[name, value] : kernel.choices)
      fields.push_back(
          builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
    all.push_back(builder.getDictionaryAttr(fields));
  }
  return builder.getArrayAttr(all);
}

/// What the function did the kernels do: it launches them.
static void launchKernels(func::FuncOp func, const worker::LaunchPlan &plan) {
  auto numInputs = func->getAttrOfType<IntegerAttr>(kInputsAttr).getInt();
  Block &entry = func.getBody().front();
  entry.clear();
  OpBuilder builder = OpBuilder::atBlockEnd(&entry);
  ValueRange buffers = entry.getArguments();
  buildPlan(builder, func.getLoc(), plan, buffers.take_front(numInputs),
            buffers.drop_front(numInputs));
  func::ReturnOp::create(builder, func.getLoc());
  KernelChoices::remove(func);
  func->removeAttr(kInputsAttr);
  func->removeAttr(kKernelAttr);
}

/// Kernels have made their constants again, and rows are kernels.
static void eraseWhatIsDone(ModuleOp module) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    bool isDone = isa<memref::GlobalOp>(op)
                      ? SymbolTable::symbolKnownUseEmpty(&op, module)
                      : isa<func::FuncOp>(op) && op.hasAttr(kRowsAttr);
    if (isDone)
      op.erase();
  }
}

namespace fastk {
#define GEN_PASS_DEF_FASTKEMITKERNELSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkEmitKernelsPass
    : impl::FastkEmitKernelsPassBase<FastkEmitKernelsPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerHostDialects(registry);
    registerCudaDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<CudaTarget> device =
        targetOfPass(module, target, "fastk-lower-to-gpu");
    if (failed(device))
      return signalPassFailure();
    FailureOr<func::FuncOp> func = findPreparedFunction(module);
    if (failed(func))
      return signalPassFailure();
    FailureOr<LoweredPattern> lowered = emitKernels(*func, *device);
    if (failed(lowered))
      return signalPassFailure();
    Builder builder(&getContext());
    lowered->device->setAttr("fastk.kernels",
                             describe(builder, lowered->kernels));
    launchKernels(*func, lowered->plan);
    eraseWhatIsDone(module);
  }
};
} // namespace
} // namespace fastk
