//===- RequestedWorkload.h - What requests to proposers refer to *- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_PROPOSE_REQUESTEDWORKLOAD_H
#define FASTK_UNITTESTS_PROPOSE_REQUESTEDWORKLOAD_H

#include "../Analysis/WorkloadFixture.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Propose/Proposer.h"
#include "gtest/gtest.h"

namespace fastk::test {

/// A canonical pattern and what is known of it on a device.
struct RequestedWorkload {
  RequestedWorkload(mlir::ModuleOp source, TargetDescription device)
      : target(std::move(device)) {
    auto computed = computeCanonicalForm(getWorkload(source));
    EXPECT_TRUE(mlir::succeeded(computed));
    form = std::move(*computed);
    mlir::OpBuilder builder(&test::context());
    holder = mlir::ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(holder->getBody());
    workload = *buildDefaultLowering(builder, form, target.target);
    features = analyzeWorkload(form.getPattern());
    roofline = computeRoofline(form.getPattern());
  }

  CanonicalForm form;
  Module holder;
  LoweringOp workload;
  WorkloadFeatures features;
  Roofline roofline;
  TargetDescription target;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_PROPOSE_REQUESTEDWORKLOAD_H
