//===- IndexSet.h - Sets of tensor and loop indices -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The roofline needs exact numbers of points: those of a convolution's window
// that lie in the image, those that a causal mask leaves. Both are boxes cut by
// linear inequalities.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_INDEXSET_H
#define FASTK_LIB_ANALYSIS_INDEXSET_H

#include "fastk/Dialect/Linalg/LinearForm.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace fastk {

/// A subset of [0, size). Parts of dimensions longer than kTracked are known up
/// to there only: what lies beyond is left out, so counts never say too much.
class DimSet {
public:
  static constexpr int64_t kTracked = 1 << 24;
  static DimSet all(int64_t size) { return DimSet(size); }
  static DimSet none(int64_t size);
  int64_t size() const { return extent; }
  bool isAll() const { return !bits; }
  int64_t count() const { return bits ? bits->count() : extent; }
  bool contains(int64_t i) const {
    return !bits || (i < static_cast<int64_t>(bits->size()) && bits->test(i));
  }
  void insert(int64_t i);
  /// Members in [low, high].
  int64_t countBetween(int64_t low, int64_t high) const;
  bool isSubsetOf(const DimSet &other) const;
  void intersect(const DimSet &other);
  void unite(const DimSet &other);
  llvm::SmallVector<int64_t> members() const;
  /// Forgets the bits when all are set: counting is then immediate.
  void normalize();

private:
  explicit DimSet(int64_t size) : extent(size) {}
  int64_t extent;
  /// Absent: all of them.
  std::optional<llvm::BitVector> bits;
};

/// Each of these is >= 0.
using Constraints = llvm::SmallVector<LinearForm, 2>;
/// A constraint that nothing meets.
LinearForm never(unsigned dims);
/// Appends those of `from` that `to` does not hold yet.
void addConstraints(Constraints &to, const Constraints &from);

using Box = llvm::SmallVector<DimSet, 4>;

/// Points of the projection to `dims` of the part of `box` that meets the
/// constraints. Exact while each connected group of constraints spans two
/// dimensions (or three, when small); zero where it would be too large to
/// count, so it never says too much.
double countPoints(const Box &box, const Constraints &constraints,
                   const llvm::BitVector &dims);

/// Shrinks each dimension to the indices that some point uses.
void project(Box &box, const Constraints &constraints);

} // namespace fastk

#endif // FASTK_LIB_ANALYSIS_INDEXSET_H
