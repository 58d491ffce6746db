//===- Samples.h - Workloads that families are tried on ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random workloads of a core: sizes with their edges, element types, layouts,
// and what surrounds the sums. Seed and number name one for ever, on every
// machine: evidence names workloads so, and anybody can print them.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_SAMPLES_H
#define FASTK_FAMILIES_SAMPLES_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace fastk::families {

/// A tensor of a sample has no more elements, and its sums no more terms
/// together: judging one takes little memory and time, the oracle's in f64,
/// too.
inline constexpr int64_t kMaxSampleElements = int64_t(4) << 20;
inline constexpr int64_t kMaxSampleTerms = 4'000'000'000;

struct Sample {
  /// A `func.func` on tensors, named after the number.
  std::string text;
  /// "m 65, n 128, k 257; A km f16, relu; ...", for people.
  std::string about;
};

/// The sample of that number among those of `seed`, as families for GPUs, or
/// for the host, are tried on. Nothing: the core has none.
std::optional<Sample> makeSample(llvm::StringRef core, uint64_t seed,
                                 uint64_t number, bool isForHost = false);

} // namespace fastk::families

#endif // FASTK_FAMILIES_SAMPLES_H
