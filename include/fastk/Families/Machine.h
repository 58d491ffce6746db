//===- Machine.h - The machine that C is written for ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_MACHINE_H
#define FASTK_FAMILIES_MACHINE_H

#include <cstdint>

namespace fastk {
struct TargetDescription;
} // namespace fastk

namespace fastk::catalog {

/// The machine a kernel is made for.
struct Machine {
  /// 16, 32 or 64.
  unsigned vectorBytes = 16;
  unsigned threads = 1;
  int64_t l1Bytes = 32 << 10, l2Bytes = 512 << 10, l3Bytes = 8 << 20;

  /// Vectors are narrower than those that it has.
  bool isNarrowed = false;

  /// Lanes of a vector of f32.
  unsigned lanes() const { return vectorBytes / 4; }
  /// Whether lanes may be masked by registers, as AVX-512 has them.
  bool masksByRegisters() const { return vectorBytes == 64 || isNarrowed; }
};

Machine machineOf(const TargetDescription &host);

} // namespace fastk::catalog

#endif // FASTK_FAMILIES_MACHINE_H
