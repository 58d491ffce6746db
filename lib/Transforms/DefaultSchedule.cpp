//===- DefaultSchedule.cpp - The compiler's own schedule ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/Passes.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKDEFAULTSCHEDULEPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

namespace {
struct FastkDefaultSchedulePass
    : fastk::impl::FastkDefaultSchedulePassBase<FastkDefaultSchedulePass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    linalg::populateElementwiseOpsFusionPatterns(
        patterns, [](OpOperand *) { return true; });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
