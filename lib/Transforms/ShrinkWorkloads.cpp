//===- ShrinkWorkloads.cpp - The same workloads with smaller sizes --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/SmallWorkload.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"

namespace fastk {
#define GEN_PASS_DEF_FASTKSHRINKWORKLOADSPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

using namespace mlir;
using namespace fastk;

namespace {

struct FastkShrinkWorkloadsPass
    : fastk::impl::FastkShrinkWorkloadsPassBase<FastkShrinkWorkloadsPass> {
  using FastkShrinkWorkloadsPassBase::FastkShrinkWorkloadsPassBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    size_t count = 0;
    for (func::FuncOp function : functions) {
      function.walk([&](WorkloadOp workload) {
        std::string name = "small_" + std::to_string(count++);
        if (!buildSmallWorkload(builder, workload.getBody(), name,
                                {iterations, elements}))
          workload.emitRemark("no smaller sizes are known for this workload");
      });
      function.erase();
    }
  }
};

} // namespace
