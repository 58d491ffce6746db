//===- Compile.cpp - A model's way through the compiler -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/Compile.h"
#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Analysis/LeastMemory.h"
#include "fastk/Transforms/FormWorkloads.h"
#include "fastk/Transforms/Passes.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Analysis/CallGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace fastk;

/// Runs one pass on the module, with the printing and timing that the user
/// asked for.
static LogicalResult runPass(ModuleOp module, std::unique_ptr<Pass> pass,
                             bool onFunctions = false) {
  PassManager manager(module.getContext());
  if (onFunctions)
    manager.nest<func::FuncOp>().addPass(std::move(pass));
  else
    manager.addPass(std::move(pass));
  return runPasses(manager, module);
}

namespace {
/// fastk-apply-winners with banks that are open already and a summary, under
/// its name: what watches passes sees no difference.
struct ApplyWinnersStep
    : PassWrapper<ApplyWinnersStep, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApplyWinnersStep)

  ApplyWinnersStep(WorkloadMatcher &matcher, FailureOr<ApplySummary> &summary)
      : matcher(matcher), summary(summary) {}
  StringRef getArgument() const final { return "fastk-apply-winners"; }
  StringRef getName() const final { return "FastkApplyWinnersPass"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<FastkDialect, complex::ComplexDialect, scf::SCFDialect>();
    registerCanonicalFormDialects(registry);
  }
  void runOnOperation() final {
    summary = applyWinners(getOperation(), matcher);
    if (failed(summary))
      signalPassFailure();
  }

  WorkloadMatcher &matcher;
  FailureOr<ApplySummary> &summary;
};
} // namespace

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

LogicalResult fastk::unrollLoops(ModuleOp module) {
  return runPass(module, createFastkUnrollLoopsPass());
}

LogicalResult fastk::prepareModel(ModuleOp module, StringRef target) {
  if (failed(inlineCalls(module)))
    return failure();
  return target == "host" ? success() : unrollLoops(module);
}

LogicalResult fastk::layChannelsLast(ModuleOp module, bool float32) {
  FastkChannelsLastPassOptions options;
  options.float32 = float32;
  return runPass(module, createFastkChannelsLastPass(options),
                 /*onFunctions=*/true);
}

LogicalResult fastk::runFormWorkloads(ModuleOp module, Fusion fusion,
                                      WinnerQuery *winners,
                                      WinnerQuery *scans) {
  return runPass(module, createFormWorkloadsPass(fusion, winners, scans));
}

LogicalResult fastk::runSplitWorkloads(ModuleOp module, Fusion fusion,
                                       WinnerQuery &winners) {
  return runPass(module, createSplitWorkloadsPass(fusion, winners));
}

LogicalResult fastk::formWithWinners(ModuleOp module, Fusion fusion,
                                     WorkloadMatcher &matcher,
                                     WinnerQuery *scans) {
  return matcher.withRemoteWinners(module, [&] {
    return runFormWorkloads(module, fusion,
                            matcher.anyWinners() ? &matcher : nullptr, scans);
  });
}

FailureOr<ApplySummary> fastk::applyBestWinners(ModuleOp module, Fusion fusion,
                                                WorkloadMatcher &matcher) {
  if (matcher.anyWinners() && failed(matcher.withRemoteWinners(module, [&] {
        return runSplitWorkloads(module, fusion, matcher);
      })))
    return failure();
  FailureOr<ApplySummary> summary = failure();
  PassManager manager(module.getContext());
  // The last pass and the next one look.
  manager.enableVerifier(false);
  manager.addPass(std::make_unique<ApplyWinnersStep>(matcher, summary));
  if (failed(runPasses(manager, module)))
    return failure();
  return summary;
}

LogicalResult fastk::inlineLowerings(ModuleOp module) {
  return runPass(module, createFastkInlineLoweringsPass());
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

void fastk::warnOfShortage(ModuleOp formed, int64_t bytes, StringRef where) {
  for (auto function : formed.getOps<func::FuncOp>()) {
    std::string shortage = leastMemory(function).explainShortage(bytes);
    if (function.isPublic() && !shortage.empty())
      emitWarning(function.getLoc())
          << "@" << function.getName() << " " << shortage << " on " << where
          << ": run it where there is more, or export the model with smaller "
             "shapes";
  }
}

std::vector<std::string>
fastk::explainMissingBanks(ArrayRef<std::string> folders, StringRef remedy) {
  std::vector<std::string> warnings;
  for (const std::string &folder : folders)
    if (!isRemoteBank(folder) && !llvm::sys::fs::exists(folder))
      warnings.push_back(
          "--bank=" + folder +
          ": no such folder, so no winners; check the path, or make them "
          "with " +
          remedy.str());
  return warnings;
}
