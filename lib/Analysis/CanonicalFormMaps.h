//===- CanonicalFormMaps.h - An order of indexing maps ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_CANONICALFORMMAPS_H
#define FASTK_LIB_ANALYSIS_CANONICALFORMMAPS_H

#include "mlir/IR/AffineMap.h"

namespace fastk::canonical {

/// Less than, equal to or greater than zero as `a` comes before, is or comes
/// after `b`. Result by result, the one with the outer loop comes first, a
/// constant comes after any loop, and a prefix after what it is a prefix of. So
/// a contraction keeps its left operand on the left, a convolution its image
/// before its filter, and a bias follows what it is added to: upstream's
/// matchers of contractions and convolutions rely on it.
int compareMaps(mlir::AffineMap a, mlir::AffineMap b);

} // namespace fastk::canonical

#endif // FASTK_LIB_ANALYSIS_CANONICALFORMMAPS_H
