//===- GpuRequest.h - A workload as proposers for GPUs see it ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_PROPOSE_GPUREQUEST_H
#define FASTK_UNITTESTS_PROPOSE_GPUREQUEST_H

#include "RequestedWorkload.h"
#include "fastk/Target/DeviceDescription.h"

namespace fastk::test {

/// A canonical pattern and everything a request refers to.
struct GpuRequest : RequestedWorkload {
  explicit GpuRequest(mlir::ModuleOp source)
      : RequestedWorkload(source, describeDevice("sm_90a")->target()) {}
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
  std::vector<TriedVariant> history, parents;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_PROPOSE_GPUREQUEST_H
