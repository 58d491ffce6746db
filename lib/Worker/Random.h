//===- Random.h - Random numbers by position --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number at a position depends on seed and position alone: any part of an
// input can be made again, on any thread, without keeping a copy.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_RANDOM_H
#define FASTK_LIB_WORKER_RANDOM_H

#include <cmath>
#include <cstdint>

namespace fastk::worker {

/// The finaliser of splitmix64: every bit of the result depends on every bit
/// of the argument.
inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The bits at a position are mix(streamOf(seed) + index).
inline uint64_t streamOf(uint64_t seed) {
  return mix(seed ^ 0x5851f42d4c957f2du);
}

inline uint64_t bitsAt(uint64_t seed, uint64_t index) {
  return mix(streamOf(seed) + index);
}

/// In (0, 1).
inline double uniformOf(uint64_t bits) {
  return (double(bits >> 11) + 0.5) * 0x1p-53;
}

/// The inverse of the distribution function of N(0, 1). Between two entries it
/// is a straight line to 1e-4; towards the tails a finer table takes over, and
/// beyond that one, once in 16384, it is computed.
class NormalTable {
public:
  static const NormalTable &get();

  double at(uint64_t bits) const {
    size_t index = bits >> 52;
    if (index < tail || index >= entries - tail)
      return outside(bits);
    double fraction = double(int64_t(bits & 0xfffffffffffffu)) * 0x1p-52;
    return middle[index] + fraction * (middle[index + 1] - middle[index]);
  }

private:
  static constexpr size_t entries = 4096, tail = 32;
  static constexpr int fineBits = 8;
  static constexpr size_t fine = size_t(1) << fineBits;
  static constexpr size_t outerEntries = tail * fine;

  NormalTable();
  double outside(uint64_t bits) const;

  double middle[entries + 1];
  double outer[outerEntries + 1];
};

/// N(0, 1): the inverse of its distribution function, by table but for the
/// tails; 53 bits reach 8 sigma.
double normalOf(uint64_t bits);

/// A seed nobody can guess.
uint64_t secretSeed();

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_RANDOM_H
