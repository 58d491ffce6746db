//===- EvaluatedPlan.h - What a program is run with -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_EVALUATEDPLAN_H
#define FASTK_FAMILIES_EVALUATEDPLAN_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Families/Numbers.h"

namespace fastk::families {

/// What the text of a plan is for the numbers of one program: on a GPU its
/// launches, on the host its bytes of workspace.
struct EvaluatedPlan {
  std::optional<worker::LaunchPlan> launches;
  int64_t workspaceBytes = 0;
  /// Whether other numbers would make another one.
  bool hasExpressions = false;
};

/// By the language of the program; that of a C program may have no text.
/// Nothing: \p problem says where and why.
std::optional<EvaluatedPlan> evaluatePlan(Language language,
                                          llvm::StringRef text,
                                          const Names &names,
                                          std::string &problem);

} // namespace fastk::families

#endif // FASTK_FAMILIES_EVALUATEDPLAN_H
