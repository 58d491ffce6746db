//===- Window.h - What windows move over ---------------------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_WINDOW_H
#define FASTK_LIB_FAMILIES_WINDOW_H

#include "fastk/Families/Convolution.h"
#include "llvm/ADT/SmallBitVector.h"

namespace fastk::families {

/// A tensor, and which element of it a factor is.
struct WindowSource {
  mlir::Value tensor;
  /// In coordinates in which neighbours are `dilations` apart.
  llvm::SmallVector<catalog::Lin> index;
  llvm::SmallVector<int64_t> dilations;
  /// An element that is not there is 0.
  bool isPadded = false;
};

/// What a factor is moved from, below the zeros that surround it or are
/// between its elements. Nothing: the factor is computed where it is summed.
std::optional<WindowSource> sourceOf(const SummedProducts &products,
                                     mlir::Value factor);

/// An axis, and the dimension of the source that it is.
struct WindowAxis {
  ConvolutionAxis axis;
  unsigned dim = 0;
};

/// The axes of what a factor is moved from: dimensions that coordinates of the
/// result and of a kernel share, in the result's order. `own` are variables
/// that the factor moves with, `other` those of the other factor. Nothing:
/// \p why says what is no window.
std::optional<llvm::SmallVector<WindowAxis>>
findAxes(const SummedProducts &products, const WindowSource &source,
         const llvm::SmallBitVector &own, const llvm::SmallBitVector &other,
         std::string &why);

/// Of a source without windows: the innermost coordinate of the result that the
/// other factor does not have and that is a dimension of the source, as an axis
/// with a kernel of one element.
std::optional<WindowAxis> findRow(const SummedProducts &products,
                                  const WindowSource &source,
                                  const llvm::SmallBitVector &own,
                                  const llvm::SmallBitVector &other);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_WINDOW_H
