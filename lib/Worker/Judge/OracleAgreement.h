//===- OracleAgreement.h - Do two oracles say the same ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two lowerings of one oracle, by other passes and with other libraries of
// functions, give other last bits, and where a result jumps other results. What
// is no compiler's fault must not be called one: docs/validation.md says why
// these rules see a wrong lowering and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_JUDGE_ORACLEAGREEMENT_H
#define FASTK_LIB_WORKER_JUDGE_ORACLEAGREEMENT_H

#include "Values/Trials.h"
#include <string>
#include <vector>

namespace fastk::worker {

/// One result of both oracles on the same operands. Floats are doubles.
struct OracleResults {
  const void *device;
  const void *host;
  /// The conditions of the host's; null where the job has none.
  const double *condition;
};

/// How one result of a trial compares.
struct OracleAgreement {
  bool agrees = true;
  /// Elements that were compared, and those of which nothing can be said.
  int64_t judged = 0, masked = 0;
  /// Elements farther apart than their bound, and those that are so in being
  /// NaN or infinite, or as integers.
  int64_t apart = 0, mismatches = 0;
  /// Elements farther apart than f64 explains, though no bound is broken.
  int64_t coarse = 0;
  /// The largest difference as a share of its bound; where the first element
  /// that differs too much is, or the largest.
  double share = 0;
  int64_t where = 0;
};

/// The trials on which oracles are compared, each so many times at most: whose
/// values are many and lie on no edge.
std::vector<Trial> drawComparisons(const Job &job, uint64_t seed);

/// Compares result \p output on a trial of \p law.
OracleAgreement compareResults(const Job &job, size_t output, Distribution law,
                               const OracleResults &results);

/// What is apart, with the values of an example: the rest of a sentence.
std::string describe(const Job &job, size_t output,
                     const OracleAgreement &agreement,
                     const OracleResults &results);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_JUDGE_ORACLEAGREEMENT_H
