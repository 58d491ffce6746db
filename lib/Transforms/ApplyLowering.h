//===- ApplyLowering.h - A lowering in a workload's place -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What applying winners and applying families share.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TRANSFORMS_APPLYLOWERING_H
#define FASTK_LIB_TRANSFORMS_APPLYLOWERING_H

#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Transforms/WorkloadMatcher.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

namespace fastk {

/// Of a remark on `workload`: `name` in category "fastk".
mlir::remark::RemarkOpts remarkOpts(WorkloadOp workload, llvm::StringRef name);

/// Imports `lowering` into the module of `symbols`, in the place of what the
/// module brought along under the same symbol, and replaces `workload` by a
/// call of it. `matcher` forgets the workload, and with it `form`. An error
/// where the symbol names something else.
mlir::LogicalResult applyLowering(WorkloadOp workload,
                                  const CanonicalForm &form,
                                  LoweringOp lowering,
                                  mlir::SymbolTable &symbols,
                                  WorkloadMatcher &matcher);

} // namespace fastk

#endif // FASTK_LIB_TRANSFORMS_APPLYLOWERING_H
