//===- ElementTypeTest.cpp - Conversions between types ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/ElementType.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace fastk::worker;

TEST(ElementType, NamesGoBothWays) {
  for (ElementType type :
       {ElementType::F64, ElementType::F32, ElementType::F16, ElementType::BF16,
        ElementType::I64, ElementType::I32, ElementType::I8, ElementType::I1,
        ElementType::I16})
    EXPECT_EQ(parseElementType(toString(type)), type);
  EXPECT_FALSE(parseElementType("f8"));
}

/// Every FP16 value survives; the compiler's own type is the judge.
TEST(ElementType, HalfAgreesWithTheCompiler) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    _Float16 half;
    auto word = uint16_t(bits);
    std::memcpy(&half, &word, 2);
    double value = fromHalfBits(word);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float(half)));
      EXPECT_TRUE(std::isnan(fromHalfBits(toHalfBits(value))));
      continue;
    }
    ASSERT_EQ(value, double(float(half))) << bits;
    ASSERT_EQ(toHalfBits(value), word) << bits;
    ASSERT_EQ(std::signbit(value), bool(bits & 0x8000));
  }
}

TEST(ElementType, BFloatRoundTrips) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    uint32_t wide = bits << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(fromBFloatBits(uint16_t(bits))));
      continue;
    }
    ASSERT_EQ(fromBFloatBits(uint16_t(bits)), double(value)) << bits;
    ASSERT_EQ(toBFloatBits(value), uint16_t(bits)) << bits;
  }
}

/// Ties go to even, from double in one step.
TEST(ElementType, RoundsToNearestEven) {
  EXPECT_EQ(roundTo(ElementType::F16, 1 + 0x1p-11), 1);
  EXPECT_EQ(roundTo(ElementType::F16, 1 + 3 * 0x1p-11), 1 + 0x1p-9);
  // Through float this would be a tie; it is not.
  EXPECT_EQ(roundTo(ElementType::F16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(roundTo(ElementType::F16, 65519), 65504);
  EXPECT_TRUE(std::isinf(roundTo(ElementType::F16, 65520)));
  EXPECT_EQ(roundTo(ElementType::F16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(roundTo(ElementType::F16, 0x1p-25), 0);
  EXPECT_EQ(roundTo(ElementType::BF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(roundTo(ElementType::BF16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);
}

TEST(ElementType, IntegersSaturate) {
  EXPECT_EQ(roundTo(ElementType::I8, 1000), 127);
  EXPECT_EQ(roundTo(ElementType::I8, -1000), -128);
  EXPECT_EQ(roundTo(ElementType::I32, 1e20), 2147483647);
  EXPECT_EQ(roundTo(ElementType::I16, 1e6), 32767);
  EXPECT_EQ(roundTo(ElementType::I16, -1e6), -32768);
  EXPECT_EQ(roundTo(ElementType::I1, 5), 1);
  EXPECT_EQ(roundTo(ElementType::I8, std::nan("")), -128);
}
