//===- SplitReduction.h - Long reductions in pieces -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_HOST_LOOPS_SPLITREDUCTION_H
#define FASTK_LIB_CONVERSION_HOST_LOOPS_SPLITREDUCTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace fastk {

/// The number of pieces that a reduction of `size` steps is cut into, each of
/// them of 16 steps or more; 0 when it is too short. Knows no number of
/// threads: results are the same with any.
int64_t choosePieces(int64_t size);

/// Replaces `op`, on memrefs of static shape, by ops that reduce the pieces of
/// its reduction loop `dim` beside each other, and one that reduces what they
/// made: sums come in another order. They are in `parts`, in the order in which
/// they run. False, and nothing is changed, where a result is no plain sum,
/// product, extremum or the like, or `dim` is no plain index of all that it
/// reads.
bool splitReduction(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp op,
                    unsigned dim,
                    llvm::SmallVectorImpl<mlir::linalg::GenericOp> &parts);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOST_LOOPS_SPLITREDUCTION_H
