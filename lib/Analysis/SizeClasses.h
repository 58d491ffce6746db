//===- SizeClasses.h - Which dimensions belong together ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes of dimensions and loops as numbers that depend on each other: equal
// ones are a class, and classes are bound by sums (the rows of a convolution's
// image, of its result and of its window) and by products (a reshape). From
// sizes that fulfil all this, smaller ones are made that do so, too.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_SIZECLASSES_H
#define FASTK_LIB_ANALYSIS_SIZECLASSES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <utility>

namespace fastk {

class SizeClasses {
public:
  /// A number of this size, of a class of its own.
  unsigned add(int64_t size);
  /// Both are always equal. Of different sizes they are kept instead.
  void unite(unsigned a, unsigned b);
  /// The number stays what it is.
  void keep(unsigned a);
  /// A change of the numbers by d keeps the sum of factor times d at 0.
  void bind(llvm::ArrayRef<std::pair<unsigned, int64_t>> terms);
  /// `whole` is the product of `parts`.
  void bindProduct(unsigned whole, llvm::ArrayRef<unsigned> parts);

  int64_t sizeOf(unsigned a) const { return sizes[find(a)]; }
  /// Makes what is larger than `limit` smaller, to `limit` and little less
  /// where its class is free.
  void shrinkTo(int64_t limit);

private:
  /// One change of several classes at once, that breaks no bond.
  using Step = llvm::SmallVector<std::pair<unsigned, int64_t>>;

  unsigned find(unsigned a) const;
  bool shrinkOnce(int64_t limit);
  bool apply(const Step &step, unsigned leading, int64_t limit);

  mutable llvm::SmallVector<unsigned> parents;
  /// Of classes, at their representatives.
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<bool> kept;
  llvm::SmallVector<llvm::SmallVector<std::pair<unsigned, int64_t>>> sums;
  llvm::SmallVector<std::pair<unsigned, llvm::SmallVector<unsigned>>> products;
};

} // namespace fastk

#endif // FASTK_LIB_ANALYSIS_SIZECLASSES_H
