//===- Statistics.cpp - Medians and their confidence ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Statistics.h"
#include "Values/Random.h"
#include <algorithm>
#include <cmath>

using namespace fastk::worker;

double fastk::worker::quantile(std::vector<double> values, double q) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  double position = q * double(values.size() - 1);
  auto below = size_t(position);
  size_t above = std::min(below + 1, values.size() - 1);
  double weight = position - double(below);
  return values[below] * (1 - weight) + values[above] * weight;
}

Timing fastk::worker::summarize(const std::vector<double> &ns) {
  return {quantile(ns, 0.5), quantile(ns, 0.1), quantile(ns, 0.9),
          int64_t(ns.size())};
}

Ratio fastk::worker::pairedRatio(const std::vector<double> &slow,
                                 const std::vector<double> &fast,
                                 uint64_t seed) {
  std::vector<double> logs;
  for (size_t i = 0; i < std::min(slow.size(), fast.size()); ++i)
    logs.push_back(std::log(slow[i] / fast[i]));
  if (logs.empty())
    return {};
  constexpr size_t resamples = 1000;
  std::vector<double> medians, draw(logs.size());
  medians.reserve(resamples);
  uint64_t counter = 0;
  for (size_t k = 0; k < resamples; ++k) {
    for (double &value : draw)
      value = logs[bitsAt(seed, counter++) % logs.size()];
    auto middle = draw.begin() + ptrdiff_t(draw.size() / 2);
    std::nth_element(draw.begin(), middle, draw.end());
    double median = *middle;
    if (draw.size() % 2 == 0)
      median = (median + *std::max_element(draw.begin(), middle)) / 2;
    medians.push_back(median);
  }
  return {std::exp(quantile(logs, 0.5)), std::exp(quantile(medians, 0.025)),
          std::exp(quantile(medians, 0.975))};
}
