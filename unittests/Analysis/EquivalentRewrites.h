//===- EquivalentRewrites.h - Rewrites that keep the meaning ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_ANALYSIS_EQUIVALENTREWRITES_H
#define FASTK_UNITTESTS_ANALYSIS_EQUIVALENTREWRITES_H

#include "Random.h"
#include "WorkloadFixture.h"

namespace fastk::test {

struct EquivalentRewrite {
  const char *name;
  void (*apply)(Module &module, Random &random);
};

/// Rewrites of the module's workload; none changes what it computes.
llvm::ArrayRef<EquivalentRewrite> equivalentRewrites();

} // namespace fastk::test

#endif // FASTK_UNITTESTS_ANALYSIS_EQUIVALENTREWRITES_H
