//===- ReplaceWorkload.cpp - What may take a workload's place -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReplaceWorkload.h"

using namespace mlir;
using namespace fastk;

void fastk::replaceByCall(WorkloadOp workload, const CanonicalForm &form,
                          LoweringOp lowering) {
  OpBuilder builder(workload);
  SmallVector<Value> inputs = llvm::map_to_vector(
      form.inputOrder, [&](unsigned i) { return workload.getInputs()[i]; });
  SmallVector<Type> types =
      llvm::map_to_vector(form.outputOrder, [&](unsigned i) {
        return workload.getOutputs()[i].getType();
      });
  auto call = CallOp::create(builder, workload.getLoc(), types,
                             lowering.getSymName(), inputs,
                             /*inits=*/ValueRange());
  for (auto [result, i] : llvm::zip_equal(call.getOutputs(), form.outputOrder))
    workload.getOutputs()[i].replaceAllUsesWith(result);
  workload.erase();
}

void fastk::inlineWorkload(RewriterBase &rewriter, WorkloadOp workload) {
  auto yield = cast<YieldOp>(workload.getBodyBlock()->getTerminator());
  rewriter.inlineBlockBefore(workload.getBodyBlock(), workload,
                             workload.getInputs());
  rewriter.replaceOp(workload, yield.getValues());
  rewriter.eraseOp(yield);
}
