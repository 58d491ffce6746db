//===- Draw.h - Random choices of samples --------------------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_DRAW_H
#define FASTK_LIB_FAMILIES_DRAW_H

#include "fastk/Protocol/FloatFormulas.h"
#include <cstdint>
#include <initializer_list>
#include <random>

namespace fastk::families {

/// The choices of one sample, the same on every machine: a distribution of the
/// library would differ between libraries.
class Draw {
public:
  Draw(uint64_t seed, uint64_t number) : random(worker::bitsAt(seed, number)) {}

  uint64_t below(uint64_t count) { return random() % count; }
  bool oneIn(uint64_t count) { return below(count) == 0; }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }

private:
  std::mt19937_64 random;
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_DRAW_H
