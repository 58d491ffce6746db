//===- Ideas.h - What an expert would try -----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_CATALOG_IDEAS_H
#define FASTK_LIB_PROPOSE_CATALOG_IDEAS_H

#include "fastk/Propose/Catalog/CKernel.h"
#include "fastk/Propose/Proposer.h"
#include "llvm/ADT/ArrayRef.h"

namespace fastk {
namespace catalog {

/// One idea of the catalog. It applies to a kernel that has the stage (any, if
/// empty) and whose parameters include `parameter` (any, if empty).
struct CatalogIdea {
  const char *name;
  IdeaCategory category;
  const char *title;
  const char *text;
  const char *stage;
  const char *parameter;
  /// True for what starts a search; false for what changes a parent.
  bool opening;
  /// True when it pays only for what is bound by memory.
  bool memoryBound;
  /// What each realisation sets, best guess first.
  std::vector<Parameters> settings;
  /// Realised as a transform-dialect schedule instead of C.
  bool schedule = false;
};

llvm::ArrayRef<CatalogIdea> allIdeas();

/// Values beside one in a list, which is ascending, nearest first.
std::vector<int64_t> neighboursInList(llvm::ArrayRef<int64_t> values,
                                      int64_t value);

} // namespace catalog
} // namespace fastk

#endif // FASTK_LIB_PROPOSE_CATALOG_IDEAS_H
