//===- ReplaceWorkload.h - What may take a workload's place -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_REPLACEWORKLOAD_H
#define FASTK_LIB_TRANSFORMS_REPLACEWORKLOAD_H

#include "fastk/Analysis/CanonicalForm.h"
#include "mlir/IR/PatternMatch.h"

namespace fastk {

/// Replaces a workload by a call of `lowering`, operands and results in the
/// canonical order of `form`.
void replaceByCall(WorkloadOp workload, const CanonicalForm &form,
                   LoweringOp lowering);

/// Replaces a workload by its body.
void inlineWorkload(mlir::RewriterBase &rewriter, WorkloadOp workload);

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_REPLACEWORKLOAD_H
