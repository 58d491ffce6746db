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

const NormalTable &NormalTable::get() {
  static const NormalTable table;
  return table;
}

NormalTable::NormalTable() {
  constexpr uint64_t entries = NormalEntries::entries;
  constexpr uint64_t outerEntries = NormalEntries::outerEntries;
  middle[0] = middle[entries] = 0;
  for (uint64_t i = 1; i < entries; ++i)
    middle[i] = inverseNormal(double(i) / entries);
  middle[entries / 2] = 0; // exactly, whatever the iteration rounded to
  outer[0] = 0;
  for (uint64_t i = 1; i <= outerEntries; ++i)
    outer[i] =
        inverseNormal(double(i) / double(entries << NormalEntries::fineBits));
}

double fastk::worker::normalOf(uint64_t bits) {
  return NormalTable::get().at(bits);
}
