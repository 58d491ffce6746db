//===- SmallWorkload.h - The same pattern with smaller sizes ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is asked of a workload's lowering, and not of its speed, can be asked of
// the same ops on smaller tensors.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_ANALYSIS_SMALLWORKLOAD_H
#define FASTK_ANALYSIS_SMALLWORKLOAD_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace fastk {

struct WorkloadSize {
  /// Points of all loops together, and elements of operands and results.
  int64_t iterations = 0;
  int64_t elements = 0;
};

/// How large the workload with this body is. Infinite where a size is not
/// static or the number does not fit.
WorkloadSize sizeOf(mlir::Region &pattern);

/// Creates at the builder's insertion point a function `name` around one
/// `fastk.workload` with the ops of `pattern` (the body of a workload, or the
/// pattern of a lowering), as it is where it is within `largest`, else with
/// smaller sizes. Dimensions that belong together keep belonging together:
/// small windows, strides, paddings, slack and what a constant has a shape for
/// stay what they are. Null, and nothing is created, where the
/// smallest that is found is beyond `largest`, too.
mlir::func::FuncOp buildSmallWorkload(mlir::OpBuilder &builder,
                                      mlir::Region &pattern,
                                      llvm::StringRef name,
                                      const WorkloadSize &largest);

} // namespace fastk

#endif // FASTK_ANALYSIS_SMALLWORKLOAD_H
