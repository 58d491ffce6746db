//===- SampleWorkloads.cpp - Random workloads of a core -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Core.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

namespace fastk {
#define GEN_PASS_DEF_FASTKSAMPLEWORKLOADSPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

using namespace mlir;
using namespace fastk;

namespace {

struct FastkSampleWorkloadsPass
    : fastk::impl::FastkSampleWorkloadsPassBase<FastkSampleWorkloadsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (target != "host" && target != "cuda") {
      getOperation().emitError() << "there are no samples for target '"
                                 << target << "': choose cuda or host";
      return signalPassFailure();
    }
    for (uint64_t number = first; number < first + count; ++number)
      if (failed(add(number)))
        return signalPassFailure();
  }

private:
  LogicalResult add(uint64_t number) {
    ModuleOp module = getOperation();
    std::optional<families::Sample> sample =
        families::makeSample(core, seed, number, target == "host");
    if (!sample)
      return module.emitError()
             << "there are no samples of a core '" << core
             << "': choose one of: " << families::listCores();
    OwningOpRef<ModuleOp> parsed =
        parseSourceString<ModuleOp>(sample->text, &getContext());
    if (!parsed)
      return failure();
    auto function = *parsed->getOps<func::FuncOp>().begin();
    if (module.lookupSymbol(function.getName()))
      return module.emitError()
             << "there is a function '" << function.getName()
             << "' already: sample into a module without it, or from another "
                "number on (first=N)";
    function->moveBefore(module.getBody(), module.getBody()->end());
    return success();
  }
};

} // namespace
