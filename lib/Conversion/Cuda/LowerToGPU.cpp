//===- LowerToGPU.cpp - A function on tensors to kernels and a plan ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/LowerPattern.h"
#include "Cuda/PassTarget.h"
#include "fastk/Conversion/Passes.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKLOWERTOGPUPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkLowerToGPUPass
    : impl::FastkLowerToGPUPassBase<FastkLowerToGPUPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerHostDialects(registry);
    registerCudaDialects(registry);
  }

  void runOnOperation() override {
    if (failed(lower(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult lower(ModuleOp module);
};
} // namespace

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

LogicalResult FastkLowerToGPUPass::lower(ModuleOp module) {
  FailureOr<CudaTarget> device =
      targetOfPass(module, target, "fastk-lower-to-gpu");
  if (failed(device))
    return failure();
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  func::FuncOp func;
  if (llvm::hasSingleElement(module.getOps<func::FuncOp>()))
    func = *module.getOps<func::FuncOp>().begin();
  if (!func || func.isDeclaration() ||
      !llvm::all_of(func.getArgumentTypes(), isTensor) ||
      !llvm::all_of(func.getResultTypes(), isTensor))
    return module.emitError()
           << "is not one function on tensors: fastk-extract-kernel makes one "
              "of a lowering (required by 'fastk-lower-to-gpu')";
  unsigned numInputs = func.getNumArguments();
  FailureOr<KernelChoices> choices = KernelChoices::take(func);
  if (failed(choices))
    return failure();
  FailureOr<LoweredPattern> lowered =
      lowerPattern(module, numInputs, *device, *choices);
  if (failed(lowered))
    return failure();
  Builder attributes(module);
  lowered->device->setAttr("fastk.kernels",
                           describe(attributes, lowered->kernels));
  // What the function did the kernels do: it launches them.
  Block &entry = func.getBody().front();
  entry.clear();
  OpBuilder builder = OpBuilder::atBlockEnd(&entry);
  ValueRange buffers = entry.getArguments();
  buildPlan(builder, func.getLoc(), lowered->plan,
            buffers.take_front(numInputs), buffers.drop_front(numInputs));
  func::ReturnOp::create(builder, func.getLoc());
  // Kernels have made their constants again.
  for (auto global :
       llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
    if (SymbolTable::symbolKnownUseEmpty(global, module))
      global.erase();
  return success();
}
} // namespace fastk
