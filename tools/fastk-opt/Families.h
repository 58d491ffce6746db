//===- Families.h - Shipped families and a model's workloads ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_OPT_FAMILIES_H
#define FASTK_TOOLS_FASTK_OPT_FAMILIES_H

#include "fastk/Transforms/ApplyFamilies.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace fastk {

/// What the shipped families say, by key, of each workload that is left when
/// winners are applied.
llvm::Expected<llvm::StringMap<std::string>>
askFamilies(mlir::ModuleOp applied, WorkloadMatcher &matcher,
            llvm::StringRef executable);

/// The shipped families that workloads without a winner may get instances of.
class UsableFamilies {
public:
  /// Those for the target of \p filter, and no class looser than it accepts. An
  /// error where no folder of families is beside the program.
  static llvm::Expected<UsableFamilies> find(const WinnerFilter &filter,
                                             llvm::StringRef executable);

  /// Those of a core that are admitted. Their evidence is looked at when they
  /// are asked for first; which are left out, and why, are warnings.
  llvm::ArrayRef<AdmittedFamily> of(llvm::StringRef core);

  /// This machine where the target is the host.
  const catalog::Machine &getMachine() const { return machine; }

private:
  std::vector<families::Family> families;
  std::string target, compiler;
  Precision loosest = Precision::ieee;
  catalog::Machine machine;
  llvm::StringMap<std::vector<AdmittedFamily>> known;
};

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_OPT_FAMILIES_H
