//===- NoiseRules.h - Which blocks of calls count ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_TIMING_NOISERULES_H
#define FASTK_LIB_WORKER_TIMING_NOISERULES_H

#include <cstddef>
#include <vector>

namespace fastk::worker {

/// What a block of calls, one of each program, suffered.
struct BlockNoise {
  /// The candidate's call was disturbed.
  bool candidate = false;
  /// Calls of trusted programs, and how many of them were disturbed.
  int trusted = 0, trustedCalls = 0;
};

/// For each block whether it counts. A block in which any call was disturbed
/// does not: times are compared in pairs.
///
/// What disturbs a call is in part the program's own doing: one that has more
/// threads than it may use makes them wait for each other, and could so have
/// its slow calls left out. So what the candidate suffers alone is believed as
/// far as trusted programs suffer, too: \p exposure is how much longer its
/// calls take than theirs. Beyond that its own disturbances count as its time.
std::vector<bool> keptBlocks(const std::vector<BlockNoise> &blocks,
                             double exposure);

/// Whether so many of \p pairs, \p below of them, lie below a bound that more
/// than half of them do for certain. None of few pairs is certain.
bool isSurelyMost(size_t below, size_t pairs);

/// The values of the kept blocks.
std::vector<double> keptOf(const std::vector<double> &values,
                           const std::vector<bool> &kept);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_TIMING_NOISERULES_H
