//===- WindowCore.h - Workloads that reduce windows -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The core "window": of all that a workload computes, one op combines the
// elements of windows that move over one to three dimensions,
//
//   sum[o, z, y, x] = combine over (kz, ky, kx) of
//     e(o, z * stride + kz * dilation, y * ... , x * ...)
//
// by a sum, a product or an extremum, and everything else is pointwise: what
// makes an element, pads among it, and what becomes of a sum. Nothing weighs
// elements by their place in a window: poolings and their like. It is found by
// what elements are asked for, so layouts and spellings are no other workload.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_WINDOWCORE_H
#define FASTK_FAMILIES_WINDOWCORE_H

#include "fastk/Families/Core.h"
#include "fastk/Families/PlacedLoad.h"
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace fastk::families {

/// One dimension that windows move over.
struct SlidingAxis {
  /// Variables of the result's and of the window's coordinate. Nothing: the
  /// extent is 1.
  std::optional<unsigned> var, windowVar;
  int64_t out = 1, window = 1;
  /// A window's element is at position stride * result + dilation * window.
  int64_t stride = 1, dilation = 1;
  /// The variable of positions; nothing where there is one.
  std::optional<unsigned> position;

  int64_t positions() const {
    return (out - 1) * stride + (window - 1) * dilation + 1;
  }
};

struct WindowCore {
  mlir::Value result;
  catalog::Elem resultElem = catalog::Elem::F32;
  /// What combines, and the type of what it makes.
  catalog::Reduction reduction;
  catalog::Elem elem = catalog::Elem::F32;
  /// z, y, x: the last ones are those that there are, in the result's order.
  std::array<SlidingAxis, 3> axes;
  /// Variables of the result of more than one value that are of no axis,
  /// outermost first. The last of all is the channel, where it is the innermost
  /// of the result.
  llvm::SmallVector<unsigned> outer;
  std::optional<unsigned> channel;
  int64_t outerCount = 1, channelCount = 1;
  /// Of the result's dimensions, and of the op's loops.
  llvm::SmallVector<catalog::Lin> index, loops;
  /// What is loaded to make an element, in `position` of axes, and for what
  /// becomes of a sum.
  std::vector<PlacedLoad> loads, finishLoads;
  /// Of what is outside of axes; and with the axes' positions.
  std::vector<catalog::MergedVars> merged, positions;
  /// Has the variables, and the workload's operands as buffers in0, in1, ...
  catalog::Program program{1, 1};
};

/// The body of a workload, in canonical form, as windows. Nothing: \p why says
/// what it is not.
std::optional<WindowCore> matchWindows(mlir::Block &body, std::string &why);

/// The header, and what a plan calls OUT. docs/families.md has the list of the
/// header's macros and functions. Nothing: \p why says what has no text.
std::optional<CoreInstance> describeCore(const WindowCore &core,
                                         std::string &why);
/// The same in C, for programs of a machine.
std::optional<CoreInstance> describeForHost(const WindowCore &core,
                                            const catalog::Machine &machine,
                                            std::string &why);

} // namespace fastk::families

#endif // FASTK_FAMILIES_WINDOWCORE_H
