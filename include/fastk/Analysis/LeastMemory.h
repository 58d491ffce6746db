//===- LeastMemory.h - What a call of a model takes at least ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_ANALYSIS_LEASTMEMORY_H
#define FASTK_ANALYSIS_LEASTMEMORY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace fastk {

/// Bytes; sums of shapes may be beyond any integer.
struct MemoryNeed {
  double arguments = 0, results = 0, temporaries = 0;

  double total() const { return arguments + results + temporaries; }
  /// Empty where \p available bytes may do, else why not: "takes at least 8.8
  /// TB of memory (arguments 4.4 TB, results 4.4 TB, temporaries 0 B), and 16.0
  /// GB are available".
  std::string explainShortage(int64_t available) const;
};

/// What a call of \p function takes at least, by the shapes of a model whose
/// workloads are formed: arguments, results, and of what workloads and calls of
/// lowerings hand to each other the most that is alive at once. What each of
/// them needs for itself comes on top. What may turn out to lie in the place of
/// another tensor, and sizes that a call decides, count nothing.
MemoryNeed leastMemory(mlir::func::FuncOp function);

} // namespace fastk

#endif // FASTK_ANALYSIS_LEASTMEMORY_H
