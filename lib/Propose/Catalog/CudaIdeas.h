//===- CudaIdeas.h - What an expert would try on a GPU ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most ideas are numbers for the compiler's own kernels (KernelChoice): a
// variant is a schedule that sets them. Some are schedules that tile and map
// the loops themselves.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_CATALOG_CUDAIDEAS_H
#define FASTK_LIB_PROPOSE_CATALOG_CUDAIDEAS_H

#include "fastk/Propose/Catalog/CKernel.h"
#include "fastk/Propose/Proposer.h"

namespace fastk {
namespace catalog {

/// One idea for a kind of kernel (KernelDescription::kind).
struct CudaIdea {
  const char *name;
  IdeaCategory category;
  const char *title;
  const char *text;
  /// Empty for what every kernel can be told, "loops" for schedules that map
  /// the workload's loops.
  const char *kind;
  /// True for what starts a search, too; false for what only changes a parent.
  bool opening;
  /// What each realisation sets, best guess first, from what the kernel was
  /// decided with. Numbers that no kernel may have are left out later.
  std::vector<Parameters> (*settings)(const Parameters &decided);
};

/// In the order in which they are proposed for kernels of one kind.
llvm::ArrayRef<CudaIdea> allCudaIdeas();

/// The numbers next to `value` that a choice may have, nearest first.
std::vector<int64_t> neighbouringChoices(llvm::StringRef name, int64_t value);

} // namespace catalog
} // namespace fastk

#endif // FASTK_LIB_PROPOSE_CATALOG_CUDAIDEAS_H
