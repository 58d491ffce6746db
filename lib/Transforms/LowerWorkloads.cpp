//===- LowerWorkloads.cpp - Workloads become calls of lowerings -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReplaceWorkload.h"
#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKLOWERWORKLOADSPASS
#include "fastk/Transforms/Passes.h.inc"

namespace {
struct FastkLowerWorkloadsPass
    : impl::FastkLowerWorkloadsPassBase<FastkLowerWorkloadsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<WorkloadOp> workloads;
    getOperation().walk([&](WorkloadOp op) { workloads.push_back(op); });
    for (WorkloadOp workload : workloads)
      if (failed(lower(workload, symbols)))
        return signalPassFailure();
  }

private:
  LogicalResult lower(WorkloadOp workload, SymbolTable &symbols) {
    if (!workload.hasStaticShape()) {
      StringRef function;
      if (auto parent = workload->getParentOfType<FunctionOpInterface>())
        function = parent.getName();
      remark::missed(workload.getLoc(), remark::RemarkOpts::name("dissolved")
                                            .category("fastk")
                                            .function(function))
          << remark::metric("workload", workload.getName())
          << remark::reason(
                 "only workloads on tensors of static shape have a lowering")
          << remark::suggest("export the model with static shapes");
      IRRewriter rewriter(&getContext());
      inlineWorkload(rewriter, workload);
      return success();
    }
    FailureOr<CanonicalForm> form = computeCanonicalForm(workload);
    if (failed(form))
      return failure();
    FailureOr<LoweringOp> lowering = findOrBuild(workload, *form, symbols);
    if (failed(lowering))
      return failure();
    replaceByCall(workload, *form, *lowering);
    return success();
  }

  /// The lowering of this key in the module, whatever its language; a default
  /// one is made where there is none.
  FailureOr<LoweringOp> findOrBuild(WorkloadOp workload, CanonicalForm &form,
                                    SymbolTable &symbols) {
    std::string symbol = LoweringOp::symbolForKey(form.key);
    if (Operation *present = symbols.lookup(symbol)) {
      auto lowering = dyn_cast<LoweringOp>(present);
      if (lowering && isSamePattern(lowering.getPattern(), form.getPattern()))
        return lowering;
      InFlightDiagnostic diag =
          workload.emitOpError()
          << "needs the symbol '@" << symbol
          << "', which names something else in this module: rename that "
             "(required by 'fastk-lower-workloads')";
      diag.attachNote(present->getLoc()) << "symbol defined here";
      return diag;
    }
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(getOperation().getBody());
    FailureOr<LoweringOp> lowering =
        buildDefaultLowering(builder, form, target);
    if (succeeded(lowering))
      symbols.insert(*lowering);
    return lowering;
  }
};
} // namespace
} // namespace fastk
