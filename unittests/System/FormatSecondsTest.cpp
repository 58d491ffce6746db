//===- FormatSecondsTest.cpp - Times as a reader wants them ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/FormatSeconds.h"
#include "gtest/gtest.h"

using namespace fastk;

TEST(FormatSeconds, HasThreeDigits) {
  EXPECT_EQ(formatSeconds(1.6e-6), "1.60 us");
  EXPECT_EQ(formatSeconds(33.4e-6), "33.4 us");
  EXPECT_EQ(formatSeconds(334e-6), "334 us");
  EXPECT_EQ(formatSeconds(999.6e-6), "1.00 ms");
  EXPECT_EQ(formatSeconds(12e-9), "12.0 ns");
  EXPECT_EQ(formatSeconds(2345), "2345 s");
  EXPECT_EQ(formatSeconds(0), "-");
}
