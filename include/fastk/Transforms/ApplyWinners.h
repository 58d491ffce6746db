//===- ApplyWinners.h - Replace workloads by the bank's winners -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_APPLYWINNERS_H
#define FASTK_TRANSFORMS_APPLYWINNERS_H

#include "fastk/Transforms/WorkloadMatcher.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include <string>
#include <vector>

namespace fastk {

/// What became of one workload.
struct WorkloadOutcome {
  /// Instance: of a family; a program that was not judged for this workload.
  enum Kind { Hit, Miss, Stale, Dynamic, Instance };
  Kind kind = Miss;
  std::string name, key, shapes;
  /// Why it is no hit.
  std::string reason;
  /// The reason is that the winner was measured on another machine.
  bool otherMachine = false;
  mlir::Location location;
  /// Of the ops that it had, without constants: each once, in order.
  llvm::SetVector<mlir::Location> places = {};
};

struct ApplySummary {
  std::vector<WorkloadOutcome> workloads;
  unsigned count(WorkloadOutcome::Kind kind) const;
  /// "6 workloads: 4 hits, 1 miss, 1 stale", and what of it needs the user.
  std::string str() const;
};

/// Replaces each `fastk.workload` of `module` that `matcher` has a winner for
/// by a `fastk.call`, and imports the lowerings. Each decision is a remark of
/// category "fastk". Fails only on IR that cannot be canonicalised.
mlir::FailureOr<ApplySummary> applyWinners(mlir::ModuleOp module,
                                           WorkloadMatcher &matcher);

} // namespace fastk

#endif // FASTK_TRANSFORMS_APPLYWINNERS_H
