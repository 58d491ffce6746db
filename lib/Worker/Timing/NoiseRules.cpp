//===- NoiseRules.cpp - Which blocks of calls count -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NoiseRules.h"
#include <algorithm>
#include <cmath>

using namespace fastk::worker;

std::vector<bool>
fastk::worker::keptBlocks(const std::vector<BlockNoise> &blocks,
                          double exposure) {
  double own = 0, trusted = 0, trustedCalls = 0;
  for (const BlockNoise &block : blocks) {
    own += block.candidate;
    trusted += block.trusted;
    trustedCalls += block.trustedCalls;
  }
  // A few are chance; three times what is expected is not.
  double rate = trustedCalls > 0 ? trusted / trustedCalls : 0;
  double believed =
      3 + 3 * rate * double(blocks.size()) * std::max(1.0, exposure);
  bool isBelieved = own <= believed;
  std::vector<bool> kept;
  kept.reserve(blocks.size());
  for (const BlockNoise &block : blocks)
    kept.push_back(block.trusted == 0 && !(block.candidate && isBelieved));
  return kept;
}

bool fastk::worker::isSurelyMost(size_t below, size_t pairs) {
  // A sign test by its normal limit.
  constexpr double never = 1e-6;
  double half = double(pairs) / 2;
  return pairs > 0 &&
         0.5 * std::erfc((double(below) - half) / std::sqrt(half)) <= never;
}

std::vector<double> fastk::worker::keptOf(const std::vector<double> &values,
                                          const std::vector<bool> &kept) {
  std::vector<double> result;
  for (size_t i = 0; i < std::min(values.size(), kept.size()); ++i)
    if (kept[i])
      result.push_back(values[i]);
  return result;
}
