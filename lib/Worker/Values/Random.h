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

#ifndef FASTK_LIB_WORKER_VALUES_RANDOM_H
#define FASTK_LIB_WORKER_VALUES_RANDOM_H

#include "ValueFormulas.h"

namespace fastk::worker {

/// The tables of N(0, 1), made once.
class NormalTable {
public:
  static const NormalTable &get();

  NormalEntries entries() const { return {middle, outer}; }
  double at(uint64_t bits) const { return entries().at(bits); }

private:
  NormalTable();

  double middle[NormalEntries::entries + 1];
  double outer[NormalEntries::outerEntries + 1];
};

/// N(0, 1): the inverse of its distribution function, by table but for the
/// tails; 53 bits reach 8 sigma.
double normalOf(uint64_t bits);

/// A seed nobody can guess.
uint64_t secretSeed();

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_VALUES_RANDOM_H
