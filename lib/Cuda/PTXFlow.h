//===- PTXFlow.h - What is under way at a statement -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CUDA_PTXFLOW_H
#define FASTK_LIB_CUDA_PTXFLOW_H

#include "PTXFunctions.h"
#include <functional>

namespace fastk::cuda {

/// On some way to a statement, or from it.
struct WgmmaState {
  /// A wgmma.fence without a wgmma.wait_group after it.
  bool isOpen = false;
  /// A wgmma.mma_async follows without a wgmma.fence before it: it counts on
  /// an earlier one.
  bool isAhead = false;
};

/// Before each statement.
std::vector<WgmmaState> wgmmaStates(const PTXFunction &function);
/// What of \p state is behind it follows \p each.
void step(const PTXStatement &each, WgmmaState &state);

/// Which statements another one jumps to.
std::vector<char> jumpTargets(const PTXFunction &function);

/// Sets of facts, a bit each: before every statement those that hold on some
/// way from the function's begin, where \p first hold. \p step gives those
/// behind a statement.
std::vector<unsigned> factsBefore(
    const PTXFunction &function, unsigned first,
    const std::function<unsigned(const PTXStatement &, unsigned)> &step);

} // namespace fastk::cuda

#endif // FASTK_LIB_CUDA_PTXFLOW_H
