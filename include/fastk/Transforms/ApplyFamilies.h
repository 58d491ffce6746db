//===- ApplyFamilies.h - Unproved instances where no winner is --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_APPLYFAMILIES_H
#define FASTK_TRANSFORMS_APPLYFAMILIES_H

#include "fastk/Families/Family.h"
#include "fastk/Transforms/ApplyWinners.h"

namespace fastk {

/// A family whose instances may be used without a judge of their own.
struct AdmittedFamily {
  families::Family family;
  /// The class that its instances may be asked for.
  Precision accepts = Precision::ieee;
  /// The loosest class of the instances that were judged.
  Precision precision = Precision::ieee;
  /// "80 instances are right on NVIDIA H200".
  std::string evidence;
};

/// The families of a core, those first that are asked first. They are for the
/// target of the matcher beside them, and stay where they are.
using FamiliesOfCore =
    llvm::function_ref<llvm::ArrayRef<AdmittedFamily>(llvm::StringRef core)>;

/// Answers as if what \p families serve had a winner, where \p matcher has
/// none. All that it is made of outlives it.
std::unique_ptr<WinnerQuery> familyQuery(WorkloadMatcher &matcher,
                                         FamiliesOfCore families,
                                         const catalog::Machine &machine);

/// Before applyWinners(): cuts each workload of static shape that has no winner
/// and that none of \p families serves, where they or a winner serve a smaller
/// region with its heaviest op; what is left of it is formed anew as \p fusion
/// says. So a convolution is no slower for the pooling behind it.
mlir::LogicalResult cutForFamilies(mlir::ModuleOp module, Fusion fusion,
                                   WorkloadMatcher &matcher,
                                   FamiliesOfCore families,
                                   const catalog::Machine &machine);

/// After applyWinners(), whose `summary` it is: gives each workload of static
/// shape that has no winner the instance that costs least by its family's own
/// estimate, of the first family that serves it in the class that `matcher`
/// accepts for it. All \p families are for the
/// target of \p matcher, the host being \p machine. Each decision is a remark,
/// and `summary` tells of it. Fails only where a symbol is in the way.
mlir::LogicalResult applyFamilies(mlir::ModuleOp module,
                                  WorkloadMatcher &matcher,
                                  FamiliesOfCore families,
                                  const catalog::Machine &machine,
                                  ApplySummary &summary);

} // namespace fastk

#endif // FASTK_TRANSFORMS_APPLYFAMILIES_H
