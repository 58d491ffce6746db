//===- InlineLowerings.cpp - Patterns instead of winners ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKINLINELOWERINGSPASS
#include "fastk/Transforms/Passes.h.inc"

namespace {
struct FastkInlineLoweringsPass
    : impl::FastkInlineLoweringsPassBase<FastkInlineLoweringsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<CallOp> calls;
    module.walk([&](CallOp call) { calls.push_back(call); });
    for (CallOp call : calls) {
      // The verifier has seen that it is there, and of the call's types.
      auto lowering = symbols.lookup<LoweringOp>(call.getLowering());
      if (!call.getInits().empty()) {
        call.emitOpError()
            << "works on buffers, and its pattern on tensors: give the module "
               "as it was before bufferization (required by "
               "'fastk-inline-lowerings')";
        return signalPassFailure();
      }
      inlinePattern(call, lowering);
    }
    for (auto lowering :
         llvm::make_early_inc_range(module.getOps<LoweringOp>()))
      lowering.erase();
  }

private:
  static void inlinePattern(CallOp call, LoweringOp lowering) {
    Block *pattern = lowering.getPatternBlock();
    IRMapping mapping;
    mapping.map(pattern->getArguments(), call.getInputs());
    OpBuilder builder(call);
    for (Operation &op : pattern->without_terminator())
      builder.clone(op, mapping);
    for (auto [result, value] :
         llvm::zip_equal(call.getOutputs(),
                         cast<YieldOp>(pattern->getTerminator()).getValues()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.erase();
  }
};
} // namespace
} // namespace fastk
