//===- Random.cpp - Random numbers by position ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Random.h"
#include <sys/random.h>

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

const NormalTable &NormalTable::get() {
  static const NormalTable table;
  return table;
}

NormalTable::NormalTable() {
  middle[0] = middle[entries] = 0;
  for (size_t i = 1; i < entries; ++i)
    middle[i] = inverseNormal(double(i) / entries);
  middle[entries / 2] = 0; // exactly, whatever the iteration rounded to
  outer[0] = 0;
  for (size_t i = 1; i <= outerEntries; ++i)
    outer[i] = inverseNormal(double(i) / (double(entries) * fine));
}

double NormalTable::outside(uint64_t bits) const {
  // By symmetry: the lower tail, and its mirror image.
  bool upper = bits >> 63;
  uint64_t low = upper ? ~bits : bits;
  size_t index = low >> (52 - fineBits);
  double x;
  if (index < tail) {
    x = inverseNormal(uniformOf(low));
  } else {
    double fraction = double(low & ((uint64_t(1) << (52 - fineBits)) - 1)) *
                      (1.0 / double(uint64_t(1) << (52 - fineBits)));
    x = outer[index] + fraction * (outer[index + 1] - outer[index]);
  }
  return upper ? -x : x;
}

double fastk::worker::normalOf(uint64_t bits) {
  return NormalTable::get().at(bits);
}
