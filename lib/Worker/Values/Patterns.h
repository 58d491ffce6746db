//===- Patterns.h - What programs find where nothing is for them -*- C++
//-*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes around buffers and in results and workspaces that nobody has
// written yet. They depend on a key, which is new for each call and never
// leaves the worker before it, and on their place alone: nobody can assume
// them, and the worker can look for changes without a copy. Host and NVRTC
// compile this file, behind ValueFormulas.h.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_VALUES_PATTERNS_H
#define FASTK_LIB_WORKER_VALUES_PATTERNS_H

#ifndef __CUDACC_RTC__
#include "ValueFormulas.h"
#endif

namespace fastk::worker {

enum class Pattern : uint32_t {
  /// Around buffers: any bits.
  Canary,
  /// Results before a call: NaN in every float type, with random payloads.
  Poison,
  /// Workspaces before a call. In three of eight calls lines of 64 bytes are
  /// NaN or any bits: as numbers any bits often vanish beside others, NaN do
  /// not. In the others most lines are subnormal in every float type, as memory
  /// that held integers is. Many processors take tens of times as long over
  /// these, but not beside a NaN: so a kernel that computes on what it never
  /// wrote is slow in the median call.
  Undefined
};

/// Of the 64 bytes whose place begins at byte 64 * \p line. The lowest bit: the
/// call has NaN in its workspaces.
FASTK_FORMULA uint64_t patternLine(uint64_t key, uint64_t line) {
  uint64_t hasNaN = (key & 7) < 3;
  return (bitsAt(key, line) & ~uint64_t(1)) | hasNaN;
}

/// The 8 bytes of a pattern whose place begins at byte 8 * \p index; \p line is
/// patternLine(key, index / 8).
FASTK_FORMULA uint64_t patternWord(Pattern pattern, uint64_t line,
                                   uint64_t index) {
  // Exponents of all types, and a bit of each mantissa.
  constexpr uint64_t nan = 0x7ff07ff07ff07ff0u;
  // No exponent and no sign of any type, and never 0.
  constexpr uint64_t mantissas = 0x000f007f007f007fu,
                     least = 0x0001000100010001u;
  uint64_t bits = (line + index * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  bits ^= bits >> 32;
  if (pattern == Pattern::Poison)
    return bits | nan;
  if (pattern != Pattern::Undefined)
    return bits;
  if (line & 1)
    return line & 2 ? bits | nan : bits;
  return line & 6 ? (bits & mantissas) | least : bits;
}

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_VALUES_PATTERNS_H
