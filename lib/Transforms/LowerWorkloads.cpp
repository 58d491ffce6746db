//===- LowerWorkloads.cpp - Call the default lowering of what is left -----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Transforms/Passes.h"
#include "fastk/Transforms/ReplaceByCall.h"
#include "mlir/IR/SymbolTable.h"

namespace fastk {
#define GEN_PASS_DEF_FASTKLOWERWORKLOADSPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

using namespace mlir;
using namespace fastk;

void fastk::replaceByCall(WorkloadOp workload, const CanonicalForm &form,
                          StringRef symbol) {
  OpBuilder builder(workload);
  SmallVector<Value> inputs = llvm::map_to_vector(
      form.inputOrder, [&](unsigned i) { return workload.getInputs()[i]; });
  SmallVector<Type> types =
      llvm::map_to_vector(form.outputOrder, [&](unsigned i) {
        return workload.getOutputs()[i].getType();
      });
  auto call = CallOp::create(builder, workload.getLoc(), types, symbol, inputs,
                             /*inits=*/ValueRange());
  for (auto [result, i] : llvm::zip_equal(call.getOutputs(), form.outputOrder))
    workload.getOutputs()[i].replaceAllUsesWith(result);
  workload.erase();
}

namespace {
struct FastkLowerWorkloadsPass
    : public fastk::impl::FastkLowerWorkloadsPassBase<FastkLowerWorkloadsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<WorkloadOp> workloads;
    module.walk([&](WorkloadOp op) { workloads.push_back(op); });
    for (WorkloadOp workload : workloads) {
      if (!workload.hasStaticShape()) {
        workload.emitOpError()
            << "has operands or results of dynamic shape; kernels are made for "
               "static shapes (required by 'fastk-lower-workloads')";
        return signalPassFailure();
      }
      FailureOr<CanonicalForm> form = computeCanonicalForm(workload);
      if (failed(form))
        return signalPassFailure();
      // Equal layers share one kernel.
      std::string symbol = LoweringOp::symbolForKey(form->key);
      if (!symbols.lookup<LoweringOp>(symbol)) {
        OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
        FailureOr<LoweringOp> lowering =
            buildDefaultLowering(builder, *form, target);
        if (failed(lowering))
          return signalPassFailure();
        symbols.insert(*lowering);
      }
      replaceByCall(workload, *form, symbol);
    }
  }
};
} // namespace
