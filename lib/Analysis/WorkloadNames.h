//===- WorkloadNames.h - Names for groups of scalar ops ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_WORKLOADNAMES_H
#define FASTK_LIB_ANALYSIS_WORKLOADNAMES_H

#include "ScalarGraph.h"
#include "fastk/Analysis/WorkloadKind.h"

namespace fastk {

/// Nodes that together have a name.
struct NamedGroup {
  std::string name;
  WorkloadKind kind = WorkloadKind::Elementwise;
  /// The reduction that tells rows and row length; null when there is none.
  ScalarNode *reduction = nullptr;
};

/// Finds softmax, norms, attention and activations, and sets `group` of their
/// nodes to an index of the result.
llvm::SmallVector<NamedGroup> nameGroups(ScalarGraph &graph);

/// The constant among two operands and the other one.
bool matchWithConstant(ScalarNode *node, ScalarNode *&other, double &constant);

} // namespace fastk

#endif // FASTK_LIB_ANALYSIS_WORKLOADNAMES_H
