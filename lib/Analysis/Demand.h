//===- Demand.h - What of a value is needed ---------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_DEMAND_H
#define FASTK_LIB_ANALYSIS_DEMAND_H

#include "IndexSet.h"
#include <optional>

namespace fastk {

/// The part of a value, or of a linalg op's loops, that is needed: a box cut by
/// constraints. `fraction` is what is left of it where the rest has no such
/// form.
struct Demand {
  Box box;
  Constraints constraints;
  double fraction = 1;
  /// Of these, the share that no data can make needless.
  double certain = 1;

  static Demand all(llvm::ArrayRef<int64_t> shape);
  double points() const;
};

/// Adds another use. Two uses that are no subsets of one another, nor differ in
/// one dimension alone, leave the larger: never more than what is needed.
void mergeDemand(std::optional<Demand> &into, const Demand &use);

/// What the linear form takes as values over the box, as a subset of
/// [0, size).
DimSet image(const LinearForm &form, const Box &box, int64_t size);

} // namespace fastk

#endif // FASTK_LIB_ANALYSIS_DEMAND_H
