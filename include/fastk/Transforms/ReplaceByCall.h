//===- ReplaceByCall.h - A workload becomes a call --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_REPLACEBYCALL_H
#define FASTK_TRANSFORMS_REPLACEBYCALL_H

#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"

namespace fastk {

/// Replaces `workload` by a call of the lowering `symbol`, operands and results
/// in the order of its canonical form.
void replaceByCall(WorkloadOp workload, const CanonicalForm &form,
                   llvm::StringRef symbol);

} // namespace fastk

#endif // FASTK_TRANSFORMS_REPLACEBYCALL_H
