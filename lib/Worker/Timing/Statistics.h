//===- Statistics.h - Medians and their confidence --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_TIMING_STATISTICS_H
#define FASTK_LIB_WORKER_TIMING_STATISTICS_H

#include "fastk/Protocol/Verdict.h"
#include <cstdint>
#include <vector>

namespace fastk::worker {

/// The \p q quantile, 0 to 1, of a non-empty sample, interpolated.
double quantile(std::vector<double> values, double q);

Timing summarize(const std::vector<double> &ns);

/// The median of slow[i] / fast[i], computed on logarithms, with a bootstrap
/// 95 % interval. Samples are paired by block: slow drift cancels.
Ratio pairedRatio(const std::vector<double> &slow,
                  const std::vector<double> &fast, uint64_t seed);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_TIMING_STATISTICS_H
