//===- VerdictNumbers.h - What is counted of a verdict ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_VERDICTNUMBERS_H
#define FASTK_PROTOCOL_VERDICTNUMBERS_H

#include "fastk/Protocol/Verdict.h"
#include <string>
#include <utility>
#include <vector>

namespace fastk::worker {

/// A number that a verdict adds to a counter, or is the last of a gauge: the
/// counter's name ends in "_total".
struct VerdictNumber {
  std::string name, help;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

/// What those who watch are told of a verdict: that it was one of its status,
/// the seconds of each phase, and what its GPU was like. Metrics are called
/// "PREFIX_evaluations_total" and so on.
std::vector<VerdictNumber> numbersOf(const Verdict &verdict,
                                     const std::string &prefix);

/// The counters that every process has from its beginning, at 0: where a series
/// first appears at 1, Prometheus' rate() does not see that one.
std::vector<VerdictNumber> zeroNumbers(const std::string &prefix);

} // namespace fastk::worker

#endif // FASTK_PROTOCOL_VERDICTNUMBERS_H
