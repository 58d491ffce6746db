//===- DistinctWorkloads.cpp - Each workload of a model once --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DistinctWorkloads.h"

using namespace mlir;
using namespace fastk;

llvm::Expected<std::vector<DistinctWorkload>>
fastk::distinctWorkloads(ModuleOp module, WorkloadMatcher &matcher) {
  std::vector<DistinctWorkload> distinct;
  llvm::StringMap<size_t> seen;
  WalkResult result = module.walk([&](WorkloadOp workload) -> WalkResult {
    if (!workload.hasStaticShape())
      return WalkResult::advance();
    FailureOr<CanonicalForm *> form = matcher.form(workload);
    if (failed(form))
      return WalkResult::interrupt();
    auto [entry, isNew] = seen.try_emplace((*form)->key, distinct.size());
    if (isNew)
      distinct.push_back({workload, *form});
    ++distinct[entry->second].calls;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return llvm::createStringError("a workload has no canonical form");
  return distinct;
}
