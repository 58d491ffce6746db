//===- FormWorkloads.cpp - Group linalg ops into workloads ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseToLinalg.h"
#include "FormWorkloadsGraph.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKFORMWORKLOADSPASS
#include "fastk/Transforms/Passes.h.inc"

namespace {
struct FastkFormWorkloadsPass
    : impl::FastkFormWorkloadsPassBase<FastkFormWorkloadsPass> {
  using Base::Base;

  void runOnOperation() override {
    void (*fuse)(form::BlockGraph &) =
        llvm::StringSwitch<void (*)(form::BlockGraph &)>(fusion)
            .Case("op", form::fuseOp)
            .Case("greedy", form::fuseGreedy)
            .Case("whole", form::fuseWhole)
            .Default(nullptr);
    if (!fuse) {
      getOperation().emitError()
          << "fusion='" << fusion
          << "' is unknown: use op, greedy or whole (required by "
             "'fastk-form-workloads')";
      return signalPassFailure();
    }
    if (failed(convertElementwiseToLinalg(getOperation())))
      return signalPassFailure();
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (!function.isExternal())
        formFunction(function, fuse);
  }

private:
  void formFunction(FunctionOpInterface function,
                    void (*fuse)(form::BlockGraph &)) {
    auto about = [&](StringRef name) {
      return remark::RemarkOpts::name(name).category("fastk").function(
          function.getName());
    };
    // Blocks of control flow are formed on their own: nothing is fused into,
    // out of or across a branch or loop.
    SmallVector<Block *> blocks;
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != function && !isControlFlow(op))
        return WalkResult::skip();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          blocks.push_back(&block);
      return WalkResult::advance();
    });
    unsigned workloads = 0, computeOps = 0, outside = 0;
    for (Block *block : blocks) {
      form::BlockGraph graph(*block, /*replicateCheap=*/fusion != "op");
      for (const form::Node &node : graph.nodes) {
        computeOps += node.role == form::Role::Compute;
        if (node.reason.empty())
          continue;
        ++outside;
        StringRef op = node.op->getName().getStringRef();
        remark::missed(node.op->getLoc(), about("left-outside"))
            << remark::reason("{0} {1}", op.str(), node.reason);
      }
      fuse(graph);
      workloads += form::materialize(graph);
    }
    remark::analysis(function.getLoc(), about("workloads"))
        << remark::metric("workloads", workloads)
        << remark::metric("ops", computeOps)
        << remark::metric("outside", outside);
  }

  /// Ops whose blocks may hold linalg on tensors, as against linalg bodies.
  static bool isControlFlow(Operation *op) {
    return op->getNumRegions() != 0 && isa<RegionBranchOpInterface>(op);
  }
};
} // namespace
} // namespace fastk
