//===- Random.cpp - Random numbers by position ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Random.h"
#include <sys/random.h>
#include <vector>

using namespace fastk::worker;

uint64_t fastk::worker::secretSeed() {
  uint64_t seed = 0;
  while (getrandom(&seed, sizeof(seed), 0) != ssize_t(sizeof(seed)))
    ;
  return seed;
}

/// The value that N(0, 1) stays below with probability \p p, by Newton's method
/// on erfc from a start that is right to 4.5e-4 (Abramowitz and
/// Stegun 26.2.23).
static double inverseNormal(double p) {
  double tail = p < 0.5 ? p : 1 - p;
  double t = std::sqrt(-2 * std::log(tail));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                     (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int i = 0; i < 2; ++i) {
    double error = 0.5 * std::erfc(x * 0.7071067811865476) - tail;
    x += error / (0.3989422804014327 * std::exp(-0.5 * x * x));
  }
  return p < 0.5 ? -x : x;
}

double fastk::worker::normalOf(uint64_t bits) {
  // Between two entries the function is a straight line to 1e-4, but for the
  // outermost entries, where it is computed.
  constexpr size_t entries = 4096, tail = 32;
  static const std::vector<double> table = [] {
    std::vector<double> values(entries + 1);
    for (size_t i = 1; i < entries; ++i)
      values[i] = inverseNormal(double(i) / entries);
    return values;
  }();
  size_t index = bits >> 52;
  if (index < tail || index >= entries - tail)
    return inverseNormal(uniformOf(bits));
  double fraction = double(bits & 0xfffffffffffffu) * 0x1p-52;
  return table[index] + fraction * (table[index + 1] - table[index]);
}
