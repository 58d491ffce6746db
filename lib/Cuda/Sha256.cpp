//===- Sha256.cpp - SHA-256 without LLVM ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sha256.h"
#include <array>
#include <cmath>
#include <cstdint>

/// Fractional bits of the cube roots of the first 64 primes, and of the square
/// roots of the first 8: the standard's constants. A long double holds the 35
/// bits that count.
namespace {
struct Constants {
  std::array<uint32_t, 64> k;
  std::array<uint32_t, 8> h;
  Constants() {
    unsigned count = 0;
    for (unsigned n = 2; count < 64; ++n) {
      bool prime = true;
      for (unsigned d = 2; d * d <= n; ++d)
        prime &= n % d != 0;
      if (!prime)
        continue;
      auto fraction = [](long double root) {
        return uint32_t((root - std::floor(root)) * 4294967296.0L);
      };
      k[count] = fraction(std::cbrt((long double)n));
      if (count < 8)
        h[count] = fraction(std::sqrt((long double)n));
      ++count;
    }
  }
};
} // namespace

static uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

static void addBlock(std::array<uint32_t, 8> &state, const unsigned char *block,
                     const Constants &constants) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 |
           uint32_t(block[4 * i + 2]) << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + constants.k[i] + w[i];
    uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += added[i];
}

std::string fastk::cuda::sha256(std::string_view bytes) {
  static const Constants constants;
  std::array<uint32_t, 8> state = constants.h;
  auto *data = reinterpret_cast<const unsigned char *>(bytes.data());
  size_t whole = bytes.size() / 64 * 64;
  for (size_t at = 0; at < whole; at += 64)
    addBlock(state, data + at, constants);
  // The rest, a one bit, zeros, and the length in bits.
  std::string tail(bytes.substr(whole));
  tail += '\x80';
  while (tail.size() % 64 != 56)
    tail += '\0';
  uint64_t bits = uint64_t(bytes.size()) * 8;
  for (int shift = 56; shift >= 0; shift -= 8)
    tail += char(bits >> shift & 255);
  for (size_t at = 0; at < tail.size(); at += 64)
    addBlock(state, reinterpret_cast<const unsigned char *>(tail.data()) + at,
             constants);
  std::string text;
  for (uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4)
      text += "0123456789abcdef"[word >> shift & 15];
  return text;
}
