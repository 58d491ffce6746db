//===- Compile.cpp - A model's way through the compiler -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/Compile.h"
#include "fastk/Transforms/FormWorkloads.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Analysis/CallGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/SCCIterator.h"

using namespace mlir;
using namespace fastk;

/// Runs one pass on the module, with the printing and timing that the user
/// asked for.
static LogicalResult runPass(ModuleOp module, std::unique_ptr<Pass> pass,
                             bool onFunctions = false) {
  PassManager manager(module.getContext());
  if (failed(applyPassManagerCLOptions(manager)))
    return failure();
  if (onFunctions)
    manager.nest<func::FuncOp>().addPass(std::move(pass));
  else
    manager.addPass(std::move(pass));
  return manager.run(module);
}

LogicalResult fastk::inlineCalls(ModuleOp module) {
  WalkResult calls =
      module.walk([](func::CallOp) { return WalkResult::interrupt(); });
  if (!calls.wasInterrupted())
    return success();
  CallGraph graph(module);
  for (auto group = llvm::scc_begin(static_cast<const CallGraph *>(&graph));
       !group.isAtEnd(); ++group)
    if (group.hasCycle())
      for (const CallGraphNode *node : *group)
        if (!node->isExternal())
          return node->getCallableRegion()->getParentOp()->emitError()
                 << "calls itself, by itself or by others: fastk inlines every "
                    "call; write the recursion as a loop or in full (required "
                    "by 'fastk.calls')";
  // Inlines alone: what is inlined is not simplified on the way.
  return runPass(module, createInlinerPass({}, [](OpPassManager &) {}));
}

LogicalResult fastk::runFormWorkloads(ModuleOp module, StringRef fusion,
                                      WinnerQuery *winners) {
  return runPass(module, createFormWorkloadsPass(fusion, winners));
}

LogicalResult fastk::runSplitWorkloads(ModuleOp module, StringRef fusion,
                                       WinnerQuery &winners) {
  return runPass(module, createSplitWorkloadsPass(fusion, winners));
}

FailureOr<ApplySummary>
fastk::compileWithWinners(ModuleOp module, StringRef fusion,
                          WorkloadMatcher &matcher,
                          function_ref<bool(ModuleOp)> search) {
  WinnerQuery *winners = matcher.anyWinners() ? &matcher : nullptr;
  if (failed(runFormWorkloads(module, fusion, winners)))
    return failure();
  if (search && !search(module))
    return failure();
  if (matcher.anyWinners() &&
      failed(runSplitWorkloads(module, fusion, matcher)))
    return failure();
  return applyWinners(module, matcher);
}

LogicalResult fastk::inlineWorkloads(ModuleOp module) {
  return runPass(module, createFastkInlineWorkloadsPass());
}

LogicalResult fastk::lowerWorkloads(ModuleOp module, StringRef target) {
  FastkLowerWorkloadsPassOptions options;
  options.target = target.str();
  return runPass(module, createFastkLowerWorkloadsPass(options));
}

LogicalResult fastk::promoteToF64(ModuleOp module) {
  return runPass(module, createFastkPromoteToF64Pass(), /*onFunctions=*/true);
}
