//===- GpuRequest.h - A workload as proposers for GPUs see it ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_PROPOSE_GPUREQUEST_H
#define FASTK_UNITTESTS_PROPOSE_GPUREQUEST_H

#include "../Analysis/WorkloadFixture.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Target/DeviceDescription.h"
#include "gtest/gtest.h"

namespace fastk::test {

/// A canonical pattern and everything a request refers to.
struct GpuRequest {
  explicit GpuRequest(mlir::ModuleOp source) {
    auto computed = computeCanonicalForm(getWorkload(source));
    EXPECT_TRUE(mlir::succeeded(computed));
    form = std::move(*computed);
    mlir::OpBuilder builder(&test::context());
    holder = mlir::ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(holder->getBody());
    workload = *buildDefaultLowering(builder, form, "cuda:sm_90a");
    features = analyzeWorkload(form.getPattern());
    roofline = computeRoofline(form.getPattern());
    target = describeDevice("sm_90a")->target();
  }
  ProposalContext context() {
    return {workload, features, roofline, target,  Precision::ieee,
            1,        1.0,      0.1,      history, parents};
  }
  /// As if it had been evaluated.
  void add(const Variant &variant, int round) {
    TriedVariant tried;
    tried.variant = variant;
    tried.status = "ok";
    tried.seconds = 1.0 / double(history.size() + 1);
    tried.baselineSeconds = 1;
    tried.round = round;
    history.push_back(tried);
  }
  CanonicalForm form;
  Module holder;
  LoweringOp workload;
  WorkloadFeatures features;
  Roofline roofline;
  TargetDescription target;
  std::vector<TriedVariant> history, parents;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_PROPOSE_GPUREQUEST_H
