//===- Roofline.h - Bytes, operations and floor of a workload ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel must at least do, from indexing maps and iteration domains. The
// conventions are in docs/analysis.md; the rule behind all of them is that a
// floor is a lower bound: what a legal kernel can leave out is not charged.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_ANALYSIS_ROOFLINE_H
#define FASTK_ANALYSIS_ROOFLINE_H

#include "fastk/Target/TargetDescription.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>

namespace fastk {

enum class Precision : uint32_t;

/// Scalar operations by kind. Counts are doubles: they pass 2^53 only for
/// domains that no machine finishes.
struct OperationCounts {
  /// Pairs of a multiplication and the addition into an accumulator.
  double multiplyAdd = 0;
  /// Additions and subtractions of floats, alone.
  double addSub = 0;
  double multiply = 0;
  /// Divisions of floats. A division by a value that is broadcast counts as a
  /// multiplication by its reciprocal, and the reciprocals as divisions.
  double divide = 0;
  /// Comparisons, selects, minima and maxima of floats.
  double compare = 0;
  /// sqrt and rsqrt.
  double squareRoot = 0;
  /// exp, log, tanh, erf, pow, sin, ...
  double transcendental = 0;
  /// Conversions between number types, of values that are not constants.
  double conversion = 0;
  /// Integer arithmetic on values (not on indices).
  double integer = 0;
  /// Sign changes, and additions, multiplications and divisions that have a
  /// constant operand: they fold into a neighbour, so the floor leaves them
  /// out.
  double foldable = 0;

  /// Floating-point operations as customary: two for each multiplyAdd, one for
  /// every other one but conversions.
  double flops() const;
  OperationCounts &operator+=(const OperationCounts &other);
};

enum class Bound { Memory, Compute };
llvm::StringRef stringify(Bound bound);

/// Where the operands are when the clock starts.
enum class CacheState {
  /// Anywhere, the caches included: a working set that fits costs no memory
  /// traffic. Always valid.
  Warm,
  /// In memory: what is read comes over the memory bus. Valid when operands are
  /// flushed before every sample.
  Cold
};

/// The error class that a kernel may use up; as fastk::Precision, which the
/// dialect owns.
enum class RooflinePrecision { IEEE, TF32, Half };
RooflinePrecision toRoofline(Precision precision);

struct Roofline {
  /// Bytes of the operands that are really read (conv windows, slices), each
  /// once.
  int64_t readBytes = 0;
  /// Bytes of the results, each once.
  int64_t writtenBytes = 0;
  /// Bytes of all operands and results, read or not.
  int64_t footprintBytes = 0;
  /// Live operations of the pattern, without masked elements, padding, dead
  /// values and duplicates.
  OperationCounts ops;

  /// What the floor charges, by the type that is multiplied or computed on.
  /// Multiply-adds of contractions and convolutions, reduced for those whose
  /// fast algorithms (Winograd) do with fewer; without contractions that may be
  /// reassociated or collapsed with a linear consumer.
  double contraction16 = 0, contractionB16 = 0, contraction32 = 0,
         contraction64 = 0;
  /// All other float work: the largest of its groups (additions,
  /// multiplications, comparisons), for these can run side by side.
  double elementwise32 = 0, elementwise64 = 0;

  /// Ops of the body that the analysis knows nothing of, by name. Nothing is
  /// charged for them nor for what only they read.
  llvm::SmallVector<std::string, 2> unmodelled;

  int64_t compulsoryBytes() const { return readBytes + writtenBytes; }
  /// Operations (flops) per compulsory byte.
  double intensity() const;

  /// How the worker's timed calls find the operands: flushed, unless they are
  /// so large that it may leave that to the call before. The floor of what is
  /// timed is that of this state.
  CacheState timedCaches(const TargetDescription &target) const;

  /// Seconds that the bytes alone, and the arithmetic alone, take at least.
  double memorySeconds(const TargetDescription &target,
                       CacheState cache = CacheState::Warm) const;
  double
  computeSeconds(const TargetDescription &target,
                 RooflinePrecision precision = RooflinePrecision::IEEE) const;

  /// The time that no kernel of this precision beats on this device: the larger
  /// of the two. Zero where the target's rates are unknown.
  double
  floorSeconds(const TargetDescription &target,
               CacheState cache = CacheState::Warm,
               RooflinePrecision precision = RooflinePrecision::IEEE) const;
  Bound bound(const TargetDescription &target,
              CacheState cache = CacheState::Warm,
              RooflinePrecision precision = RooflinePrecision::IEEE) const;
};

/// Of a workload's body or a lowering's pattern, in canonical or original form:
/// any single block of linalg, tensor, arith and math ops on static shapes,
/// whose arguments are the operands and whose terminator returns the results.
/// Never modifies it.
Roofline computeRoofline(mlir::Region &pattern);
Roofline computeRoofline(mlir::Block &pattern);

} // namespace fastk

#endif // FASTK_ANALYSIS_ROOFLINE_H
