//===- ExtractKernel.cpp - A lowering as a function -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "fastk/Conversion/Passes.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKEXTRACTKERNELPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkExtractKernelPass
    : impl::FastkExtractKernelPassBase<FastkExtractKernelPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    LoweringOp lowering = find(module);
    if (!lowering)
      return signalPassFailure();
    FailureOr<OwningOpRef<ModuleOp>> kernel =
        createPatternFunction(lowering, lowering.getSymName());
    if (failed(kernel))
      return signalPassFailure();
    module.getBody()->clear();
    module.getBody()->getOperations().splice(
        module.getBody()->end(), (*kernel)->getBody()->getOperations());
  }

private:
  LoweringOp find(ModuleOp module) {
    if (!symbol.empty()) {
      if (auto lowering = module.lookupSymbol<LoweringOp>(symbol))
        return lowering;
      module.emitError() << "has no fastk.lowering '@" << symbol
                         << "' (required by 'fastk-extract-kernel')";
      return nullptr;
    }
    auto lowerings = llvm::to_vector(module.getOps<LoweringOp>());
    if (lowerings.size() == 1)
      return lowerings.front();
    InFlightDiagnostic diag = module.emitError()
                              << "has " << lowerings.size()
                              << " fastk.lowering ops: name one by symbol=NAME "
                                 "(required by 'fastk-extract-kernel')";
    for (LoweringOp lowering : lowerings)
      diag.attachNote(lowering.getLoc())
          << "'@" << lowering.getSymName() << "'";
    return nullptr;
  }
};
} // namespace
} // namespace fastk
