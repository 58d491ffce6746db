//===- LowerGeneric.h - linalg.generic on memrefs to loops ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_HOST_LOOPS_LOWERGENERIC_H
#define FASTK_LIB_CONVERSION_HOST_LOOPS_LOWERGENERIC_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace fastk {

/// On a parallel loop that was cut into pieces: the scalar operations of all of
/// it, an i64, which the loops alone no longer tell.
inline constexpr llvm::StringLiteral kWorkAttr = "fastk.work";

/// On a sum of products: its result has been zero, as of a fill that is not
/// there any more, and nothing was written.
inline constexpr llvm::StringLiteral kFromZeroAttr = "fastk.from_zero";
/// A sum of so many products is done by the packed loop nest in one pass: a
/// panel of nr columns and this depth stays in the first cache (32 KB).
inline constexpr int64_t kPackedDepth = 256;

/// What the two ways to loops have to know.
struct LoopOptions {
  /// Width of a SIMD register in bytes.
  unsigned vectorBytes = 16;
  /// Allows sums in another order and fused multiply-adds. Both keep the ieee
  /// class; the oracle does without.
  bool relaxed = true;
  /// Whether there may be more than one thread.
  bool hasThreads = true;
};

/// Replaces `op` by a packed, register-tiled loop nest when it is a sum of
/// products in f32 or f64 with rows and columns: matmul, batch matmul with any
/// operand transposed, convolution with any stride. What is computed on an
/// operand before the product (a conversion, a scale) is done while packing.
/// False when `op` is none of these or too small; it is then unchanged.
bool lowerContraction(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp op,
                      const LoopOptions &options);

/// Replaces `op` by loops that LLVM can vectorise: accumulators in registers,
/// the unit stride innermost, every part of the body in the outermost loop that
/// it depends on, and parallel loops outside.
mlir::LogicalResult lowerToLoops(mlir::RewriterBase &rewriter,
                                 mlir::linalg::GenericOp op,
                                 const LoopOptions &options);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOST_LOOPS_LOWERGENERIC_H
