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

/// What workloads without a winner may get.
struct UsableFamilies {
  std::vector<AdmittedFamily> admitted;
  /// This machine where the target is the host.
  catalog::Machine machine;
};

/// Those shipped families that are admitted for the target of \p filter. Which
/// are not, and why, are warnings.
llvm::Expected<UsableFamilies> usableFamilies(const WinnerFilter &filter,
                                              llvm::StringRef executable);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_OPT_FAMILIES_H
