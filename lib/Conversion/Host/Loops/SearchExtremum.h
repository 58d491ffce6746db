//===- SearchExtremum.h - Where the extremum of a row is --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_HOST_LOOPS_SEARCHEXTREMUM_H
#define FASTK_LIB_CONVERSION_HOST_LOOPS_SEARCHEXTREMUM_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace fastk {

/// Replaces `loop`, when it keeps the extremum of what lies beside each other
/// in memory and what belongs to the first element that has it, as an argmax
/// does: step by step, each of which waits for the one before. In its place is
/// a loop over pieces, which first takes the extremum of a piece alone, and
/// looks for it there only where it is one of the row, both as vectors. Results
/// have the same bits: of equal elements the first one counts, and a piece with
/// a NaN is done by the loop as it was. Null, and nothing is changed, where
/// `loop` is another one.
mlir::scf::ForOp searchInPieces(mlir::RewriterBase &rewriter,
                                mlir::scf::ForOp loop);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOST_LOOPS_SEARCHEXTREMUM_H
