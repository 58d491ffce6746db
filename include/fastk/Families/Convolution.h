//===- Convolution.h - Workloads that move a window -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The core "convolution": of all that a workload computes, one op sums
//
//   sum[n, g, o, z, y, x] = sum over c, kz, ky, kx of
//     X[n, g, c, window of z and kz, of y and ky, of x and kx] *
//     W[g, o, c, kz, ky, kx],
//
// where a window is stride * x + dilation * kx - padding. X is 0 outside of
// what it has, and between its elements where a transposed convolution spreads
// them. Everything else is elementwise. It is found by indexing maps, iterator
// types and what moves elements. n, g, o and c are groups of loops, each walked
// as one index, its last loop fastest; there are up to three axes.
//
// A product of f32 is one, too, on GPUs, with a kernel of one element: TF32 may
// be allowed for convolutions alone, and those of one pixel are among them.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_CONVOLUTION_H
#define FASTK_FAMILIES_CONVOLUTION_H

#include "fastk/Families/Core.h"
#include "fastk/Families/SummedProducts.h"
#include <array>
#include <optional>
#include <string>

namespace fastk::families {

/// One dimension that windows move over.
struct ConvolutionAxis {
  /// Variables of X's, the result's and the kernel's coordinate. Nothing: the
  /// extent is 1.
  std::optional<unsigned> inputVar, var, kernelVar;
  int64_t in = 1, out = 1, kernel = 1;
  /// An element of the result and of the kernel meet X at stride * result +
  /// dilation * kernel - padding, in coordinates in which neighbours of X are
  /// `inputDilation` apart.
  int64_t stride = 1, dilation = 1, padding = 0, inputDilation = 1;
};

/// Where X, W or the result lies, if its elements are those of a buffer, at one
/// stride for each coordinate.
struct ConvolutionPlace {
  bool isPlain = false;
  unsigned input = 0;
  int64_t offset = 0;
  /// In elements. Of X: n, g, c, z, y, x; of W: g, o, c, kz, ky, kx; of the
  /// result: n, g, o, z, y, x.
  std::array<int64_t, 6> strides = {}, extents = {};
};

struct Convolution : SummedProducts {
  /// The factors, and the types of their elements.
  mlir::Value xFactor, wFactor;
  /// False: a product. Kernels are of one element, or the window is all of X.
  bool hasWindow = true;
  catalog::Elem xElem = catalog::Elem::F32, wElem = catalog::Elem::F32;
  /// Variables of each group, outermost first; and the extents of the groups.
  llvm::SmallVector<unsigned> batch, groups, outChannels, inChannels;
  int64_t batchSize = 1, groupCount = 1, outChannelCount = 1,
          inChannelCount = 1;
  /// z, y, x.
  std::array<ConvolutionAxis, 3> axes;
  /// X without the zeros: a tensor, and its element at n, g, c and the axes'
  /// `inputVar`.
  mlir::Value input;
  llvm::SmallVector<catalog::Lin> inputIndex;
  ConvolutionPlace x, w, out;
};

/// The body of a workload, in canonical form, as a convolution. Nothing: \p why
/// says what it is not.
std::optional<Convolution> matchConvolution(mlir::Block &body,
                                            std::string &why);

/// The header, and what a plan calls X, W and OUT. docs/families.md has the
/// list of the header's macros and functions. Nothing: \p why says what has no
/// text.
std::optional<CoreInstance> describeCore(const Convolution &convolution,
                                         std::string &why);
/// The header of a C program for it, on one machine. A product has none.
std::optional<CoreInstance> describeForHost(const Convolution &convolution,
                                            const catalog::Machine &machine,
                                            std::string &why);

} // namespace fastk::families

#endif // FASTK_FAMILIES_CONVOLUTION_H
