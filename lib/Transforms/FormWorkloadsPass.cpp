//===- FormWorkloadsPass.cpp - Formation as passes ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where formation meets a bank.
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/FormWorkloads.h"
#include "fastk/Transforms/Passes.h"
#include "fastk/Transforms/WorkloadMatcher.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKFORMWORKLOADSPASS
#include "fastk/Transforms/Passes.h.inc"

namespace {
struct FastkFormWorkloadsPass
    : impl::FastkFormWorkloadsPassBase<FastkFormWorkloadsPass> {
  using Base::Base;
  FastkFormWorkloadsPass(Fusion fusion, WinnerQuery *winners,
                         WinnerQuery *scans)
      : winners(winners), scans(scans) {
    this->fusion = fusion;
  }

  void runOnOperation() override {
    if (failed(bank.empty()
                   ? formWorkloads(getOperation(), fusion, winners, scans)
                   : formByBank()))
      signalPassFailure();
  }

private:
  LogicalResult formByBank() {
    FailureOr<PassBanks> opened = openPassBanks(
        getOperation(), std::vector<std::string>(bank.begin(), bank.end()),
        target, precision, winnersFrom, requireDeterministic);
    if (failed(opened))
      return failure();
    WorkloadMatcher matcher(opened->banks, opened->filter);
    return matcher.withRemoteWinners(getOperation(), [&] {
      if (!matcher.anyWinners())
        return formWorkloads(getOperation(), fusion, nullptr);
      return success(
          succeeded(formWorkloads(getOperation(), fusion, &matcher)) &&
          succeeded(splitWorkloads(getOperation(), fusion, matcher)));
    });
  }

  WinnerQuery *winners = nullptr, *scans = nullptr;
};

/// Not registered: in a pipeline `fastk-form-workloads{bank=DIR}` does both.
struct SplitWorkloadsPass
    : PassWrapper<SplitWorkloadsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitWorkloadsPass)
  SplitWorkloadsPass(Fusion fusion, WinnerQuery &winners)
      : fusion(fusion), winners(winners) {}

  StringRef getArgument() const final { return "fastk-split-workloads"; }
  void runOnOperation() override {
    if (failed(splitWorkloads(getOperation(), fusion, winners)))
      signalPassFailure();
  }

  Fusion fusion;
  WinnerQuery &winners;
};
} // namespace

std::unique_ptr<Pass> createFormWorkloadsPass(Fusion fusion,
                                              WinnerQuery *winners,
                                              WinnerQuery *scans) {
  return std::make_unique<FastkFormWorkloadsPass>(fusion, winners, scans);
}

std::unique_ptr<Pass> createSplitWorkloadsPass(Fusion fusion,
                                               WinnerQuery &winners) {
  return std::make_unique<SplitWorkloadsPass>(fusion, winners);
}
} // namespace fastk
