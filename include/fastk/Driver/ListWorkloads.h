//===- ListWorkloads.h - What became of workloads, as JSON ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_LISTWORKLOADS_H
#define FASTK_DRIVER_LISTWORKLOADS_H

#include "fastk/Transforms/ApplyWinners.h"
#include "llvm/Support/Error.h"

namespace fastk {

/// Writes each workload with its key, what was found for it and why, and the
/// places (file, line, column) of its ops: for programs that ask what fastk
/// would do with a model. docs/formats/workloads.md.
llvm::Error listWorkloads(const ApplySummary &summary, llvm::StringRef target,
                          llvm::StringRef path);

} // namespace fastk

#endif // FASTK_DRIVER_LISTWORKLOADS_H
