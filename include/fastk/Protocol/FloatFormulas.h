//===- FloatFormulas.h - Bits of numbers ------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of 16 bits, and the bits that random numbers are made of. The host
// compiles these formulas, and so does NVRTC, which gets this file as text. So:
// no headers but under __CUDACC_RTC__'s else.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_FLOATFORMULAS_H
#define FASTK_PROTOCOL_FLOATFORMULAS_H

#ifdef __CUDACC_RTC__
#define FASTK_FORMULA __device__ inline
// Rare and long: not worth a copy wherever it is called.
#define FASTK_RARE __device__ __noinline__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int8_t;
typedef int int32_t;
typedef long long int64_t;
#else
#include <cmath>
#include <cstdint>
#include <cstring>
#define FASTK_FORMULA inline
#define FASTK_RARE inline
#endif

namespace fastk::worker {

//===----------------------------------------------------------------------===//
// Bits and doubles
//===----------------------------------------------------------------------===//

/// The finaliser of splitmix64: every bit of the result depends on every bit
/// of the argument.
FASTK_FORMULA uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The bits at a position are mix(streamOf(seed) + index).
FASTK_FORMULA uint64_t streamOf(uint64_t seed) {
  return mix(seed ^ 0x5851f42d4c957f2du);
}

FASTK_FORMULA uint64_t bitsAt(uint64_t seed, uint64_t index) {
  return mix(streamOf(seed) + index);
}

/// In (0, 1).
FASTK_FORMULA double uniformOf(uint64_t bits) {
  return (double(bits >> 11) + 0.5) * 0x1p-53;
}

FASTK_FORMULA uint64_t bitsOfDouble(double value) {
#ifdef __CUDACC_RTC__
  return uint64_t(__double_as_longlong(value));
#else
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
#endif
}

FASTK_FORMULA double doubleOfBits(uint64_t bits) {
#ifdef __CUDACC_RTC__
  return __longlong_as_double((long long)bits);
#else
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

FASTK_FORMULA double infinityValue() {
  return doubleOfBits(0x7ff0000000000000u);
}
FASTK_FORMULA double nanValue() { return doubleOfBits(0x7ff8000000000000u); }
FASTK_FORMULA bool isNaN(double x) { return x != x; }
FASTK_FORMULA bool isInfinite(double x) { return fabs(x) == infinityValue(); }

//===----------------------------------------------------------------------===//
// Formats of 16 bits
//===----------------------------------------------------------------------===//

/// Rounds a double to a 16-bit format with \p mantissa explicit bits and the
/// given exponent range, in one rounding (through float it would be two).
FASTK_RARE uint16_t toBits16(double value, int mantissa, int minExponent,
                             int maxExponent) {
  uint16_t sign = bitsOfDouble(value) >> 63 ? 0x8000 : 0;
  int exponentBits = 15 - mantissa;
  uint16_t infinity = uint16_t(((1 << exponentBits) - 1) << mantissa);
  if (isNaN(value))
    return uint16_t(sign | infinity | (1 << (mantissa - 1)));
  double magnitude = fabs(value);
  if (magnitude == 0)
    return sign;
  if (isInfinite(magnitude))
    return uint16_t(sign | infinity);
  // In the normal range, the bits of the double are those of the result but for
  // rounding; a carry into the exponent, up to infinity, is right as it is.
  uint64_t bits = bitsOfDouble(magnitude);
  int natural = int(bits >> 52) - 1023;
  if (natural >= minExponent && natural <= maxExponent) {
    int shift = 52 - mantissa;
    bits += (uint64_t(1) << (shift - 1)) - 1 + ((bits >> shift) & 1);
    return uint16_t(
        sign | ((bits >> shift) - (uint64_t(1022 + minExponent) << mantissa)));
  }
  if (natural > maxExponent)
    return uint16_t(sign | infinity);
  // The significand in units of the last subnormal place; nearbyint rounds to
  // even. A carry makes the smallest normal number, as it should.
  double units = nearbyint(ldexp(magnitude, mantissa - minExponent));
  return uint16_t(sign | uint16_t(units));
}

FASTK_FORMULA double fromBits16(uint16_t bits, int mantissa, int minExponent) {
  int exponentBits = 15 - mantissa;
  int biased = (bits >> mantissa) & ((1 << exponentBits) - 1);
  double significand = bits & ((1 << mantissa) - 1);
  double magnitude;
  if (biased == (1 << exponentBits) - 1)
    magnitude = significand != 0 ? nanValue() : infinityValue();
  else if (biased == 0)
    magnitude = ldexp(significand, minExponent - mantissa);
  else
    magnitude = ldexp(significand + (1 << mantissa),
                      biased - 1 + minExponent - mantissa);
  return (bits & 0x8000) ? -magnitude : magnitude;
}

} // namespace fastk::worker

#endif // FASTK_PROTOCOL_FLOATFORMULAS_H
