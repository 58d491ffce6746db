//===- InlineWorkloads.cpp - Dissolve workloads ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReplaceWorkload.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKINLINEWORKLOADSPASS
#include "fastk/Transforms/Passes.h.inc"

namespace {
struct FastkInlineWorkloadsPass
    : impl::FastkInlineWorkloadsPassBase<FastkInlineWorkloadsPass> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      SmallVector<WorkloadOp> workloads;
      function->walk(
          [&](WorkloadOp workload) { workloads.push_back(workload); });
      for (WorkloadOp workload : workloads)
        inlineWorkload(rewriter, workload);
      if (workloads.empty())
        continue;
      // Formation copied constants and fills into each workload.
      DominanceInfo dominance(function);
      eliminateCommonSubExpressions(rewriter, dominance, function);
    }
  }
};
} // namespace
} // namespace fastk
