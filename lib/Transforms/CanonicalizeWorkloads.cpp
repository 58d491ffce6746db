//===- CanonicalizeWorkloads.cpp - Show the canonical form of workloads ---===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace fastk {
#define GEN_PASS_DEF_FASTKCANONICALIZEWORKLOADSPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

using namespace mlir;
using namespace fastk;

/// Puts a workload in canonical form where `workload` stands.
static LogicalResult canonicalize(WorkloadOp workload) {
  FailureOr<CanonicalForm> form = computeCanonicalForm(workload);
  if (failed(form))
    return failure();
  SmallVector<Value> inputs;
  for (unsigned index : form->inputOrder)
    inputs.push_back(workload.getInputs()[index]);
  SmallVector<Type> types;
  for (unsigned index : form->outputOrder)
    types.push_back(workload.getResult(index).getType());

  OpBuilder builder(workload);
  auto canonical = WorkloadOp::create(builder, workload.getLoc(), types,
                                      workload.getNameAttr(), inputs);
  canonical.getBody().takeBody(form->getPattern());
  canonical->setDiscardableAttrs(workload->getDiscardableAttrDictionary());
  canonical->setAttr("fastk.key", builder.getStringAttr(form->key));
  for (auto [position, index] : llvm::enumerate(form->outputOrder))
    workload.getResult(index).replaceAllUsesWith(canonical.getResult(position));
  workload.erase();
  return success();
}

namespace {

struct FastkCanonicalizeWorkloadsPass
    : fastk::impl::FastkCanonicalizeWorkloadsPassBase<
          FastkCanonicalizeWorkloadsPass> {
  void runOnOperation() override {
    SmallVector<WorkloadOp> workloads;
    getOperation().walk([&](WorkloadOp op) { workloads.push_back(op); });
    for (WorkloadOp workload : workloads)
      if (failed(canonicalize(workload)))
        return signalPassFailure();
  }
};

} // namespace
