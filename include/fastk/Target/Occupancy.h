//===- Occupancy.h - Blocks of a launch on a multiprocessor -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TARGET_OCCUPANCY_H
#define FASTK_TARGET_OCCUPANCY_H

#include "fastk/Target/DeviceDescription.h"
#include <cstdint>
#include <string>

namespace fastk {

/// Blocks of a launch on one multiprocessor.
struct Occupancy {
  int64_t blocks = 0;
  int64_t warps = 0;
  /// Of the warps that a multiprocessor can hold, 0 to 1.
  double share = 0;
  /// "registers", "shared memory", "threads", "blocks".
  std::string limiter;
};

/// Of blocks of \p threads threads with \p registers each and \p sharedBytes,
/// static and dynamic. Zero blocks: it does not fit.
Occupancy computeOccupancy(const DeviceDescription &device, int64_t threads,
                           int64_t registers, int64_t sharedBytes);

} // namespace fastk

#endif // FASTK_TARGET_OCCUPANCY_H
