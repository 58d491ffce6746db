//===- DistinctWorkloads.h - Each workload of a model once ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_DISTINCTWORKLOADS_H
#define FASTK_LIB_DRIVER_DISTINCTWORKLOADS_H

#include "fastk/Transforms/WorkloadMatcher.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace fastk {

/// A workload of static shape, however often a model has it: only these can
/// have winners.
struct DistinctWorkload {
  /// Where it appears first.
  WorkloadOp workload;
  /// Kept by the matcher until it forgets `workload`.
  CanonicalForm *form = nullptr;
  /// How often the model has it.
  int64_t calls = 0;
};

/// The distinct workloads of `module`, in order of first appearance. An error
/// where one has no canonical form.
llvm::Expected<std::vector<DistinctWorkload>>
distinctWorkloads(mlir::ModuleOp module, WorkloadMatcher &matcher);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_DISTINCTWORKLOADS_H
