//===- PowerBySquaring.h - Powers with few products -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_POWERBYSQUARING_H
#define FASTK_SUPPORT_POWERBYSQUARING_H

#include <cstdint>
#include <optional>

namespace fastk {

/// x^exponent by squaring, for exponents above 0; \p multiply makes products of
/// whatever x is.
template <typename T, typename Multiply>
T powerBySquaring(T x, int64_t exponent, Multiply multiply) {
  std::optional<T> power;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1)
      power = power ? multiply(*power, x) : x;
    if (exponent > 1)
      x = multiply(x, x);
  }
  return *power;
}

} // namespace fastk

#endif // FASTK_SUPPORT_POWERBYSQUARING_H
