//===- GPUToPTX.cpp - Kernels to PTX, as a pass --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/PassTarget.h"
#include "EmitPTX.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKGPUTOPTXPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkGPUToPTXPass : impl::FastkGPUToPTXPassBase<FastkGPUToPTXPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerHostCodegen(registry);
    registerCudaCodegen(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<CudaTarget> device =
        targetOfPass(module, target, "fastk-gpu-to-ptx");
    if (failed(device))
      return signalPassFailure();
    for (auto kernels :
         llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
      FailureOr<std::string> ptx = emitPTX(kernels, *device);
      if (failed(ptx))
        return signalPassFailure();
      OpBuilder builder(kernels);
      auto object = gpu::ObjectAttr::get(
          NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3,
                                    "nvptx64-nvidia-cuda", device->chip),
          gpu::CompilationTarget::Assembly, builder.getStringAttr(*ptx),
          /*properties=*/DictionaryAttr());
      gpu::BinaryOp::create(builder, kernels.getLoc(), kernels.getName(),
                            Attribute(), ArrayRef<Attribute>{object});
      kernels.erase();
    }
  }
};
} // namespace
} // namespace fastk
