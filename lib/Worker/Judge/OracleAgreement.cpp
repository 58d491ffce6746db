//===- OracleAgreement.cpp - Do two oracles say the same ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OracleAgreement.h"
#include "Judge.h"
#include "Values/Random.h"
#include <algorithm>
#include <cmath>

using namespace fastk::worker;

/// Each oracle may be off by what a kernel may be off by.
static constexpr double bothOff = 2;
/// Of an element's bound in f32: 2^-39 of its condition, 2^14 times what one
/// rounding to f64 is. More in most elements is arithmetic in f32.
static constexpr double coarseShare = 0x1p-18;
/// Without conditions: of an element and the mean of its row.
static constexpr double relativeBound = 1e-6;
/// Without conditions, and of integers, an edge that a rounding crosses cannot
/// be told from an error: this share of the elements may lie at one.
static constexpr double edges = 1.0 / 8;

std::vector<Trial> fastk::worker::drawComparisons(const Job &job,
                                                  uint64_t seed) {
  // Equal values, ties, zeros and breakpoints sit on edges on purpose; NaN,
  // infinities and denormals are compared op by op (docs/ops.md).
  static constexpr Distribution laws[] = {
      Distribution::Normal,   Distribution::Shifted,   Distribution::Scaled,
      Distribution::Pareto,   Distribution::Mixed,     Distribution::Mean1000,
      Distribution::Logits80, Distribution::Negatives, Distribution::Bands};
  std::vector<Trial> cases;
  for (const Trial &trial : drawTrials(job, seed).cases)
    if (std::find(std::begin(laws), std::end(laws), trial.law) !=
        std::end(laws))
      cases.push_back(trial);
  return cases;
}

static OracleAgreement compareIntegers(const Tensor &tensor, Distribution law,
                                       const OracleResults &results) {
  Measure m = compareExact(tensor, results.device, results.host);
  OracleAgreement agreement;
  agreement.judged = tensor.elements();
  agreement.apart = agreement.mismatches = m.mismatches;
  agreement.where = m.where;
  agreement.agrees =
      !isCore(law) || double(m.mismatches) <= edges * double(agreement.judged);
  return agreement;
}

/// Whether integers take part in the arithmetic: what they make sits on edges
/// more often than by chance.
static bool computesWithIntegers(const Job &job) {
  return std::any_of(
      job.inputs.begin(), job.inputs.end(), [](const Tensor &input) {
        return !isFloat(input.type) && input.role != Role::Index &&
               input.role != Role::Mask;
      });
}

OracleAgreement fastk::worker::compareResults(const Job &job, size_t output,
                                              Distribution law,
                                              const OracleResults &results) {
  const Tensor &tensor = job.outputs[output];
  if (!isFloat(tensor.type))
    return compareIntegers(tensor, law, results);
  ErrorRule rule = errorRuleOf(job, output, ErrorContext());
  bool isSingle = rule.ieee > 8 * 0x1p-52;
  if (!results.condition) {
    rule.ieee = relativeBound;
    rule.relative = 2;
  }
  rule.ieee *= bothOff;
  // Of the result's type nothing is asked: both are doubles.
  rule.largest = largestValue(ElementType::F64);
  OracleAgreement agreement;
  const auto *device = static_cast<const double *>(results.device);
  const auto *host = static_cast<const double *>(results.host);
  int64_t row = scaleRowOf(tensor), elements = tensor.elements();
  for (int64_t first = 0; first < elements; first += row) {
    int64_t last = std::min(first + row, elements), finite = 0;
    double mean = 0;
    for (int64_t i = first; i < last; ++i)
      if (std::isfinite(host[i])) {
        mean += std::fabs(host[i]);
        ++finite;
      }
    mean = finite ? mean / double(finite) : 0;
    for (int64_t i = first; i < last; ++i) {
      ElementError e =
          judgeElement(rule, device[i], host[i],
                       results.condition ? results.condition[i] : 0, mean);
      if (e.judged == Judged::Masked) {
        ++agreement.masked;
        continue;
      }
      ++agreement.judged;
      bool differs = e.judged == Judged::Mismatch;
      agreement.mismatches += differs;
      if (e.judged == Judged::Finite) {
        differs = e.error > e.ieee;
        agreement.coarse += e.error > coarseShare * e.ieee;
      }
      if ((differs && agreement.apart == 0) ||
          (agreement.apart == 0 && e.error > agreement.share * e.ieee))
        agreement.where = i;
      raiseShare(agreement.share, e.error, e.ieee);
      agreement.apart += differs;
    }
  }
  if (!results.condition) {
    agreement.agrees = !isCore(law) || double(agreement.apart) <=
                                           edges * double(agreement.judged);
    return agreement;
  }
  bool isCoarse = isCore(law) && isSingle && !computesWithIntegers(job) &&
                  2 * agreement.coarse > agreement.judged;
  agreement.agrees = agreement.apart == 0 && !isCoarse;
  return agreement;
}

std::string fastk::worker::describe(const Job &job, size_t output,
                                    const OracleAgreement &agreement,
                                    const OracleResults &results) {
  const Tensor &tensor = job.outputs[output];
  auto valueOf = [&](const void *data) {
    return loadElement(isFloat(tensor.type) ? ElementType::F64 : tensor.type,
                       data, agreement.where);
  };
  bool isApart = agreement.apart > 0;
  char text[400];
  snprintf(text, sizeof(text),
           "result %zu: %lld of %lld elements differ by more than %s; element "
           "%lld is %.17g on the device and %.17g on the host",
           output, (long long)(isApart ? agreement.apart : agreement.coarse),
           (long long)agreement.judged,
           !isFloat(tensor.type) ? "nothing"
           : isApart             ? "any kernel may be off by"
                                 : "arithmetic in f64 explains",
           (long long)agreement.where, valueOf(results.device),
           valueOf(results.host));
  return text;
}
