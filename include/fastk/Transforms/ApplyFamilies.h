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
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <utility>

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

/// What families offer for workloads. Each key is asked for once: it takes time
/// to weigh all values of all parameters.
class FamilyChoices {
public:
  /// All that it is made of outlives it. \p families are for the target of
  /// \p matcher, the host being \p machine.
  FamilyChoices(WorkloadMatcher &matcher, FamiliesOfCore families,
                const catalog::Machine &machine);

  WorkloadMatcher &getMatcher() const { return matcher; }

  /// The instance that costs least by its family's own estimate, of the first
  /// family that serves the workload in the class that the matcher accepts for
  /// it, and a lowering by it. Null: none does.
  std::pair<const AdmittedFamily *, mlir::OwningOpRef<mlir::ModuleOp>>
  lower(CanonicalForm &form);
  /// Whether there is one.
  bool serves(CanonicalForm &form);

private:
  struct Choice {
    const AdmittedFamily *admitted;
    families::Instance instance;
  };

  WorkloadMatcher &matcher;
  FamiliesOfCore families;
  const catalog::Machine &machine;
  /// By keys. Nothing: no family serves it.
  llvm::StringMap<std::optional<Choice>> choices;
};

/// Answers as if what families serve had a winner, where the matcher has none.
std::unique_ptr<WinnerQuery> familyQuery(FamilyChoices &choices);

/// Before applyWinners(): cuts each workload of static shape that has no winner
/// and that no family serves, where they or a winner serve a smaller region
/// with its heaviest op; what is left of it is formed anew as \p fusion says.
/// So a convolution is no slower for the pooling behind it.
mlir::LogicalResult cutForFamilies(mlir::ModuleOp module, Fusion fusion,
                                   FamilyChoices &choices);

/// After applyWinners(), whose `summary` it is: gives each workload of static
/// shape that has no winner what \p choices has for it. Each decision is a
/// remark, and `summary` tells of it. Fails only where a symbol is in the way.
mlir::LogicalResult applyFamilies(mlir::ModuleOp module, FamilyChoices &choices,
                                  ApplySummary &summary);

} // namespace fastk

#endif // FASTK_TRANSFORMS_APPLYFAMILIES_H
